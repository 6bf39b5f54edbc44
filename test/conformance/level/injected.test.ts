/**
 * abstract-level's suite, each database a table of one that is open already.
 *
 * @runs alone, campaign
 */
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarLevel } from '../../../src/entries/level.js'
import { runSuite } from './run-suite.js'

const database = await Database.open('level', { fileSystem: new MemoryFileSystem() })
let count = 0

runSuite((options) => new CellarLevel(database, { table: `level${++count}`, ...options }))
