/**
 * abstract-level over tables. `src/entries/level.ts` is the public entry; it also opens
 * directories.
 */
export { TableLevel, type LevelWriteOptions } from './table-level.js'
export type { DatabaseOpener, LevelDatabase, TableLevelOptions } from './source.js'
export { CellarSnapshot } from './level-snapshot.js'
export { CellarIterator, CellarKeyIterator, CellarValueIterator } from './iterators.js'
export { LevelErrorCode } from './errors.js'
