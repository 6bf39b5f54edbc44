/**
 * Reads one store (one family of one table): moves a merge of memtables and SSTables row by row and
 * passes the cells that the matcher includes to a collector.
 *
 * Resumability: every call may throw `BlockMissing`. All progress is in fields, and only the moves
 * at the top of the loops can throw. So the same call is repeated once the block is loaded.
 *
 * Ownership: the scanner is reusable. Between `open` and the last use its cursors refer to
 * memtables and SSTable readers, which the caller pins.
 */
import { checkedHint } from '../filter/answers.js'
import { assert } from '../../base/assert.js'
import { compareBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import type { Moment } from '../../base/clock.js'
import { terminatorBytes } from '../cell/cell-key.js'
import { CellView } from '../cell/cell-view.js'
import { compareTimestamps } from '../cell/timestamp.js'
import type { BackwardCursor, Cursor } from '../cursor/cursor.js'
import type { RowTarget } from './cell-collector.js'
import { JoinedSources } from './joined-sources.js'
import { endsRow, MatchCode, Move, type RetentionOptions, type StoreQuery } from './query.js'
import { RowRun } from './row-run.js'
import type { RowBounds } from './row-scanner.js'
import { EmptyColumn } from './empty-column.js'
import { SeekKey } from './seek-key.js'
import type { StoreRead, StoreRowRead } from './store-read.js'
import { UserMatcher } from './user-matcher.js'
import type { ValueSource } from './value-source.js'

/** Number of steps before a seek: a seek costs about as much as a few steps. */
const stepsBeforeSeek = 4

/** The fast path for single rows, which are read in one call. */
const rowRun = new RowRun()

export class StoreScanner {
  /** The cell under the cursor, decoded; valid while `atCell`. */
  readonly cell = new CellView()
  /** Whether the filter has ended the whole scan. */
  ended = false
  /** Whether a single row is read, so that the cursor need not move past it. */
  private singleRow = false
  /** Whether the cursor is already at the target of the first {@link seek}. */
  private positioned = false
  private readonly matcher = new UserMatcher()
  /** Whether the matcher is configured since {@link open}; `rulesFollow`: it follows the row. */
  private hasRules = false
  private rulesFollow = false
  private readonly sources = new JoinedSources()
  private cursor: Cursor = this.sources.release()
  private query!: StoreQuery
  private options!: RetentionOptions
  private moment!: Moment
  private move: Move = Move.none
  private steps = 0
  private readonly seekKey = new SeekKey()
  private rowStarted = false
  private cellsInRow = 0
  /** Whether all versions of a column must be seen, even those that a filter would skip. */
  private inWriteOrder = false
  private readPoint = 0
  /**
   * Whether the fast path applies to plain puts; the matcher then decides on the other cells only.
   */
  private plain = false
  private mayStep = true
  /** Resolves values that are stored in value files. */
  private readonly values: ValueSource | undefined
  private mayBlock = true
  /** Whether the sources hold delete markers; `hasFamilyMarkers`: those of the family. */
  private hasMarkers = true
  private hasFamilyMarkers = true
  /**
   * The decision on a cell that waits, because the collector was full or the value was missing; 0:
   * no cell waits.
   */
  private waitingCode: MatchCode | 0 = 0
  /** Whether the last seek was backwards. */
  private backward = false
  /** Whether the cursors were replaced: the next use seeks the entry in {@link position} again. */
  private displaced = false
  private readonly position = new SeekKey()
  private readonly emptyColumn = new EmptyColumn()

  /** Makes a scanner of one store. */
  constructor(familyIndex: number, family: string, values: ValueSource | undefined) {
    this.cell.familyIndex = familyIndex
    this.cell.family = family
    this.values = values
  }

  /**
   * Takes over the cursors of a read until the read ends; {@link seek} has to follow. Versions are
   * skipped only where no marker can be among them; markers written later are above the read point.
   */
  open(read: StoreRead): void {
    this.begin(read)
    this.cursor = this.sources.join(read.chosen, read.deferring)
  }

  private begin(read: StoreRead): void {
    const { query, settings, readPoint, moment, mayBlock, isNewest, deletes, familyDeletes } = read
    this.query = query
    this.options = settings
    this.plain = isNewest
    this.inWriteOrder = settings.newVersionBehavior
    this.readPoint = readPoint
    this.moment = moment
    this.mayBlock = mayBlock
    this.hasRules = false
    this.rulesFollow = false
    // A read without a read point also sees markers that are written during the read.
    const seesLater = readPoint === Number.MAX_SAFE_INTEGER
    this.hasMarkers = deletes > 0 || seesLater
    this.hasFamilyMarkers = familyDeletes > 0 || seesLater
    this.ended = false
    this.singleRow = false
    this.positioned = false
    this.backward = false
    this.move = Move.none
    this.rowStarted = false
    this.waitingCode = 0
    this.displaced = false
    // A step would make deferred cursors seek for an unwanted version.
    this.mayStep = read.deferring.length === 0
  }

  /**
   * As {@link open}, with the cursors at the row of the read: {@link readRow} may follow directly,
   * and cells after the row are not read. May throw `BlockMissing`; then the row has to be opened
   * again.
   */
  openRow(read: StoreRowRead): void {
    this.begin(read)
    this.cursor = this.sources.joinWithin(read)
    this.positioned = true
  }

  /**
   * Reads a row from its start; false if the collector is full. The fast path reads up to the first
   * cell that is no plain put. May throw `BlockMissing`; then the row has to be read again.
   */
  readFromStart(read: StoreRowRead, collector: RowTarget): boolean {
    const { row, rowLength, readPoint, query } = read
    const { familyIndex } = this.cell
    let isRun = false
    if (read.isNewest && (read.isColumn || query.columns === undefined)) {
      const cursor = this.sources.joinWithin(read)
      if (read.isColumn) {
        if (!cursor.valid || rowRun.readFirst(cursor, familyIndex, readPoint, collector))
          return true
      } else {
        rowRun.jumpsEmptyColumn = read.familyDeletes === 0
        rowRun.enterRow(row, 0, rowLength, 0)
        rowRun.readRow(cursor, familyIndex, readPoint, collector)
        if (!rowRun.openRow || collector.full) return !collector.full
        isRun = true
      }
    }
    this.begin(read)
    this.cursor = this.sources.joinWithin(read)
    this.singleRow = true
    if (isRun) {
      this.startRow()
      this.handOver(rowRun)
    }
    return this.readRow(row, rowLength, collector)
  }

  /**
   * Continues with new cursors at the current entry. The new cursors hold every entry visible at
   * the scanner's read point, and the memory of the old ones may be released. REQUIRES that no call
   * is in progress; a call that threw `BlockMissing` may be repeated afterwards.
   */
  replaceCursors(cursors: readonly Cursor[]): void {
    const { cursor, move } = this
    assert(!this.singleRow, 'only a scan changes its cursors')
    // A step that threw has left the cursor in place, and a planned seek does not need the
    // position.
    if (!this.displaced && cursor.valid) {
      this.position.setEntry(cursor)
      this.displaced = true
    }
    if (move !== Move.none && move !== Move.next) this.displaced = true
    this.matcher.detach()
    rowRun.forget()
    this.cell.buffer = emptyBytes
    this.sources.release()
    this.cursor = this.sources.join(cursors, [])
  }

  /** Seeks the entry at which the replaced cursors were positioned; may throw `BlockMissing`. */
  private findPosition(): void {
    const { cursor, move } = this
    const { buffer, length } = this.position
    if (move !== Move.none && move !== Move.next) {
      cursor.seek(this.seekKey.buffer, this.seekKey.length)
      this.move = Move.none
    } else if (this.backward) {
      cursor.seekBefore(buffer, length + 1)
    } else {
      cursor.seek(buffer, length)
      // An entry invisible to this read may be missing; then the cursor is already past it.
      const isThere = cursor.valid && this.position.compare(cursor) === 0
      if (move === Move.next && !isThere) this.move = Move.none
    }
    this.displaced = false
    if (cursor.valid) this.cell.set(cursor)
  }

  /** Drops cursors and query, so that a pooled scanner pins no memory. */
  release(): void {
    this.cursor = this.sources.release()
    this.displaced = false
    rowRun.forget()
  }

  /** Whether a cell is under the cursor. */
  get atCell(): boolean {
    if (this.displaced) this.findPosition()
    return this.cursor.valid
  }

  /** Seeks the first cell at or after an encoded key prefix. */
  seek(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.displaced = false
    this.backward = false
    if (!this.positioned) this.cursor.seek(key, length)
    this.positioned = false
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /** Seeks the last cell before an encoded key prefix; a `seek` must follow before reading. */
  seekBefore(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.displaced = false
    this.backward = true
    this.cursor.seekBefore(key, length)
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /** Whether the cell under the cursor is in the row `row[0, rowLength)` (escaped). */
  inRow(row: Buffer, rowLength: number): boolean {
    const cell = this.cell
    return (
      this.cursor.valid && equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, row, 0, rowLength)
    )
  }

  /** Compares the row under the cursor with that of another scanner. REQUIRES `atCell` of both. */
  compareRow(other: StoreScanner): number {
    assert(this.cursor.valid && other.cursor.valid, 'scanners at cells are compared')
    const a = this.cell
    const b = other.cell
    return compareBytes(a.buffer, a.keyStart, a.rowEnd, b.buffer, b.keyStart, b.rowEnd)
  }

  /**
   * Continues in the row `row[0, rowLength)`. Returns true at the end of the row, with the cursor
   * past it; false if the collector is full, and the call has to be repeated.
   */
  readRow(row: Buffer, rowLength: number, collector: RowTarget): boolean {
    if (this.displaced) this.findPosition()
    const { cell, cursor } = this
    if (!this.rowStarted) this.startRow()
    for (;;) {
      if (this.move !== Move.none) this.finishMove()
      if (this.plain && this.readPlain(row, rowLength, collector)) break
      if (!cursor.valid) break
      if (!this.rulesFollow) this.startRules()
      cell.set(cursor)
      if (!equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, row, 0, rowLength)) break
      if (this.emptyColumn.isLeft && this.emptyColumn.takeHint(cell, this.seekKey)) {
        this.planSeek(Move.column)
        continue
      }
      if (this.query.filter !== undefined && cell.isReference) this.resolveForFilter()
      // A match changes the matcher's state, so the decision on a cell that did not fit is kept.
      const code = this.waitingCode === 0 ? this.matcher.match(cell) : this.waitingCode
      if (code <= MatchCode.includeAndSeekNextRow) {
        const collects = this.collectsNext
        if (collects && collector.full) {
          this.waitingCode = code
          return false
        }
        if (collects && cell.isReference && this.query.filter?.replacesValues !== true) {
          this.waitingCode = code
          this.resolve()
        }
        this.waitingCode = 0
        this.cellsInRow++
        if (collects) collector.add(cell, this.query.filter)
        if (this.hasAllCells) {
          if (this.singleRow) break
          this.planRowMove(row, rowLength)
          continue
        }
      }
      if (this.singleRow && endsRow(code)) break
      this.planMove(code, row, rowLength)
      if (this.ended) break
    }
    this.rowStarted = false
    return true
  }

  private startRow(): void {
    this.rowStarted = true
    this.cellsInRow = 0
    this.rulesFollow = false
    this.emptyColumn.isLeft = false
  }

  /** Lets the matcher follow the current row from here on. */
  private startRules(): void {
    const { matcher } = this
    if (!this.hasRules) matcher.configure(this.query, this.options, this.readPoint, this.moment)
    this.hasRules = true
    this.rulesFollow = true
    matcher.startRow()
  }

  /**
   * Reads the row while its cells are plain puts; true if the row has ended. At any other cell the
   * matcher is given the column collected last.
   */
  private readPlain(row: Buffer, rowLength: number, collector: RowTarget): boolean {
    const { cursor, query } = this
    if (!cursor.valid) return false
    if (this.rulesFollow && (this.waitingCode !== 0 || !this.matcher.unmasked)) return false
    rowRun.jumpsEmptyColumn = !this.hasFamilyMarkers
    if (query.columns !== undefined) {
      return this.readColumns(query.columns, row, rowLength, collector)
    }
    if (!this.enterRow(row, rowLength)) return false
    try {
      rowRun.readRow(cursor, this.cell.familyIndex, this.readPoint, collector)
    } catch (error) {
      this.planAgain(rowRun)
      throw error
    } finally {
      if (rowRun.openRow) this.handOver(rowRun)
    }
    if (rowRun.openRow) return false
    if (!this.singleRow && cursor.valid) this.cell.set(cursor)
    return true
  }

  /** Passes the collected part of the row to the fast path; false if the matcher lacks the key. */
  private enterRow(row: Buffer, rowLength: number): boolean {
    const { columnBuffer, columnStart, columnEnd } = this.matcher.columns
    if (!this.rulesFollow || columnBuffer === undefined) {
      rowRun.enterRow(row, 0, rowLength, 0)
      return true
    }
    const rowEnd = columnStart - terminatorBytes
    // The matcher was detached: it has the qualifier only, without the key around it.
    if (rowEnd < rowLength) return false
    rowRun.enterRow(columnBuffer, rowEnd - rowLength, rowEnd, columnEnd)
    return true
  }

  /** As {@link readPlain}, for requested columns. */
  private readColumns(
    named: readonly Buffer[],
    row: Buffer,
    rowLength: number,
    collector: RowTarget,
  ): boolean {
    const { cursor, cell, readPoint } = this
    const begun = this.rulesFollow ? this.matcher.columns.position : 0
    if (begun === named.length) return false
    rowRun.enterRow(row, 0, rowLength, 0)
    rowRun.mayStep = this.mayStep
    rowRun.columnIndex = begun
    try {
      rowRun.readColumns(cursor, cell.familyIndex, readPoint, named, collector)
    } catch (error) {
      this.planAgain(rowRun)
      throw error
    } finally {
      if (rowRun.openRow) {
        if (!this.rulesFollow) this.startRules()
        this.matcher.columns.moveTo(rowRun.columnIndex)
      }
    }
    if (rowRun.openRow) return false
    if (this.singleRow) return true
    if (rowRun.columnIndex === named.length) {
      this.planRowMove(row, rowLength)
      this.finishMove()
    }
    if (cursor.valid) cell.set(cursor)
    return true
  }

  /** Passes the last column collected by the fast path to the matcher. */
  private handOver({ buffer, rowEnd, qualifierEnd }: RowRun): void {
    if (!this.rulesFollow) this.startRules()
    if (qualifierEnd === 0) return
    this.matcher.columns.countFirst(buffer, rowEnd + terminatorBytes, qualifierEnd)
  }

  /** Plans the move in which the fast path threw. */
  private planAgain({ isSeeking, seekKey }: RowRun): void {
    this.move = Move.next
    if (!isSeeking) return
    this.seekKey.copyFrom(seekKey)
    this.steps = stepsBeforeSeek
    this.move = Move.column
  }

  /** Whether {@link readRun} may be used: the fast path applies, and all columns are requested. */
  get mayRun(): boolean {
    return this.plain && this.query.columns === undefined
  }

  /**
   * Reads rows ahead from the cell under the cursor, until the collector wants no more rows, a row
   * is out of bounds, or a cell is no plain put. `run.rows` is the number of rows started. If the
   * last row is not complete ({@link RowRun.openRow}), the next `readRow` must be of that row, even
   * if this call throws. REQUIRES `mayRun`, and no row in progress.
   */
  readRun(run: RowRun, bounds: RowBounds, collector: RowTarget): void {
    const { cursor } = this
    assert(this.mayRun && !this.rowStarted, 'rows are read ahead between rows of a plain read')
    run.jumpsEmptyColumn = !this.hasFamilyMarkers
    try {
      run.readRows(cursor, this.cell.familyIndex, this.readPoint, bounds, collector)
    } catch (error) {
      this.planAgain(run)
      throw error
    } finally {
      if (run.openRow) {
        this.startRow()
        this.handOver(run)
      } else if (cursor.valid) this.cell.set(cursor)
    }
  }

  /**
   * As {@link readRun}, backwards from the last cell of a row. REQUIRES a {@link BackwardCursor}. A
   * row that is not complete has to be read from its start.
   */
  readRunBack(run: RowRun, bounds: RowBounds, collector: RowTarget): void {
    const { cursor, cell, readPoint } = this
    assert(this.backward && !this.rowStarted, 'rows are read backwards between rows')
    run.readBack(cursor as BackwardCursor, cell.familyIndex, readPoint, bounds, collector)
    if (cursor.valid) cell.set(cursor)
  }

  /** Moves past the row without reading it. */
  skipRow(row: Buffer, rowLength: number): void {
    if (this.displaced) this.findPosition()
    if (this.move === Move.none && this.inRow(row, rowLength)) this.planRowMove(row, rowLength)
    this.finishMove()
    if (this.cursor.valid) this.cell.set(this.cursor)
    this.rowStarted = false
  }

  /** Loads the cell's value from its value file; may throw `BlockMissing`. */
  private resolve(): void {
    const { values, cell } = this
    assert(values !== undefined, 'a scanner of tables can follow references')
    values.resolve(cell, this.mayBlock)
  }

  /** As {@link resolve}, unless the filter does not read the value. */
  private resolveForFilter(): void {
    if (this.query.filter?.readsValue?.(this.cell) ?? true) this.resolve()
  }

  /** Whether per-family offset and limit admit the next included cell. */
  private get collectsNext(): boolean {
    return this.cellsInRow >= this.query.cellsPerRowOffset && this.query.cellsPerRowMax !== 0
  }

  /** Whether the limit is reached, so that the rest of the row needs neither matcher nor filter. */
  private get hasAllCells(): boolean {
    const { cellsPerRowOffset, cellsPerRowMax } = this.query
    return cellsPerRowMax >= 0 && this.cellsInRow >= cellsPerRowOffset + cellsPerRowMax
  }

  private planMove(code: MatchCode, row: Buffer, rowLength: number): void {
    switch (code) {
      case MatchCode.include:
        this.move = Move.next
        return
      case MatchCode.skip:
        if (!this.planTimeMove()) this.move = Move.next
        return
      case MatchCode.includeAndSeekNextColumn:
      case MatchCode.seekNextColumn:
        this.planColumnMove()
        return
      case MatchCode.includeAndSeekNextRow:
      case MatchCode.seekNextRow:
        this.planRowMove(row, rowLength)
        return
      case MatchCode.seekUsingHint:
        this.planHintMove()
        return
      case MatchCode.endScan:
        this.ended = true
        return
    }
  }

  /**
   * Markers of the family carry the empty qualifier and are sorted by timestamp among the cells of
   * the empty column. So that column is not skipped if there are any.
   */
  private planColumnMove(): void {
    const cell = this.cell
    if (cell.qualifierStart === cell.qualifierEnd && this.hasFamilyMarkers) {
      this.move = Move.next
      return
    }
    this.planSeek(Move.column)
    const { buffer, keyStart, qualifierStart, qualifierEnd } = cell
    const next = this.matcher.nextColumn(cell)
    if (next === undefined) this.seekKey.setBehindColumn(buffer, keyStart, qualifierEnd)
    else this.seekKey.setColumn(buffer, keyStart, qualifierStart, next)
  }

  /**
   * Skips the versions of the cell's column that are newer than the time range. Returns false if
   * the cell is not newer, or if there may be markers or counted versions among them.
   */
  private planTimeMove(): boolean {
    const { cell, query } = this
    const { maxHigh, maxLow } = query.timeRange
    if (this.hasMarkers || this.inWriteOrder || query.raw || maxHigh + maxLow === 0) return false
    if (compareTimestamps(cell.timestampHigh, cell.timestampLow, maxHigh, maxLow) < 0) return false
    this.planSeek(Move.column)
    this.seekKey.setOlderThan(cell, maxHigh, maxLow)
    return true
  }

  private planRowMove(row: Buffer, rowLength: number): void {
    this.planSeek(Move.row)
    this.seekKey.setBehindRow(row, rowLength)
  }

  private planHintMove(): void {
    const hint = checkedHint(this.query.filter?.nextCellHint?.(this.cell))
    this.move = Move.next
    if (hint === undefined) return
    const { cell, seekKey } = this
    seekKey.setHint(hint, !this.inWriteOrder)
    // A hint that does not lead forward would stop the scan from making progress.
    if (seekKey.compare(cell) >= 0) return
    const inRow = seekKey.isInRowOf(cell)
    if (inRow && cell.qualifierStart === cell.qualifierEnd && this.hasFamilyMarkers) {
      // As in planColumnMove: the matcher has to see the markers among these cells.
      if (hint.qualifier?.length === 0) return
      this.matcher.leaveEmptyColumn(cell)
      this.emptyColumn.leaveTo(seekKey)
      return
    }
    // A column of the same row is often near, another row seldom.
    this.planSeek(inRow ? Move.column : Move.hint)
  }

  private planSeek(move: Move): void {
    this.move = move
    this.steps = 0
  }

  /**
   * Carries out the planned move without decoding the cell. May throw `BlockMissing`; the plan is
   * kept.
   */
  private finishMove(): void {
    if (this.move === Move.none) return
    if (this.move === Move.next) {
      this.cursor.next()
    } else if (this.move === Move.hint || !this.mayStep || !this.stepForward()) {
      this.cursor.seek(this.seekKey.buffer, this.seekKey.length)
    }
    this.move = Move.none
  }

  /** Steps towards the seek key; true once the cursor is at or past the key. */
  private stepForward(): boolean {
    const cursor = this.cursor
    while (this.steps < stepsBeforeSeek) {
      cursor.next()
      this.steps++
      if (!cursor.valid) return true
      if (this.seekKey.compare(cursor) >= 0) return true
    }
    return false
  }
}
