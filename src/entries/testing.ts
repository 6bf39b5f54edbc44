/**
 * What tests of programs on Cellar use: a clock set by hand, files in memory with power cuts, and a
 * file system that fails on demand. The public entry `cellardb/testing`.
 */
export { ManualClock, type Clock } from '../base/clock.js'
export { FaultyFileSystem } from '../storage/fs/faulty-fs.js'
export type { Fault, FaultyOperation, UnsyncedDroppingFileSystem } from '../storage/fs/faulty-fs.js'
export { MemoryFileSystem, type FileOperation } from '../storage/fs/memory-fs.js'
export { CrashPolicy, crashPolicies } from '../storage/fs/power-cut.js'
