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
import { copyBytes, equalBytes } from '../base/bytes.js'
import { Hash64, hashRange } from '../base/hash.js'
import { qualifierEndOf, terminatorBytes, writeTerminator } from '../cell/cell-key.js'
import { blockMissing, type Cursor } from '../cursor/cursor.js'
import { MergeCursor } from '../cursor/merge-cursor.js'
import type { MemtableCursor } from '../memtable/memtable-cursor.js'
import type { RowCollector } from '../scan/row-collector.js'
import { isVisiblePut, RowRun } from '../scan/row-run.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { FamilySettings } from './family-settings.js'
import { findTable, RowProbe } from './row-probe.js'
import type { Store, StoreSources } from './store.js'

/** Rows that lie in more tables are read by a `StoreReader`. */
const tablesMax = 4

/** Most table cursors that are kept for the next get; each keeps a block alive. */
const tableCursorsMax = 64

/** Reads rows of one store; see the file header. Reusable, one read at a time. */
export class PlainRowReader {
  private readonly store: Store
  private readonly familyIndex: number
  private sources: StoreSources | undefined = undefined
  private settings: FamilySettings | undefined = undefined
  private settingsArePlain = false
  private memtableCursors: readonly MemtableCursor[] = []
  /** Made when they are needed, at the positions of the tables. */
  private tableCursors: (SsTableCursor | undefined)[] = []
  private tableCursorCount = 0
  /** Hash of the row (or of row and column) with its terminator: the key of locations. */
  private readonly hash = new Hash64()
  private readonly probe = new RowProbe()
  private readonly merge = new MergeCursor()
  private readonly run = new RowRun()
  /** The column that is wanted; empty = all of the row. */
  private readonly columns: Buffer[] = []
  private row!: Buffer
  /** Length of the row with its terminator. */
  private rowLength = 0
  /** Length of what all wanted keys begin with: the row or the column, with terminators. */
  private length = 0
  private mayBlock = false
  /** Cursors at the first cell that is wanted: of memtables, then of tables. */
  private readonly chosen: Cursor[] = []
  private memtableCount = 0
  /** Positions of the tables that may hold the row. */
  private readonly candidates: number[] = []

  constructor(store: Store, familyIndex: number) {
    this.store = store
    this.familyIndex = familyIndex
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
    if (!this.isPlainStore(readPoint)) return false
    this.row = row
    this.rowLength = rowLength + terminatorBytes
    this.length = this.rowLength
    while (this.columns.length > 0) this.columns.pop()
    if (qualifier !== undefined && !this.addColumn(qualifier)) return false
    this.mayBlock = mayBlock
    try {
      return this.choose(this.sources!) && this.collect(readPoint, collector)
    } catch (error) {
      if (error === blockMissing) return false
      throw error
    }
  }

  /** Drops references to memtables and tables if the store has moved on. */
  release(): void {
    if (this.sources === undefined || this.sources === this.store.sources) return
    this.sources = undefined
    this.memtableCursors = []
    this.dropTableCursors()
    this.chosen.length = 0
    this.merge.setChildren(this.chosen)
    this.run.forget()
  }

  /** Whether the settings of the family leave the newest cell of a column as it is. */
  private isPlainStore(readPoint: number): boolean {
    const { settings } = this.store
    const sources = this.store.sourcesAt(readPoint)
    if (this.sources === sources && this.settings === settings) return this.settingsArePlain
    this.sources = sources
    this.settings = settings
    this.memtableCursors = sources.memtables.map((slot) => slot.memtable.cursor())
    this.dropTableCursors()
    const { ttlSeconds, newVersionBehavior, blockCache, inMemory } = settings
    for (const table of sources.tables) table.inMemory = inMemory
    this.settingsArePlain = ttlSeconds === Infinity && !newVersionBehavior && blockCache
    return this.settingsArePlain
  }

  private dropTableCursors(): void {
    this.tableCursors = []
    this.tableCursorCount = 0
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

  /** Moves cursors to what is wanted; false if the row has to be read in another way. */
  private choose(sources: StoreSources): boolean {
    while (this.chosen.length > 0) this.chosen.pop()
    if (!this.seekMemtables(sources)) return false
    this.memtableCount = this.chosen.length
    if (sources.tables.length === 0) return true
    hashRange(this.row, 0, this.length, this.hash)
    return this.startLocated(sources) || this.startTables(sources)
  }

  /**
   * Finds the memtables that hold what is wanted, newest first. False: a column is wanted, and
   * before it stand cells of the empty one, among which may be a marker of the family.
   */
  private seekMemtables({ memtables }: StoreSources): boolean {
    const { chosen, memtableCursors, row, rowLength, length } = this
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
      cursor.rowBytes = rowLength
      chosen.push(cursor)
    }
    return true
  }

  /** Starts with the row where it was found before; false if that is not known. */
  private startLocated({ tables, tableSet }: StoreSources): boolean {
    const { rows } = tables[0].cache
    if (!rows.find(this.hash, this.locationSet(tableSet))) return false
    const { table, block, slot } = rows
    if (table >= tables.length || block >= tables[table].index.blockCount) return false
    // The newest version of a column may make the table needless.
    const cursor = this.tableCursor(
      table,
      tables[table],
      !this.isColumn || this.memtableCount === 0,
    )
    // Else it is another row with the same hash that was found there.
    if (!cursor.seekLocated(block, slot, this.row, this.length)) return false
    this.chosen.push(cursor)
    return true
  }

  /** Starts with the row in all tables that hold it; false if there are too many. */
  private startTables(sources: StoreSources): boolean {
    const { candidates, chosen, hash, isColumn } = this
    this.findCandidates(sources)
    if (candidates.length > tablesMax) return false
    // The newest version of a column may make the other tables needless.
    const needed = !isColumn || this.memtableCount + candidates.length <= 1
    for (let i = 0; i < candidates.length; i++) {
      const position = candidates[i]
      const table = sources.tables[position]
      // Markers of the family stand before the column.
      if (isColumn && table.properties.familyDeleteCount > 0) return false
      const cursor = this.tableCursor(position, table, needed)
      cursor.seek(this.row, this.length)
      if (!startsWith(cursor, this.row, this.length)) continue
      chosen.push(cursor)
      if (candidates.length > 1) continue
      cursor.noteLocation(hash, this.locationSet(sources.tableSet), position)
    }
    return true
  }

  /** A cursor of a table that may read the disk if the caller may and the table is `needed`. */
  private tableCursor(position: number, table: SsTableReader, needed: boolean): SsTableCursor {
    const cursor = this.tableCursors[position] ?? this.makeCursor(position, table)
    cursor.mayBlock = this.mayBlock && needed
    cursor.rowBytes = this.rowLength
    // What the read before has collected was taken, so nothing refers to the blocks of that read.
    cursor.beginRead()
    return cursor
  }

  private makeCursor(position: number, table: SsTableReader): SsTableCursor {
    if (this.tableCursorCount === tableCursorsMax) this.dropTableCursors()
    // Filled up to the position, so that the array never becomes a dictionary.
    while (this.tableCursors.length < position) this.tableCursors.push(undefined)
    const cursor = table.cursor()
    this.tableCursors[position] = cursor
    this.tableCursorCount++
    return cursor
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

  /** Collects what is wanted from the cursors chosen; false if not all cells are plain puts. */
  private collect(readPoint: number, collector: RowCollector): boolean {
    const { chosen, merge, run, row, rowLength, familyIndex } = this
    if (chosen.length === 0) return true
    let cursor = chosen[0]
    if (chosen.length > 1) {
      merge.setChildren(chosen)
      merge.startWithin(row, this.length)
      cursor = merge
    }
    if (!this.isColumn) {
      run.enterRow(row, 0, rowLength - terminatorBytes, 0)
      run.readRow(cursor, familyIndex, readPoint, collector)
      return !run.openRow
    }
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    if (!isVisiblePut(buffer, keyEnd, valueStart, readPoint)) return false
    collector.addRange(familyIndex, buffer, keyStart, keyEnd, valueEnd)
    return true
  }
}

/** Whether a cursor stands at a key that begins with `prefix[0, length)`. */
function startsWith(cursor: Cursor, prefix: Buffer, length: number): boolean {
  const { valid, buffer, keyStart, keyEnd } = cursor
  const end = keyStart + length
  return valid && end <= keyEnd && equalBytes(buffer, keyStart, end, prefix, 0, length)
}
