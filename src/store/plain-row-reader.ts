/**
 * Reads a row the short way: the newest version of every column of one family, or of one column, if
 * what comes in the way are plain puts. That is what most gets ask for and what most rows are.
 *
 * Whatever is not plain (a delete marker, a cell with a TTL or with its value apart, a cell that
 * the read point hides) ends the attempt, and the caller reads the row by a `StoreReader`, which
 * knows all of HBase's rules. So does, in a read that may not block, a block that is not in the
 * cache; `BlockMissing` is never thrown here.
 *
 * Where a row was found in the only table that can hold it is noted in the cache's `RowLocations`.
 */
import { compareBytes, copyBytes, equalBytes } from '../base/bytes.js'
import { Hash64, hashRange } from '../base/hash.js'
import { qualifierEndOf, terminatorBytes, writeBehind, writeTerminator } from '../cell/cell-key.js'
import type { MemtableCursor } from '../memtable/memtable-cursor.js'
import type { RowCollector } from '../scan/row-collector.js'
import { isVisiblePut } from '../scan/row-run.js'
import { entryOffset, lowerBound } from '../sstable/block.js'
import { RowEntries } from '../sstable/row-entries.js'
import type { FamilySettings } from './family-settings.js'
import { findTable, RowProbe } from './row-probe.js'
import type { Store, StoreSources } from './store.js'

/** Rows that lie in more tables are read by a `StoreReader`. */
const tablesMax = 4

/** Older versions of a column that are stepped over; then a seek leads behind the column. */
const stepsBeforeSeek = 2

/** Reads rows of one store; see the file header. Reusable, one read at a time. */
export class PlainRowReader {
  private readonly store: Store
  private readonly familyIndex: number
  private sources: StoreSources | undefined = undefined
  private settings: FamilySettings | undefined = undefined
  private settingsArePlain = false
  private memtableCursors: readonly MemtableCursor[] = []
  /** Of the row or column with its terminator: what locations go by. */
  private readonly hash = new Hash64()
  private readonly probe = new RowProbe()
  /** The column that is wanted; empty = all of the row. */
  private readonly columns: Buffer[] = []
  private collector!: RowCollector
  private row!: Buffer
  /** Length of the row with its terminator. */
  private rowLength = 0
  /** Length of what all wanted keys begin with: the row or the column, with terminators. */
  private length = 0
  private readPoint = 0
  private mayBlock = false
  /** What holds cells of the row: memtables, then tables. */
  private readonly memtables: MemtableCursor[] = []
  private tableCount = 0
  private readonly tables: RowEntries[] = []
  /** Positions of the tables that may hold the row. */
  private readonly candidates: number[] = []
  /** The qualifier of the cell before, in `qualifierBuffer`. */
  private qualifierBuffer: Buffer | undefined = undefined
  private qualifierStart = 0
  private qualifierEnd = 0
  /** Older versions of that cell's column that were stepped over. */
  private versions = 0

  constructor(store: Store, familyIndex: number) {
    this.store = store
    this.familyIndex = familyIndex
    for (let i = 0; i < tablesMax; i++) this.tables.push(new RowEntries())
  }

  /**
   * Reads the row `row[0, rowLength)` (escaped), behind which a terminator stands, or of it only
   * `qualifier` (escaped), into the collector. Behind the row memory is overwritten. False: the row
   * has to be read in another way, and what the collector got is void. Throws what reading a block
   * throws, if the read `mayBlock`.
   */
  read(
    row: Buffer,
    rowLength: number,
    qualifier: Buffer | undefined,
    readPoint: number,
    mayBlock: boolean,
    collector: RowCollector,
  ): boolean {
    if (!this.isPlainStore()) return false
    this.row = row
    this.rowLength = rowLength + terminatorBytes
    this.length = this.rowLength
    while (this.columns.length > 0) this.columns.pop()
    if (qualifier !== undefined && !this.addColumn(qualifier)) return false
    this.readPoint = readPoint
    this.mayBlock = mayBlock
    this.collector = collector
    this.qualifierBuffer = undefined
    this.versions = 0
    const sources = this.sources!
    if (!this.seekMemtables(sources)) return false
    this.tableCount = 0
    if (sources.tables.length > 0) {
      hashRange(row, 0, this.length, this.hash)
      if (!this.startLocated(sources) && !this.startTables(sources)) return false
    }
    const { memtables, tableCount } = this
    if (qualifier !== undefined) return this.takeNewest()
    if (memtables.length + tableCount > 1) return this.merge()
    if (memtables.length > 0) return this.readMemtable(memtables[0])
    return tableCount === 0 || this.readTable(this.tables[0])
  }

  /** Drops references to memtables and tables if the store has moved on. */
  release(): void {
    if (this.sources === undefined || this.sources === this.store.sources) return
    this.sources = undefined
    this.memtableCursors = []
    this.memtables.length = 0
    this.qualifierBuffer = undefined
    for (const table of this.tables) table.release()
  }

  /** Whether the settings of the family leave the newest cell of a column as it is. */
  private isPlainStore(): boolean {
    const { sources, settings } = this.store
    if (this.sources === sources && this.settings === settings) return this.settingsArePlain
    this.sources = sources
    this.settings = settings
    this.memtableCursors = sources.memtables.map((slot) => slot.memtable.cursor())
    const { ttlSeconds, newVersionBehavior, blockCache, inMemory } = settings
    for (const table of sources.tables) table.inMemory = inMemory
    this.settingsArePlain = ttlSeconds === Infinity && !newVersionBehavior && blockCache
    return this.settingsArePlain
  }

  private get isColumn(): boolean {
    return this.columns.length > 0
  }

  /**
   * The name of the tables for locations: another one for columns, so that one of a row never leads
   * into the middle of it.
   */
  private locationSet(tableSet: number): number {
    return this.isColumn ? ~tableSet : tableSet
  }

  /** Writes the column behind the row; false if there is no room. */
  private addColumn(qualifier: Buffer): boolean {
    const { row, rowLength } = this
    const end = rowLength + qualifier.length
    if (end + terminatorBytes > row.length) return false
    this.columns.push(qualifier)
    copyBytes(qualifier, 0, qualifier.length, row, rowLength)
    this.length = writeTerminator(row, end)
    return true
  }

  /**
   * Finds the memtables that hold what is wanted, newest first. False: a column is wanted, and
   * before it stand cells of the empty one, among which may be a marker of the family.
   */
  private seekMemtables(sources: StoreSources): boolean {
    const { memtables: found, memtableCursors, row, rowLength, length } = this
    while (found.length > 0) found.pop()
    const { memtables } = sources
    for (let i = 0; i < memtables.length; i++) {
      if (memtables[i].isEmpty) continue
      const cursor = memtableCursors[i]
      cursor.seek(row, rowLength)
      if (!startsWith(cursor, row, rowLength)) continue
      if (length > rowLength && !startsWith(cursor, row, length)) {
        if (qualifierEndOf(cursor.keyEnd) === cursor.keyStart + rowLength) return false
        cursor.seek(row, length)
        if (!startsWith(cursor, row, length)) continue
      }
      found.push(cursor)
    }
    return true
  }

  /** Starts with the row where it was found before; false if that is not known. */
  private startLocated({ tables, tableSet }: StoreSources): boolean {
    const { rows } = tables[0].cache
    const mayBlock = this.mayBlock && !(this.isColumn && this.memtables.length > 0)
    if (!rows.find(this.hash, this.locationSet(tableSet))) return false
    const table = tables[rows.table]
    const block = table?.find(rows.block, mayBlock)
    if (block === undefined || rows.slot >= block.count) return false
    const entries = this.tables[0]
    entries.mayBlock = mayBlock
    entries.start(table, block, rows.offset, this.row, this.length)
    // Else it is another row with the same hash that was found there.
    if (entries.valid) this.tableCount = 1
    return entries.valid
  }

  /** Starts with the row in all tables that hold it; false if a block is missing, or too many. */
  private startTables(sources: StoreSources): boolean {
    const { candidates, hash } = this
    this.findCandidates(sources)
    if (candidates.length > tablesMax) return false
    const { isColumn } = this
    // The newest version of a column may make the other tables needless.
    if (isColumn && this.memtables.length + candidates.length > 1) this.mayBlock = false
    for (let i = 0; i < candidates.length; i++) {
      const table = sources.tables[candidates[i]]
      // Markers of the family stand before the column.
      if (isColumn && table.properties.familyDeleteCount > 0) return false
      const index = table.index.find(this.row, this.length)
      if (index === table.index.blockCount) continue
      const block = table.find(index, this.mayBlock)
      if (block === undefined) return false
      const slot = lowerBound(block, this.row, this.length, 0)
      // What is sought may begin the next block.
      if (slot === block.count) return false
      const offset = entryOffset(block, slot)
      const entries = this.tables[this.tableCount]
      entries.mayBlock = this.mayBlock
      entries.start(table, block, offset, this.row, this.length)
      if (!entries.valid) continue
      this.tableCount++
      if (candidates.length > 1) continue
      const set = this.locationSet(sources.tableSet)
      table.cache.rows.note(hash, set, candidates[i], index, slot, offset)
    }
    return true
  }

  private findCandidates({ tables, levelEnds }: StoreSources): void {
    const { candidates, probe } = this
    const columns = this.isColumn ? this.columns : undefined
    while (candidates.length > 0) candidates.pop()
    probe.setRow(this.row, this.rowLength - terminatorBytes)
    for (let i = 0; i < levelEnds[0]; i++) {
      if (probe.isInRange(tables[i]) && probe.passesFilter(tables[i], columns)) candidates.push(i)
    }
    for (let level = 1; level < levelEnds.length; level++) {
      const end = levelEnds[level]
      let i = findTable(tables, levelEnds[level - 1], end, this.row, this.rowLength)
      // One table, unless the row goes on in the next.
      for (; i < end && probe.isInRange(tables[i]); i++) {
        if (probe.passesFilter(tables[i], columns)) candidates.push(i)
      }
    }
  }

  private readMemtable(cursor: MemtableCursor): boolean {
    const { row, length } = this
    for (;;) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
      if (!this.take(buffer, keyStart, keyEnd, valueStart, valueEnd)) return false
      if (cursor.leavesPrefix(length - terminatorBytes)) return true
      if (this.versions < stepsBeforeSeek) cursor.next()
      else if (!this.leaveColumn(cursor)) return false
      if (!startsWith(cursor, row, length)) return true
    }
  }

  private readTable(entries: RowEntries): boolean {
    while (entries.valid) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd } = entries
      if (!this.take(buffer, keyStart, keyEnd, valueStart, valueEnd)) return false
      // The rules seek behind a column of many versions.
      if (this.versions > stepsBeforeSeek) return false
      entries.next()
    }
    return !entries.isMissing
  }

  /** Reads a row that lies in several sources. */
  private merge(): boolean {
    for (;;) {
      const first = this.first()
      if (first === undefined) return !this.isBlockMissing()
      const { buffer, keyStart, keyEnd, valueStart, valueEnd } = first
      if (!this.take(buffer, keyStart, keyEnd, valueStart, valueEnd)) return false
      if (first instanceof RowEntries) {
        if (this.versions > stepsBeforeSeek * this.tableCount) return false
        first.next()
        continue
      }
      if (this.versions < stepsBeforeSeek) first.next()
      else if (!this.leaveColumn(first)) return false
      first.valid = startsWith(first, this.row, this.length)
    }
  }

  /** Seeks behind the column of the cell taken last; false if there is no room for the key. */
  private leaveColumn(cursor: MemtableCursor): boolean {
    const { row, rowLength, qualifierStart, qualifierEnd } = this
    const end = rowLength + qualifierEnd - qualifierStart
    // Among the cells of the empty column may be markers of the family.
    if (end === rowLength || end + terminatorBytes > row.length) return false
    copyBytes(this.qualifierBuffer!, qualifierStart, qualifierEnd, row, rowLength)
    cursor.seek(row, writeBehind(row, end))
    return true
  }

  /** Takes the newest cell of the column. */
  private takeNewest(): boolean {
    const first = this.first()
    if (first === undefined) return true
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = first
    return this.take(buffer, keyStart, keyEnd, valueStart, valueEnd)
  }

  /** The source with the first of the keys that sources stand at. */
  private first(): MemtableCursor | RowEntries | undefined {
    const { memtables, tables, tableCount } = this
    let first: MemtableCursor | RowEntries | undefined
    for (let i = 0; i < memtables.length; i++) {
      const cursor = memtables[i]
      if (cursor.valid && (first === undefined || this.isBefore(cursor, first))) first = cursor
    }
    for (let i = 0; i < tableCount; i++) {
      const entries = tables[i]
      if (entries.valid && (first === undefined || this.isBefore(entries, first))) first = entries
    }
    return first
  }

  private isBlockMissing(): boolean {
    for (let i = 0; i < this.tableCount; i++) if (this.tables[i].isMissing) return true
    return false
  }

  /** Whether the key under one cursor comes before that under another, both in the row. */
  private isBefore(a: MemtableCursor | RowEntries, b: MemtableCursor | RowEntries): boolean {
    const { length } = this
    return (
      compareBytes(
        a.buffer,
        a.keyStart + length,
        a.keyEnd,
        b.buffer,
        b.keyStart + length,
        b.keyEnd,
      ) < 0
    )
  }

  /** Collects a put if it is the first of its column; false if the cell is not a plain put. */
  private take(
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): boolean {
    if (!isVisiblePut(buffer, keyEnd, valueStart, this.readPoint)) return false
    const start = keyStart + this.rowLength
    const end = qualifierEndOf(keyEnd)
    const { qualifierBuffer } = this
    if (
      qualifierBuffer !== undefined &&
      equalBytes(qualifierBuffer, this.qualifierStart, this.qualifierEnd, buffer, start, end)
    ) {
      this.versions++
      return true
    }
    this.versions = 0
    this.qualifierBuffer = buffer
    this.qualifierStart = start
    this.qualifierEnd = end
    this.collector.addRange(this.familyIndex, buffer, keyStart, keyEnd, valueEnd)
    return true
  }
}

/** Whether a cursor stands at a key that begins with `prefix[0, length)`. */
function startsWith(cursor: MemtableCursor, prefix: Buffer, length: number): boolean {
  const { valid, buffer, keyStart, keyEnd } = cursor
  const end = keyStart + length
  return valid && end <= keyEnd && equalBytes(buffer, keyStart, end, prefix, 0, length)
}
