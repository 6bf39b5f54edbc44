/** abstract-level's suite over the backend in memory, each database a table of one. */
import { CellarLevel } from '../../../src/level.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { runSuite } from './run-suite.js'

const database = await ModelDatabase.open()
let count = 0

runSuite((options) => new CellarLevel(database, { table: `level${++count}`, ...options }))
