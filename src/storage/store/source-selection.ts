/**
 * Selects the sources of a read: memtables that are not empty, and the SSTables that
 * source-choice.ts chooses.
 *
 * For a row the cursors are positioned as well, and a source without the row is left out; next to
 * SSTables the filter of a memtable's rows (`MemtableRows`) saves most searches. For the
 * newest version of a single column, SSTables whose cells are all older than the version found are
 * left out. For several columns such SSTables are sought lazily (`DeferredTableCursor`). If only
 * one SSTable can hold a row, the location of the row is remembered by its hash (`RowLocations`).
 * The next read of the row then goes directly to its first entry, without key ranges, filters,
 * index and search. A row of plain puts in one cached block ({@link PlainRow}) is copied as a whole
 * ({@link SourceSelection.whole}), and remembered by its address as well. Of a row in several
 * sources, or in a memtable, a copy is kept (`RowCopies`), which needs none of them.
 */
import { assert } from '../../base/assert.js'
import { copyBytes, copySharedBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import type { Moment } from '../../base/clock.js'
import { Hash64, hashRange } from '../../base/hash.js'
import { checksInvariants } from '../../base/invariants.js'
import { terminatorBytes, writeTerminator } from '../cell/cell-key.js'
import { bytesPerReadRun, bytesPerScannedRun } from '../compaction/by-reads.js'
import type { Cursor, DeferredCursor } from '../cursor/cursor.js'
import { isVisiblePut } from '../cell/plain-put.js'
import { asksForNewest, wantsPlainRows, type StoreQuery } from '../scan/query.js'
import type { RowBounds } from '../scan/row-scanner.js'
import type { StoreRowRead } from '../scan/store-read.js'
import { oldestUnexpired } from '../scan/user-matcher.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { FamilySettings } from './family-settings.js'
import { FoundVersion } from './found-version.js'
import { PlainRow } from './plain-row.js'
import { RowProbe } from './row-probe.js'
import { isInTime, tablesOfRange, tablesOfRow } from './source-choice.js'
import type { ReadMode, SourceCursors } from './source-cursors.js'
import type { Store } from './store.js'
import type { StoreSources } from './store-sources.js'

/** The longest row that is taken as a whole, for each column that is asked for. */
const bytesPerWanted = 1024

export class SourceSelection implements StoreRowRead {
  query!: StoreQuery
  settings: FamilySettings
  isNewest = false
  wantsPlainRows = false
  readPoint = 0
  oldest = 0
  moment!: Moment
  mayBlock = true
  readonly chosen: Cursor[] = []
  readonly deferring: (DeferredCursor | undefined)[] = []
  hasMarkers = false
  hasFamilyMarkers = false
  mayStep = true
  row: Buffer = emptyBytes
  rowLength = 0
  wantedLength = 0
  isColumn = false
  /**
   * The whole row in the memory of a block, `whole[wholeStart, wholeEnd)`. The cursors chosen have
   * other cells of the row; a copy has all of them.
   */
  whole: Buffer | undefined = undefined
  /** Whether the whole row is a copy that an earlier read has kept. */
  isCopy = false
  wholeStart = 0
  wholeEnd = 0
  private readonly plain = new PlainRow()
  private takesWhole = false
  /** Upper bounds on the markers in the chosen sources: all of them, and those of the family. */
  private deletes = 0
  private familyDeletes = 0
  private readonly store: Store
  private readonly cursors: SourceCursors
  private readonly probe = new RowProbe()
  /**
   * Length of the row with its terminator; `columnLength`: also with the first requested column.
   */
  private rowEnd = 0
  private columnLength = 0
  private columns: readonly Buffer[] | undefined = undefined
  /** The newest put found of the only column. */
  private readonly found = new FoundVersion()
  /** Whether SSTables may be left out because of the put found. */
  private mayLeaveOut = false
  private mode!: ReadMode
  /** Hash of the wanted row with its terminator, and whether it is valid. */
  private readonly rowHash = new Hash64()
  private rowHashed = false
  /** Hash of the wanted row or column with its terminator, the key of locations. */
  private readonly hash = new Hash64()
  private hashed = false
  /** Whether the location of the row was found; the fields of `RowLocations` have it. */
  private isLocated = false
  /** Number of memtables that have the row. */
  private memtableCount = 0
  /** Indexes of the SSTables that may hold the row. */
  private readonly candidates: number[] = []

  constructor(store: Store, cursors: SourceCursors) {
    this.store = store
    this.cursors = cursors
    this.settings = store.settings
  }

  /**
   * Positions cursors at the row `row[0, rowLength)` (escaped), which is followed by a terminator,
   * or at its requested columns. The memory after the row is overwritten. With `takesWhole` the row
   * may be found as a {@link whole}. May throw `BlockMissing`; then the whole call is repeated.
   */
  chooseForRow(
    row: Buffer,
    rowLength: number,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
    takesWhole: boolean,
  ): void {
    const sources = this.begin(query, readPoint, moment, mode)
    const { columns } = this
    // A single column is found by its own key.
    this.takesWhole = takesWhole && this.wantsPlainRows && columns?.length !== 1
    this.plain.bytesMax = columns === undefined ? Infinity : columns.length * bytesPerWanted
    this.row = row
    this.rowLength = rowLength
    this.rowEnd = rowLength + terminatorBytes
    this.wantedLength = this.rowEnd
    this.columnLength = 0
    this.isColumn = false
    this.whole = undefined
    this.isCopy = false
    if (columns !== undefined) this.addColumn(columns)
    const hasTables = sources.tables.length > 0
    this.mayLeaveOut = hasTables && this.isNewest && this.isColumn
    this.rowHashed = false
    this.hashed = false
    if (hasTables && this.findLocation(sources) && this.findCopy(sources)) return
    this.seekMemtables(sources)
    this.memtableCount = this.chosen.length
    if (hasTables) {
      // A marker may mask the version found, so that an older version is wanted.
      if (this.deletes > 0) this.mayLeaveOut = false
      if (!this.chooseLocated(sources)) this.chooseTables(sources)
    }
    // A marker of the family affects every column.
    if (this.familyDeletes > 0 && this.isColumn) {
      this.isColumn = false
      this.wantedLength = this.rowEnd
    }
    this.noteMarkers()
  }

  /** A read without a read point also sees markers that are written during the read. */
  private noteMarkers(): void {
    const seesLater = this.readPoint === Number.MAX_SAFE_INTEGER
    this.hasMarkers = this.deletes > 0 || seesLater
    this.hasFamilyMarkers = this.familyDeletes > 0 || seesLater
    this.mayStep = this.deferring.length === 0
  }

  private begin(
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): StoreSources {
    clear(this.chosen)
    clear(this.deferring)
    this.deletes = 0
    this.familyDeletes = 0
    const { settings } = this.store
    if (query !== (this.query as StoreQuery | undefined) || settings !== this.settings) {
      this.setQuery(query, settings)
    }
    this.found.forget()
    this.readPoint = readPoint
    const expires = settings.ttlSeconds !== Infinity && !query.raw
    this.oldest = expires ? oldestUnexpired(settings, moment.milliseconds) : 0
    this.moment = moment
    this.mode = mode
    this.mayBlock = mode.mayBlock
    return this.cursors.refresh(readPoint)
  }

  private setQuery(query: StoreQuery, settings: FamilySettings): void {
    this.query = query
    this.settings = settings
    this.isNewest = asksForNewest(query, settings)
    this.wantsPlainRows = wantsPlainRows(query, settings)
    this.columns = query.raw ? undefined : query.columns
  }

  /**
   * Appends the first column to the row, if there is room. A single column becomes the wanted
   * prefix.
   */
  private addColumn(columns: readonly Buffer[]): void {
    const { row, rowEnd } = this
    const qualifier = columns[0]
    const end = rowEnd + qualifier.length
    if (end + terminatorBytes > row.length) return
    copyBytes(qualifier, 0, qualifier.length, row, rowEnd)
    this.columnLength = writeTerminator(row, end)
    if (columns.length > 1) return
    this.isColumn = true
    this.wantedLength = this.columnLength
  }

  private seekMemtables({ memtables, tables }: StoreSources): void {
    const { chosen, cursors, row, rowEnd, columnLength } = this
    for (let i = 0; i < memtables.length; i++) {
      const slot = memtables[i]
      if (slot.isEmpty) continue
      // Without SSTables a memtable without the row is an exception.
      if (tables.length > 0) {
        this.hashRow()
        if (!slot.memtable.mayHaveRow(this.rowHash)) {
          if (checksInvariants) this.checkAbsence(cursors.memtable(i))
          continue
        }
      }
      const cursor = cursors.memtable(i)
      const { familyDeleteCount } = slot
      cursor.seek(row, familyDeleteCount === 0 && columnLength > 0 ? columnLength : rowEnd)
      if (!startsWith(cursor, row, familyDeleteCount === 0 ? this.wantedLength : rowEnd)) continue
      cursor.rowBytes = rowEnd
      chosen.push(cursor)
      if (this.mayLeaveOut) this.noteFound(cursor)
      this.deletes += slot.deleteCount
      this.familyDeletes += familyDeleteCount
    }
  }

  private checkAbsence(cursor: Cursor): void {
    cursor.seek(this.row, this.rowEnd)
    assert(!startsWith(cursor, this.row, this.rowEnd), 'a memtable left out has nothing of the row')
  }

  private findLocation(sources: StoreSources): boolean {
    this.hashWanted()
    const { rows } = sources.tables[0].cache
    this.isLocated = rows.find(this.hash, this.locationSet(sources))
    return this.isLocated
  }

  /** Finds a copy of the row, which needs no other source. */
  private findCopy({ tables }: StoreSources): boolean {
    const { plain, readPoint, row, rowEnd } = this
    // A copy has the newest cells alone, and does not say when they expire.
    if (!this.takesWhole || !this.isNewest || this.oldest > 0) return false
    if (!plain.findCopy(tables[0], row, rowEnd, readPoint)) return false
    this.store.copiedRows.noteHit()
    this.isCopy = true
    this.setWhole()
    return true
  }

  /**
   * Whether {@link keepCopy} is to be called for the row that was read, whose cells are all plain
   * puts, one of each column: only if the read saw the newest state of the store.
   */
  wantsCopy(): boolean {
    const { cursors, readPoint, store } = this
    const { sources } = cursors
    const { mode, settings } = this
    if (!this.takesWhole || !this.isNewest || this.isCopy || this.oldest > 0) return false
    if (this.columns !== undefined) return false
    if (!mode.cacheBlocks || !settings.blockCache) return false
    // A row of one SSTable is found by its location.
    const sourceCount = this.chosen.length + (this.whole === undefined ? 0 : 1)
    if (sourceCount < 2 && this.memtableCount === 0) return false
    if (sources.tables.length === 0 || sources !== store.sources) return false
    if (readPoint === Number.MAX_SAFE_INTEGER || !store.isNewestAt(readPoint)) return false
    return store.copiedRows.wantsCopy()
  }

  /** Keeps a copy of the row, whose adjacent entries are `row[start, end)`. */
  keepCopy(row: Buffer, start: number, end: number): void {
    const { sources } = this.cursors
    const { cache } = sources.tables[0]
    const length = end - start
    if (length === 0 || !cache.reserveCopy(length, this.readPoint)) return
    const { addresses, copies, rows } = cache
    const { address } = copies
    copySharedBytes(row, start, end, copies.memory, copies.start)
    const set = this.locationSet(sources)
    const generation = addresses.generationOf(address)
    rows.noteAddress(this.hash, set, address, generation, copies.start, length, true)
    this.store.copiedRows.noteCopy()
  }

  /** Chooses the SSTable at the remembered location of the row; false if there is none. */
  private chooseLocated(sources: StoreSources): boolean {
    const { tables } = sources
    const { rows } = tables[0].cache
    if (!this.isLocated) return false
    const { table, block, slot } = rows
    if (table >= tables.length || block >= tables[table].index.blockCount) return false
    if (!isInTime(tables[table], this)) return true
    if (this.mayTakeWhole(tables[table])) {
      if (this.plain.findAddressed(tables[table], this.row, this.rowEnd)) {
        this.setWhole()
        return true
      }
      if (this.plain.findAt(tables[table], block, slot, this.row, this.rowEnd)) {
        this.takePlain(sources, table)
        return true
      }
    }
    // Only next to a memtable can the SSTable turn out to be unneeded.
    if (this.chosen.length > 0) {
      if (this.isOutdated(table)) return true
      if (this.mayDefer(tables[table], 1)) {
        this.chooseDeferred(table)
        return true
      }
    }
    const cursor = this.cursors.table(table, this.mode, this.rowEnd)
    // On a mismatch the location is that of another row with the same hash.
    if (!cursor.seekLocated(block, slot, this.row, this.wantedLength)) return false
    this.choose(cursor, tables[table])
    return true
  }

  /**
   * Whether a read of the row may take it as a whole from an SSTable, with the cells of the chosen
   * cursors laid over it. Where one of them begins with another cell than a visible put, the rules
   * are needed, as `StoreReader` would find out.
   */
  private mayTakeWhole({ properties, earliestPut }: SsTableReader): boolean {
    const { chosen, readPoint, oldest } = this
    if (!this.takesWhole || properties.maxSequence > readPoint || earliestPut < oldest) return false
    // A deferred cursor is not at an entry. Over a row only its newest cells can be laid.
    if (this.deferring.length > 0 || (chosen.length > 0 && !this.isNewest)) return false
    for (let i = 0; i < chosen.length; i++) {
      const { buffer, keyEnd, valueStart } = chosen[i]
      if (!isVisiblePut(buffer, keyEnd, valueStart, readPoint, oldest)) return false
    }
    return true
  }

  /** Takes the row that {@link PlainRow} has found, and remembers its address. */
  private takePlain(sources: StoreSources, position: number): void {
    const { plain } = this
    const { blocks, cache } = sources.tables[position]
    const block = blocks[plain.index]!
    const address = cache.addressOf(block)
    cache.rows.noteAddress(
      this.hash,
      this.locationSet(sources),
      address,
      cache.addresses.generationOf(address),
      block.addressStart + plain.start,
      plain.end - plain.start,
      false,
    )
    this.setWhole()
  }

  private setWhole(): void {
    const { plain } = this
    this.whole = plain.buffer
    this.wholeStart = plain.start
    this.wholeEnd = plain.end
  }

  private chooseTables(sources: StoreSources): void {
    const { candidates } = this
    this.probe.setRow(this.row, this.rowLength)
    const ofAnyTime = tablesOfRow(sources, this, this.probe, this.columns, candidates)
    // A location states that no other SSTable has the row, or the column.
    const areAll = this.isColumn || !this.probe.refusedColumns
    this.store.readBytes[0] += Math.max(0, candidates.length - 1) * bytesPerReadRun
    for (let i = 0; i < candidates.length; i++) {
      if (sources.tables[candidates[i]].properties.deleteCount > 0) this.mayLeaveOut = false
    }
    for (let i = 0; i < candidates.length; i++) {
      const position = candidates[i]
      const table = sources.tables[position]
      if (this.isOutdated(position)) continue
      if (this.mayDefer(table, candidates.length)) {
        this.chooseDeferred(position)
        continue
      }
      if (i + 1 === candidates.length && this.findPlain(table)) {
        // The filters of the other SSTables were wrong if none of them has the row.
        const isOnly = this.chosen.length === this.memtableCount
        if (isOnly && areAll && ofAnyTime === candidates.length) this.takeOnly(sources, position)
        else this.setWhole()
        return
      }
      const cursor = this.cursors.table(position, this.mode, this.rowEnd)
      const fromStart = table.properties.familyDeleteCount > 0 || this.columnLength === 0
      cursor.seek(this.row, fromStart ? this.rowEnd : this.columnLength)
      const length = fromStart ? this.rowEnd : this.wantedLength
      if (!startsWith(cursor, this.row, length)) continue
      if (this.mayLeaveOut && i + 1 < candidates.length) this.noteFound(cursor)
      this.choose(cursor, table)
      if (ofAnyTime > 1 || !areAll || length !== this.wantedLength) continue
      // Only the first entry of the row itself, or of the only column, is a location to remember.
      if (!cursor.cacheBlocks || (this.columnLength > 0 && length === this.rowEnd)) continue
      this.hashWanted()
      cursor.noteLocation(this.hash, this.locationSet(sources), position)
    }
  }

  /** Finds the whole row in the last SSTable that can hold it. */
  private findPlain(table: SsTableReader): boolean {
    const { mode, plain } = this
    if (!mode.cacheBlocks || !this.settings.blockCache || !this.mayTakeWhole(table)) return false
    return plain.find(table, this.row, this.rowEnd)
  }

  /** Takes the whole row from the only SSTable that can hold it, and remembers its location. */
  private takeOnly(sources: StoreSources, position: number): void {
    const { plain } = this
    this.hashWanted()
    const set = this.locationSet(sources)
    sources.tables[position].cache.rows.note(this.hash, set, position, plain.index, plain.slot)
    this.takePlain(sources, position)
  }

  /** Notes the version of the only column at the position of a cursor. */
  private noteFound(cursor: Cursor): void {
    if (!startsWith(cursor, this.row, this.wantedLength)) return
    this.found.note(cursor, this.readPoint)
  }

  /**
   * Whether an SSTable can neither hold a newer version than the one found nor mask that version.
   */
  private isOutdated(position: number): boolean {
    const { cursors, found } = this
    if (!this.mayLeaveOut || !found.exists) return false
    return cursors.isTableOlder(position, found.high, found.low, found.sequence)
  }

  private choose(cursor: Cursor, table: SsTableReader): void {
    this.chosen.push(cursor)
    this.noteMarkersOf(table)
  }

  private noteMarkersOf({ properties }: SsTableReader): void {
    this.deletes += properties.deleteCount
    this.familyDeletes += properties.familyDeleteCount
  }

  /** Whether the seek in an SSTable may be deferred; `tables` is the number of candidates. */
  private mayDefer({ properties }: SsTableReader, tables: number): boolean {
    if (this.columns === undefined || this.mayLeaveOut) return false
    if (properties.familyDeleteCount > 0) return false
    return tables > 1 || this.chosen.length > 0
  }

  private chooseDeferred(position: number): void {
    const { cursors, deferring, row, columns, rowEnd, rowLength } = this
    cursors.table(position, this.mode, rowEnd)
    const cursor = cursors.deferredTable(position)
    cursor.begin(row, rowLength, columns!)
    cursor.seek(row, this.columnLength > 0 ? this.columnLength : rowEnd)
    // Filled up to the index, so that the array does not become a dictionary.
    while (deferring.length < this.chosen.length) deferring.push(undefined)
    deferring.push(cursor)
    this.choose(cursor, this.cursors.sources.tables[position])
  }

  private hashRow(): void {
    if (!this.rowHashed) hashRange(this.row, 0, this.rowEnd, this.rowHash)
    this.rowHashed = true
  }

  private hashWanted(): void {
    if (this.hashed) return
    this.hashed = true
    this.hashRow()
    const { hash, rowEnd, rowHash, wantedLength } = this
    if (wantedLength > rowEnd) {
      hashRange(this.row, rowEnd, wantedLength, hash, rowHash.low)
    } else {
      hash.low = rowHash.low
      hash.high = rowHash.high
    }
  }

  /**
   * The set of SSTables in the keys of locations. Columns have a set of their own, so that the
   * location of a column is never used for a row.
   */
  private locationSet({ tablesId }: StoreSources): number {
    return this.isColumn ? ~tablesId : tablesId
  }

  /** Chooses the sources of a range of rows; their cursors are not positioned. */
  chooseForRange(
    query: StoreQuery,
    bounds: RowBounds,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): void {
    const { memtables } = this.begin(query, readPoint, moment, mode)
    for (let i = 0; i < memtables.length; i++) {
      const slot = memtables[i]
      if (slot.isEmpty) continue
      const cursor = this.cursors.memtable(i)
      cursor.rowBytes = 0
      this.chosen.push(cursor)
      this.deletes += slot.deleteCount
      this.familyDeletes += slot.familyDeleteCount
    }
    const ofMemtables = this.chosen.length
    const { candidates } = this
    tablesOfRange(this.cursors.sources, this, this.probe, bounds, candidates)
    this.chooseTablesOf(candidates)
    const runs = this.chosen.length - ofMemtables
    this.store.readBytes[0] += Math.max(0, runs - 1) * bytesPerScannedRun
    this.noteMarkers()
  }

  /** Chooses SSTables by index: those of a level below 0 are read one after the other. */
  private chooseTablesOf(indexes: readonly number[]): void {
    const { tables, levelEnds } = this.cursors.sources
    let i = 0
    for (let level = 0; level < levelEnds.length; level++) {
      const from = i
      while (i < indexes.length && indexes[i] < levelEnds[level]) {
        this.noteMarkersOf(tables[indexes[i++]])
      }
      if (level > 0 && i - from > 1) {
        this.chosen.push(this.cursors.level(level, indexes, from, i, this.mode))
        continue
      }
      for (let k = from; k < i; k++)
        this.chosen.push(this.cursors.rangeTable(indexes[k], this.mode))
    }
  }

  release(): void {
    this.row = emptyBytes
    this.whole = undefined
    clear(this.chosen)
    clear(this.deferring)
  }
}

/** Clears a short array that is refilled soon, without releasing its memory. */
function clear(array: unknown[]): void {
  while (array.length > 0) array.pop()
}

/** Whether the key at a cursor begins with `prefix[0, length)`. */
function startsWith(cursor: Cursor, prefix: Buffer, length: number): boolean {
  const { valid, buffer, keyStart, keyEnd } = cursor
  const end = keyStart + length
  return valid && end <= keyEnd && equalBytes(buffer, keyStart, end, prefix, 0, length)
}
