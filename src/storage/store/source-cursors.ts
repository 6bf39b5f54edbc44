/**
 * The cursors over the sources of a store, kept from one read to the next as long as the sources
 * stay the same, so that a hot get makes none.
 */
import { assert } from '../../base/assert.js'
import { compareTimestamps, timestampHigh, timestampLow } from '../cell/timestamp.js'
import type { MemtableCursor } from '../memtable/memtable-cursor.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { FamilySettings } from './family-settings.js'
import { DeferredTableCursor } from './deferred-table-cursor.js'
import { LevelCursor } from './level-cursor.js'
import type { MemtableSlot } from './memtable-slot.js'
import type { Store, StoreSources } from './store.js'

/** How a read may touch the disk. */
export interface ReadMode {
  /** False: a missing block throws `BlockMissing` instead of being read. */
  readonly mayBlock: boolean
  /** False: blocks that are read do not enter the cache. */
  readonly cacheBlocks: boolean
}

/** Most table cursors that are kept for the next get; each keeps a block alive. */
const tableCursorsMax = 64

/** Cursors of one store; see the file header. */
export class SourceCursors {
  /** What the store's sources were at the last {@link refresh}. */
  sources!: StoreSources
  private readonly store: Store
  private settings: FamilySettings
  /** At the positions of the memtables; undefined = a scan has left the memtable. */
  private memtables: (MemtableCursor | undefined)[] = []
  /** Made when they are needed, at the positions of the tables. */
  private tables: (SsTableCursor | undefined)[] = []
  private tableCount = 0
  /** Newest cells of the tables, {@link numbersPerTable} each; made when first asked for. */
  private newest: Float64Array | undefined = undefined
  /** For single rows: around those of tables, made when first needed. */
  private deferred: (DeferredTableCursor | undefined)[] = []
  /** One for each level below 0 that was scanned. */
  private levels: LevelCursor[] = []

  constructor(store: Store) {
    this.store = store
    this.settings = store.settings
  }

  /** Looks at the sources of a read point, and at the settings of the family. */
  refresh(readPoint: number): StoreSources {
    const { store } = this
    const sources = store.sourcesAt(readPoint)
    if (this.sources === sources && this.settings === store.settings) return sources
    this.sources = sources
    this.settings = store.settings
    this.memtables = sources.memtables.map((slot) => slot.memtable.cursor())
    this.dropTables()
    this.levels = []
    return sources
  }

  /** Drops what refers to memtables and tables if the store has moved on; true if it has. */
  release(): boolean {
    if ((this.sources as StoreSources | undefined) === undefined) return false
    if (this.sources === this.store.sources) return false
    this.sources = undefined as unknown as StoreSources
    this.memtables = []
    this.dropTables()
    this.levels = []
    return true
  }

  /**
   * Ends the read of a range: lets go of its blocks, and drops the cursors that only scans need.
   * REQUIRES that nothing refers to the cells that were read.
   */
  releaseRange(): void {
    const { tables, levels } = this
    for (let i = 0; i < tables.length; i++) tables[i]?.endRead()
    for (let i = 0; i < levels.length; i++) levels[i].endRead()
    this.levels = []
  }

  private dropTables(): void {
    this.tables = []
    this.tableCount = 0
    this.newest = undefined
    this.deferred = []
  }

  /** The cursor of a memtable that a scan has not left. */
  memtable(index: number): MemtableCursor {
    return this.memtables[index]!
  }

  /** Takes away the cursor of a memtable; undefined if there is none. */
  leaveMemtable(slot: MemtableSlot): MemtableCursor | undefined {
    if ((this.sources as StoreSources | undefined) === undefined) return undefined
    const index = this.sources.memtables.indexOf(slot)
    if (index < 0) return undefined
    const left = this.memtables[index]
    this.memtables[index] = undefined
    return left
  }

  /** The cursor of the SSTable at a position; for a row of this many bytes, 0 = for all entries. */
  table(index: number, mode: ReadMode, rowBytes: number): SsTableCursor {
    const cursor = this.tables[index] ?? this.makeTable(index)
    cursor.mayBlock = mode.mayBlock
    cursor.cacheBlocks = mode.cacheBlocks && this.settings.blockCache
    cursor.rowBytes = rowBytes
    // What a read of a row has collected is taken before the next: nothing refers to its blocks.
    // Those of a scan are let go of at its end (releaseRange).
    cursor.beginRead()
    return cursor
  }

  /** Whether a table has no cell that is newer than a put, or that masks the put. */
  isTableOlder(index: number, high: number, low: number, sequence: number): boolean {
    const newest = (this.newest ??= newestOf(this.sources))
    const at = numbersPerTable * index
    const order = compareTimestamps(newest[at], newest[at + 1], high, low)
    return order < 0 || (order === 0 && newest[at + 2] < sequence)
  }

  /** A cursor of a table that is none of the sources' yet. */
  newTable(table: SsTableReader, mode: ReadMode): SsTableCursor {
    const { blockCache, inMemory } = this.settings
    const cursor = table.cursor()
    cursor.mayBlock = mode.mayBlock
    cursor.cacheBlocks = mode.cacheBlocks && blockCache
    table.inMemory = inMemory
    return cursor
  }

  private makeTable(index: number): SsTableCursor {
    if (this.tableCount === tableCursorsMax) this.dropTables()
    // Filled up to the index, so that the array never becomes a dictionary.
    while (this.tables.length < index) this.tables.push(undefined)
    const table = this.sources.tables[index]
    const cursor = table.cursor()
    table.inMemory = this.settings.inMemory
    this.tables[index] = cursor
    this.tableCount++
    return cursor
  }

  /** A cursor around that of {@link table}, which has been asked for. */
  deferredTable(index: number): DeferredTableCursor {
    const inner = this.tables[index]
    assert(inner !== undefined, 'a table is asked for before its seeks are put off')
    while (this.deferred.length < index) this.deferred.push(undefined)
    return (this.deferred[index] ??= new DeferredTableCursor(this.sources.tables[index], inner))
  }

  /** A cursor over tables of a level below 0. */
  level(index: number, tables: readonly SsTableReader[], mode: ReadMode): LevelCursor {
    while (this.levels.length <= index) this.levels.push(new LevelCursor())
    const cursor = this.levels[index]
    const { blockCache, inMemory } = this.settings
    cursor.setTables(tables, mode.mayBlock, mode.cacheBlocks && blockCache)
    for (let i = 0; i < tables.length; i++) tables[i].inMemory = inMemory
    return cursor
  }
}

/** Timestamp in halves, and the sequence up to which a put of that timestamp may be newer. */
const numbersPerTable = 3

function newestOf({ tables }: StoreSources): Float64Array {
  const numbers = tables.flatMap(({ properties: { maxTimestamp, maxSequence, deleteCount } }) => {
    // A marker masks puts of its timestamp that were written later, too.
    const sequence = deleteCount === 0 ? maxSequence : Infinity
    return [timestampHigh(maxTimestamp), timestampLow(maxTimestamp), sequence]
  })
  return Float64Array.from(numbers)
}
