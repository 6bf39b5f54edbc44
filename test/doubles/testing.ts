/**
 * Doubles for tests of programs on Cellar: a clock set by hand, a disk with power cuts, and a file
 * system that fails on demand. The public entry `cellardb/testing`.
 */
export { ManualClock, type Clock } from '../../src/base/clock.js'
export { FaultyFileSystem } from './faulty-fs.js'
export type { Fault, FaultyOperation, UnsyncedDroppingFileSystem } from './faulty-fs.js'
export { SimulatedDisk, type FileOperation } from './simulated-disk.js'
export { CrashPolicy, crashPolicies } from './power-cut.js'
