/**
 * abstract-level's suite, each database in a directory of its own.
 *
 * @runs alone
 */
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarLevel } from '../../../src/entries/level.js'
import { runSuite } from './run-suite.js'

const fileSystem = new MemoryFileSystem()
let count = 0

runSuite((options) => new CellarLevel(`level${++count}`, { database: { fileSystem }, ...options }))
