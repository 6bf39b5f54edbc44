/** The sources of a store: memtables and SSTables. */
import { assert } from '../../base/assert.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { MemtableSlot } from './memtable-slot.js'

/** The sources of a read, newest first. Immutable. */
export interface StoreSources {
  /** The active memtable comes first. */
  readonly memtables: readonly MemtableSlot[]
  readonly tables: readonly SsTableReader[]
  /** Level n is `tables[levelEnds[n - 1], levelEnds[n])`; level 0 starts at 0. */
  readonly levelEnds: readonly number[]
  /**
   * Identifies the set of SSTables. No other set in this process has this number or its complement.
   */
  readonly tablesId: number
  /** The newest sequence in the SSTables; 0 without one. */
  readonly tablesSequence: number
}

/** The SSTables of a store by level, in the order of `StoreVersion.levels`. */
export type LeveledTables = readonly (readonly SsTableReader[])[]

let lastTablesId = 0

/** Flattens the levels into one list with a new identifier. */
export function flattenTables(levels: LeveledTables): Omit<StoreSources, 'memtables'> {
  let end = 0
  const levelEnds = levels.map((level) => (end += level.length))
  lastTablesId = (lastTablesId + 1) | 0
  const tables = levels.flat()
  const tablesSequence = tables.reduce(
    (newest, { properties }) => Math.max(newest, properties.maxSequence),
    0,
  )
  return { tables, levelEnds, tablesId: lastTablesId, tablesSequence }
}

/** The inverse of {@link flattenTables}. */
export function levelsOf({ tables, levelEnds }: Omit<StoreSources, 'memtables'>): LeveledTables {
  return levelEnds.map((end, level) => tables.slice(level === 0 ? 0 : levelEnds[level - 1], end))
}

/** Checks that the SSTables of each level below 0 ascend by key, and that none is closed. */
export function checkLevels(set: Omit<StoreSources, 'memtables'>): void {
  const [newest, ...deeper] = levelsOf(set)
  for (const table of [newest, ...deeper].flat()) {
    assert(!table.closed, 'a store reads open tables')
  }
  for (const level of deeper) {
    for (let i = 1; i < level.length; i++) {
      const order = Buffer.compare(level[i - 1].properties.lastKey, level[i].properties.firstKey)
      assert(order < 0, 'the tables of a level follow each other by key')
    }
  }
}
