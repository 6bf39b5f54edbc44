/** What a read of a store looks at. */
import { assert } from '../../base/assert.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { MemtableSlot } from './memtable-slot.js'

/** What a read of a store looks at, newest first. Immutable. */
export interface StoreSources {
  /** Active first. */
  readonly memtables: readonly MemtableSlot[]
  readonly tables: readonly SsTableReader[]
  /** Level n is `tables[levelEnds[n - 1], levelEnds[n])`; level 0 begins at 0. */
  readonly levelEnds: readonly number[]
  /** Names the tables: no other set of tables of this process has the number, or its complement. */
  readonly tablesId: number
}

/** The tables of a store by level, as `StoreVersion.levels` orders their files. */
export type LeveledTables = readonly (readonly SsTableReader[])[]

let lastTablesId = 0

/** The tables of all levels in one list, under a name of their own. */
export function flattenTables(levels: LeveledTables): Omit<StoreSources, 'memtables'> {
  let end = 0
  const levelEnds = levels.map((level) => (end += level.length))
  lastTablesId = (lastTablesId + 1) | 0
  return { tables: levels.flat(), levelEnds, tablesId: lastTablesId }
}

/** Undoes {@link flattenTables}. */
export function levelsOf({ tables, levelEnds }: Omit<StoreSources, 'memtables'>): LeveledTables {
  return levelEnds.map((end, level) => tables.slice(level === 0 ? 0 : levelEnds[level - 1], end))
}

/** Checks that the tables of each level below 0 ascend by key, and that none is closed. */
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
