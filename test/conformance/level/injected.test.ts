/** abstract-level's suite, each database a table of one that is open already. */
import { Database, MemoryFileSystem } from '../../../src/index.js'
import { CellarLevel } from '../../../src/level.js'
import { runSuite } from './run-suite.js'

const database = await Database.open('level', { fileSystem: new MemoryFileSystem() })
let count = 0

runSuite((options) => new CellarLevel(database, { table: `level${++count}`, ...options }))
