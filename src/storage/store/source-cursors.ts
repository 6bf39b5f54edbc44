/**
 * The cursors over the sources of a store. They are reused by the next read as long as the sources
 * stay the same, so that a hot get allocates none.
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

/** How a read accesses the disk. */
export interface ReadMode {
  /** If false, a missing block throws `BlockMissing` instead of being read. */
  readonly mayBlock: boolean
  /** If false, blocks that are read are not added to the cache. */
  readonly cacheBlocks: boolean
}

/** Maximum number of SSTable cursors kept for the next get; each of them pins a block. */
const tableCursorsMax = 64

export class SourceCursors {
  /** The sources of the store at the last {@link refresh}. */
  sources!: StoreSources
  private readonly store: Store
  private settings: FamilySettings
  /** By index of the memtable; undefined: a scan has left the memtable. */
  private memtables: (MemtableCursor | undefined)[] = []
  /** By index of the SSTable; made on first use. */
  private tables: (SsTableCursor | undefined)[] = []
  private tableCount = 0
  /** Newest cells of the SSTables, {@link numbersPerTable} numbers each; made on first use. */
  private newest: Float64Array | undefined = undefined
  /** Wrappers of SSTable cursors for single rows, made on first use. */
  private deferred: (DeferredTableCursor | undefined)[] = []
  /** The SSTable cursors of the present range that no level cursor moves. */
  private readonly ranged: SsTableCursor[] = []
  /** One for each level below 0 that was scanned. */
  private levels: LevelCursor[] = []

  constructor(store: Store) {
    this.store = store
    this.settings = store.settings
  }

  /** Updates sources and settings for a read point; returns the sources. */
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

  /** Drops references to memtables and SSTables if the store's sources have changed; true if so. */
  release(): boolean {
    if ((this.sources as StoreSources | undefined) === undefined) return false
    if (this.sources === this.store.sources) return false
    this.sources = undefined as unknown as StoreSources
    this.memtables = []
    this.dropTables()
    this.levels = []
    return true
  }

  /** Ends the read of a range, and releases its blocks. REQUIRES that no cell of it is in use. */
  releaseRange(): void {
    const { ranged, levels } = this
    while (ranged.length > 0) ranged.pop()!.endRead()
    for (let i = 0; i < levels.length; i++) levels[i].endRead()
  }

  private dropTables(): void {
    this.tables = []
    this.tableCount = 0
    this.newest = undefined
    this.deferred = []
  }

  /** The cursor of a memtable that the scan has not left. */
  memtable(index: number): MemtableCursor {
    return this.memtables[index]!
  }

  /** Removes the cursor of a memtable and returns it; undefined if there is none. */
  leaveMemtable(slot: MemtableSlot): MemtableCursor | undefined {
    if ((this.sources as StoreSources | undefined) === undefined) return undefined
    const index = this.sources.memtables.indexOf(slot)
    if (index < 0) return undefined
    const left = this.memtables[index]
    this.memtables[index] = undefined
    return left
  }

  /** The cursor of the SSTable at an index, for a row of `rowBytes` bytes. */
  table(index: number, mode: ReadMode, rowBytes: number): SsTableCursor {
    if (this.tables[index] === undefined && this.tableCount === tableCursorsMax) this.dropTables()
    const cursor = this.tableOfRange(index, mode)
    cursor.rowBytes = rowBytes
    // The cells of the previous read are already copied, so its blocks are released here.
    cursor.beginRead()
    return cursor
  }

  /** The cursor of an SSTable, by index, for a range; its blocks are held until the range ends. */
  rangeTable(index: number, mode: ReadMode): SsTableCursor {
    const cursor = this.tableOfRange(index, mode)
    cursor.beginRead()
    this.ranged.push(cursor)
    return cursor
  }

  /** The cursor of the SSTable at an index, for the cursor of its level, which ends the read. */
  tableOfRange(index: number, mode: ReadMode): SsTableCursor {
    const kept = this.tables[index]
    const cursor = kept ?? this.sources.tables[index].cursor()
    cursor.mayBlock = mode.mayBlock
    cursor.cacheBlocks = mode.cacheBlocks && this.settings.blockCache
    cursor.rowBytes = 0
    if (kept === undefined) this.keepTable(index, cursor)
    return cursor
  }

  /** Whether all cells of an SSTable are older than a put, and none of them masks the put. */
  isTableOlder(index: number, high: number, low: number, sequence: number): boolean {
    const newest = (this.newest ??= newestOf(this.sources))
    const at = numbersPerTable * index
    const order = compareTimestamps(newest[at], newest[at + 1], high, low)
    return order < 0 || (order === 0 && newest[at + 2] < sequence)
  }

  /** A new cursor of an SSTable that is not among the sources yet. */
  newTable(table: SsTableReader, mode: ReadMode): SsTableCursor {
    const { blockCache, inMemory } = this.settings
    const cursor = table.cursor()
    cursor.mayBlock = mode.mayBlock
    cursor.cacheBlocks = mode.cacheBlocks && blockCache
    table.inMemory = inMemory
    return cursor
  }

  private keepTable(index: number, cursor: SsTableCursor): void {
    this.sources.tables[index].inMemory = this.settings.inMemory
    cursor.beginRead()
    if (this.tableCount === tableCursorsMax) return
    // Filled up to the index, so that the array does not become a dictionary.
    while (this.tables.length < index) this.tables.push(undefined)
    this.tables[index] = cursor
    this.tableCount++
  }

  /**
   * A lazy cursor around the cursor of {@link table}. REQUIRES that `table` was called for the
   * index.
   */
  deferredTable(index: number): DeferredTableCursor {
    const inner = this.tables[index]
    assert(inner !== undefined, 'a table is asked for before its seeks are put off')
    while (this.deferred.length < index) this.deferred.push(undefined)
    return (this.deferred[index] ??= new DeferredTableCursor(this.sources.tables[index], inner))
  }

  /** A cursor over SSTables of a level below 0, by `indexes[from, to)` of the sources. */
  level(
    level: number,
    indexes: readonly number[],
    from: number,
    to: number,
    mode: ReadMode,
  ): LevelCursor {
    while (this.levels.length < level) this.levels.push(new LevelCursor(this))
    const cursor = this.levels[level - 1]
    cursor.begin(mode)
    for (let i = from; i < to; i++) cursor.add(indexes[i], this.sources.tables[indexes[i]])
    return cursor
  }
}

/** Timestamp in halves, and the sequence up to which a put with that timestamp may be newer. */
const numbersPerTable = 3

function newestOf({ tables }: StoreSources): Float64Array {
  const numbers = tables.flatMap(({ properties: { maxTimestamp, maxSequence, deleteCount } }) => {
    // A marker also masks puts of its timestamp that are written later.
    const sequence = deleteCount === 0 ? maxSequence : Infinity
    return [timestampHigh(maxTimestamp), timestampLow(maxTimestamp), sequence]
  })
  return Float64Array.from(numbers)
}
