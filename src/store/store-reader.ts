/**
 * Points a store scanner at the sources that can hold what a read wants.
 *
 * A reader is reusable: it keeps its cursors as long as the store's sources stay the same, so that
 * a hot get makes no cursor. It serves one read at a time.
 *
 * Sources that are left out (each test errs on the side of reading): empty memtables; tables whose
 * key range or Bloom filter excludes the row, whose sequences are above the read point, or whose
 * timestamps lie outside the time range or have expired.
 */
import { assert } from '../base/assert.js'
import { compareBytes, copyBytes, emptyBytes, prefixSuccessor } from '../base/bytes.js'
import type { Moment } from '../base/clock.js'
import { checksInvariants } from '../base/invariants.js'
import { terminatorBytes, unescape, writeTerminator } from '../cell/cell-key.js'
import { allTime, joinTimestamp } from '../cell/timestamp.js'
import { CursorLease, uncheckedCursor, type CheckedCursor } from '../cursor/checked-cursor.js'
import type { Cursor } from '../cursor/cursor.js'
import type { DeferredCursor } from '../cursor/deferred-cursor.js'
import { escapedPrefixEnd, filterPrefixBytes } from '../cell/row-filter.js'
import type { MemtableCursor } from '../memtable/memtable-cursor.js'
import type { StoreQuery } from '../scan/query.js'
import type { RowBounds } from '../scan/row-scanner.js'
import { StoreScanner } from '../scan/store-scanner.js'
import { oldestUnexpired } from '../scan/user-matcher.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'
import { DeferredTableCursor } from './deferred-table-cursor.js'
import { LevelCursor } from './level-cursor.js'
import type { MemtableSlot } from './memtable-slot.js'
import { findTable, RowProbe } from './row-probe.js'
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

export class StoreReader {
  readonly scanner = new StoreScanner()
  private readonly store: Store
  private sources: StoreSources | undefined = undefined
  private memtableCursors: readonly (MemtableCursor | undefined)[] = []
  /** Cursors of single tables, made when they are needed, at the positions of the tables. */
  private tableCursors: (SsTableCursor | undefined)[] = []
  private tableCursorCount = 0
  /** For single rows: around those, made when first needed. */
  private deferred: (DeferredTableCursor | undefined)[] = []
  /** One for each level below 0 that was scanned. */
  private levelCursors: LevelCursor[] = []
  private readonly chosen: Cursor[] = []
  private readonly deferring: (DeferredCursor | undefined)[] = []
  /** Stands around the chosen cursors while invariants are checked. */
  private lease: CursorLease | undefined = undefined
  private readonly probe = new RowProbe()
  /** Delete markers in the chosen sources, and those of them that are markers of the family. */
  private deletes = 0
  private familyDeletes = 0
  /** The row being opened, with its terminator; borrowed. */
  private row: Buffer = emptyBytes
  /** Length of the row with its terminator. */
  private seekLength = 0
  /** The seek leads to this column of the row; undefined = to the start of the row. */
  private firstColumn: Buffer | undefined = undefined

  constructor(store: Store) {
    this.store = store
  }

  /**
   * Opens the scanner for the row `row[0, rowLength)` (escaped), behind which a terminator follows.
   * The row is borrowed while it is read.
   */
  openRow(
    familyIndex: number,
    row: Buffer,
    rowLength: number,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): void {
    this.refresh(readPoint)
    const { chosen, deferring } = this
    clear(chosen)
    clear(deferring)
    this.chooseMemtables()
    this.row = row
    this.probe.setRow(row, rowLength)
    const columns = query.raw ? undefined : query.columns
    const { tables, levelEnds } = this.sources!
    for (let i = 0; i < levelEnds[0]; i++) {
      if (!this.probe.isInRange(tables[i])) continue
      if (!this.holdsRow(tables[i], query, readPoint, moment)) continue
      this.chooseForRow(i, rowLength, columns, mode)
    }
    for (let level = 1; level < levelEnds.length; level++) {
      const end = levelEnds[level]
      let i = findTable(tables, levelEnds[level - 1], end, this.row, rowLength + terminatorBytes)
      // One table, unless the row goes on in the next.
      for (; i < end && this.probe.isInRange(tables[i]); i++) {
        if (!this.holdsRow(tables[i], query, readPoint, moment)) continue
        this.chooseForRow(i, rowLength, columns, mode)
      }
    }
    this.seekLength = rowLength + terminatorBytes
    this.firstColumn = undefined
    if (chosen.length === 1) {
      // Nothing of the family comes before the columns, and no other source defers anything.
      if (deferring[0] !== undefined) this.firstColumn = columns![0]
      clear(deferring)
    }
    for (let i = 0; i < deferring.length; i++) chosen[i] = deferring[i] ?? chosen[i]
    if (checksInvariants) this.checkCursors()
    const { family, settings, values } = this.store
    this.scanner.follow(values, mode.mayBlock)
    this.scanner.expectMarkers(this.deletes, this.familyDeletes)
    this.scanner.open(familyIndex, family, chosen, query, settings, readPoint, moment, deferring)
  }

  /** Opens the scanner for a range of rows; the caller moves it. */
  openRange(
    familyIndex: number,
    query: StoreQuery,
    bounds: RowBounds,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): void {
    this.refresh(readPoint)
    this.chosen.length = 0
    this.chooseMemtables()
    const { tables, levelEnds } = this.sources!
    for (let i = 0; i < levelEnds[0]; i++) {
      if (this.inScan(tables[i], query, bounds, readPoint, moment)) this.chooseTable(i, mode)
    }
    for (let level = 1; level < levelEnds.length; level++) {
      const some: SsTableReader[] = []
      let last = 0
      for (let i = levelEnds[level - 1]; i < levelEnds[level]; i++) {
        if (!this.inScan(tables[i], query, bounds, readPoint, moment)) continue
        some.push(tables[i])
        last = i
      }
      if (some.length === 1) this.chooseTable(last, mode)
      else if (some.length > 0) this.chooseLevel(level - 1, some, mode)
    }
    if (checksInvariants) this.checkCursors()
    const { family, settings, values } = this.store
    this.scanner.follow(values, mode.mayBlock)
    this.scanner.expectMarkers(this.deletes, this.familyDeletes)
    this.scanner.open(familyIndex, family, this.chosen, query, settings, readPoint, moment)
  }

  /**
   * The memtable of an opened range was flushed: the scanner goes on in `tables`, which hold all
   * that it sees of it, and nothing refers to the memtable's memory any more.
   */
  leaveMemtable(slot: MemtableSlot, tables: readonly SsTableReader[], mode: ReadMode): void {
    const index = this.sources?.memtables.indexOf(slot) ?? -1
    const left = this.memtableCursors[index]
    if (left === undefined) return
    const place = this.chosen.findIndex((cursor) => uncheckedCursor(cursor) === left)
    assert(place >= 0, 'a scan reads the memtables that it uses')
    const cursors = tables.map((table) => {
      const cursor = table.cursor()
      const { blockCache, inMemory } = this.store.settings
      cursor.mayBlock = mode.mayBlock
      cursor.cacheBlocks = mode.cacheBlocks && blockCache
      table.inMemory = inMemory
      return cursor
    })
    const [given] = this.chosen.splice(place, 1, ...cursors)
    this.lease?.checkAll(this.chosen)
    this.memtableCursors = this.memtableCursors.map((cursor, i) =>
      i === index ? undefined : cursor,
    )
    this.scanner.replaceCursors(this.chosen)
    this.lease?.close(given)
  }

  /**
   * Moves the scanner to the row given to {@link openRow}, of which all that is wanted is read by
   * one `readRow`; may throw `BlockMissing`.
   */
  seekRow(): void {
    const { firstColumn, seekLength } = this
    const length = firstColumn === undefined ? seekLength : this.addColumn(firstColumn)
    this.scanner.seekRow(this.row, length)
  }

  /** As {@link release}, after {@link openRange}. */
  releaseRange(): void {
    this.release()
    for (const cursor of this.tableCursors) cursor?.forgetAhead()
    this.levelCursors = []
  }

  private checkCursors(): void {
    const { chosen, deferring } = this
    assert(this.lease === undefined, 'a reader serves one read at a time')
    this.lease = new CursorLease()
    this.lease.checkAll(chosen)
    for (let i = 0; i < deferring.length; i++) {
      if (deferring[i] !== undefined) deferring[i] = chosen[i] as CheckedCursor
    }
  }

  /** Drops references to memtables and tables if the store has moved on. */
  release(): void {
    this.row = emptyBytes
    this.lease?.closeAll()
    this.lease = undefined
    if (this.sources !== undefined && this.sources !== this.store.sources) {
      this.sources = undefined
      this.memtableCursors = []
      this.tableCursors = []
      this.deferred = []
      this.levelCursors = []
      this.chosen.length = 0
      this.deferring.length = 0
      this.scanner.release()
    }
  }

  private refresh(readPoint: number): void {
    const sources = this.store.sourcesAt(readPoint)
    if (this.sources === sources) return
    this.sources = sources
    this.memtableCursors = sources.memtables.map((slot) => slot.memtable.cursor())
    this.dropTableCursors()
    this.levelCursors = []
  }

  private dropTableCursors(): void {
    this.tableCursors = []
    this.tableCursorCount = 0
    this.deferred = []
  }

  private chooseMemtables(): void {
    const { memtables } = this.sources!
    this.deletes = 0
    this.familyDeletes = 0
    for (let i = 0; i < memtables.length; i++) {
      const slot = memtables[i]
      if (slot.isEmpty) continue
      this.chosen.push(this.memtableCursors[i]!)
      this.deletes += slot.deleteCount
      this.familyDeletes += slot.familyDeleteCount
    }
  }

  private chooseTable(index: number, mode: ReadMode): void {
    const cursor = this.tableCursors[index] ?? this.makeCursor(index)
    cursor.mayBlock = mode.mayBlock
    const { blockCache, inMemory } = this.store.settings
    cursor.cacheBlocks = mode.cacheBlocks && blockCache
    const table = this.sources!.tables[index]
    table.inMemory = inMemory
    this.chosen.push(cursor)
    this.countMarkers(table)
  }

  /** As {@link chooseTable}, for a row: columns that are named are sought when they are needed. */
  private chooseForRow(
    index: number,
    rowLength: number,
    columns: readonly Buffer[] | undefined,
    mode: ReadMode,
  ): void {
    this.chooseTable(index, mode)
    const table = this.sources!.tables[index]
    // A marker of the family stands before the columns, so such a table is read from the start.
    if (columns === undefined || table.properties.familyDeleteCount > 0) return
    while (this.deferred.length < index) this.deferred.push(undefined)
    const inner = this.tableCursors[index]!
    const cursor = (this.deferred[index] ??= new DeferredTableCursor(table, inner))
    cursor.begin(this.row, rowLength, columns)
    this.deferring[this.chosen.length - 1] = cursor
  }

  /**
   * Writes a column behind the row, which the readers of all families borrow, so only just before
   * the seek. Returns the length of the key to seek: that of the row if there is no room.
   */
  private addColumn(qualifier: Buffer): number {
    const end = this.seekLength + qualifier.length
    if (end + terminatorBytes > this.row.length) return this.seekLength
    copyBytes(qualifier, 0, qualifier.length, this.row, this.seekLength)
    return writeTerminator(this.row, end)
  }

  private makeCursor(index: number): SsTableCursor {
    if (this.tableCursorCount === tableCursorsMax) this.dropTableCursors()
    const cursor = this.sources!.tables[index].cursor()
    // Filled up to the index, so that the array never becomes a dictionary.
    while (this.tableCursors.length < index) this.tableCursors.push(undefined)
    this.tableCursors[index] = cursor
    this.tableCursorCount++
    return cursor
  }

  private chooseLevel(index: number, tables: readonly SsTableReader[], mode: ReadMode): void {
    while (this.levelCursors.length <= index) this.levelCursors.push(new LevelCursor())
    const cursor = this.levelCursors[index]
    const { blockCache, inMemory } = this.store.settings
    cursor.setTables(tables, mode.mayBlock, mode.cacheBlocks && blockCache)
    for (let i = 0; i < tables.length; i++) {
      tables[i].inMemory = inMemory
      this.countMarkers(tables[i])
    }
    this.chosen.push(cursor)
  }

  private countMarkers({ properties }: SsTableReader): void {
    this.deletes += properties.deleteCount
    this.familyDeletes += properties.familyDeleteCount
  }

  /** Whether a table may hold what a scan wants. */
  private inScan(
    table: SsTableReader,
    query: StoreQuery,
    bounds: RowBounds,
    readPoint: number,
    moment: Moment,
  ): boolean {
    if (!this.inTime(table, query, readPoint, moment)) return false
    const { firstKey, lastKey, filterKind } = table.properties
    if (!overlaps(bounds, firstKey, lastKey)) return false
    const prefixBytes = filterPrefixBytes(filterKind)
    return prefixBytes === 0 || this.prefixAdmits(table, bounds, prefixBytes)
  }

  /** Whether a table in whose range the row lies may hold what the query wants of it. */
  private holdsRow(
    table: SsTableReader,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
  ): boolean {
    return (
      this.inTime(table, query, readPoint, moment) && this.probe.passesFilter(table, query.columns)
    )
  }

  /** Whether a table may hold rows within bounds that share a prefix of the filter's length. */
  private prefixAdmits(table: SsTableReader, bounds: RowBounds, prefixBytes: number): boolean {
    const { first, last, lastInclusive } = ends(bounds)
    if (first === undefined || last === undefined) return true
    const end = escapedPrefixEnd(first, 0, first.length, prefixBytes)
    // A row shorter than the prefix stands for itself only.
    if (unescape(first, 0, end).length < prefixBytes) return true
    const behind = prefixSuccessor(first.subarray(0, end))
    const order = behind === undefined ? -1 : Buffer.compare(last, behind)
    if (order > 0 || (order === 0 && lastInclusive)) return true
    return this.probe.passesPrefix(table, first, first.length, prefixBytes)
  }

  private inTime(
    table: SsTableReader,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
  ): boolean {
    const properties = table.properties
    if (properties.minSequence > readPoint) return false
    const settings = this.store.settings
    if (query.raw) return true
    if (settings.ttlSeconds !== Infinity && settings.minVersions === 0) {
      if (properties.maxTimestamp < BigInt(oldestUnexpired(settings, moment.milliseconds)))
        return false
    }
    const range = query.timeRange
    if (range === allTime) return true
    if (properties.maxTimestamp < joinTimestamp(range.minHigh, range.minLow)) return false
    // What lies behind the range still counts as versions or as masks of what lies in it.
    if (properties.deleteCount > 0 || settings.newVersionBehavior) return true
    return properties.minTimestamp < joinTimestamp(range.maxHigh, range.maxLow)
  }
}

/** Empties a short array that is filled again at once, without giving its memory away. */
function clear(array: unknown[]): void {
  while (array.length > 0) array.pop()
}

/** The bounds in ascending order; undefined = open on that side. */
function ends({ start, startInclusive, stop, stopInclusive, reversed }: RowBounds): {
  first: Buffer | undefined
  last: Buffer | undefined
  lastInclusive: boolean
} {
  return reversed
    ? { first: stop, last: start, lastInclusive: startInclusive }
    : { first: start, last: stop, lastInclusive: stopInclusive }
}

/** False only if a table with these first and last keys has no row within the bounds. */
function overlaps(bounds: RowBounds, firstKey: Buffer, lastKey: Buffer): boolean {
  const { first, last } = ends(bounds)
  if (first !== undefined && Buffer.compare(lastKey, first) < 0) return false
  if (last === undefined) return true
  const length = Math.min(firstKey.length, last.length)
  const order = compareBytes(firstKey, 0, length, last, 0, last.length)
  // With equal bytes the first row is `last` itself only if its terminator follows.
  return order === 0 ? firstKey[length] === 0 && firstKey[length + 1] === 1 : order < 0
}
