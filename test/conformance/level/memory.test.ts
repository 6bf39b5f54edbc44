/**
 * abstract-level's suite over the backend in memory, each database a table of one.
 *
 * @runs alone, campaign
 */
import { CellarLevel } from '../../../src/entries/level.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { runSuite } from './run-suite.js'

const database = await ModelDatabase.open()
let count = 0

runSuite((options) => new CellarLevel(database, { table: `level${++count}`, ...options }))
