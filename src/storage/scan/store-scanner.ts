/**
 * Reads one store (one family of one table): moves a merge of memtables and SSTables row by row and
 * hands the cells that the matcher includes to a collector.
 *
 * Resumability: every call may throw `BlockMissing`. All progress is in fields and the
 * only calls that can throw are the moves at the top of the loops, so the same call can simply be
 * made again once the block is there.
 *
 * Ownership: the scanner is reusable; between `open` and the last use its cursors hold references
 * to memtables and table readers, which the caller keeps alive.
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

/** Steps taken forward before a seek is tried: a seek costs about as much as a few steps. */
const stepsBeforeSeek = 4

/** Of single rows, which are read in one go. */
const rowRun = new RowRun()

export class StoreScanner {
  /** The cell under the cursor, decoded; meaningful while `atCell`. */
  readonly cell = new CellView()
  /** The filter has ended the whole scan. */
  ended = false
  /** Only one row is read: no need to move after it. */
  private singleRow = false
  /** The cursor was moved to where the first {@link seek} leads. */
  private positioned = false
  private readonly matcher = new UserMatcher()
  /** The matcher was configured since {@link open}, and follows the current row. */
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
  /** Every version of a column has to be seen, also those that a filter would jump over. */
  private inWriteOrder = false
  private readPoint = 0
  /** Plain puts are included as they come: the matcher is asked only where others come. */
  private plain = false
  private mayStep = true
  /** Where values are found that lie apart. */
  private readonly values: ValueSource | undefined
  private mayBlock = true
  /** Whether the sources hold delete markers, and whether such of the family are among them. */
  private hasMarkers = true
  private hasFamilyMarkers = true
  /**
   * What the matcher said of the cell at which the collector was full or whose value was missing; 0
   * = nothing waits.
   */
  private waitingCode: MatchCode | 0 = 0
  /** The last seek was backwards. */
  private backward = false
  /** The cursors were replaced: the next use goes back to the entry in {@link position}. */
  private displaced = false
  private readonly position = new SeekKey()
  private readonly emptyColumn = new EmptyColumn()

  /** A scanner of one store. */
  constructor(familyIndex: number, family: string, values: ValueSource | undefined) {
    this.cell.familyIndex = familyIndex
    this.cell.family = family
    this.values = values
  }

  /**
   * Takes over the cursors of a read, until it ends; {@link seek} comes next. Older versions are
   * jumped over only where no marker can lie among them; markers that are written later lie above
   * the read point.
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
    // A read without a read point also sees markers that are written while it is under way.
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
    // A step would let deferred cursors seek for an unwanted version.
    this.mayStep = read.deferring.length === 0
  }

  /**
   * As {@link open}, at the row of a read: {@link readRow} may come next, and the first seek is
   * done already. Nothing after the row is read. May throw `BlockMissing`; then the row has to be
   * opened again.
   */
  openRow(read: StoreRowRead): void {
    this.begin(read)
    this.cursor = this.sources.joinWithin(read)
    this.positioned = true
  }

  /**
   * Reads a row from its start; false if the collector is full. Plain puts are collected first; the
   * rules begin where another cell comes. May throw `BlockMissing`; then the row has to be read
   * again.
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
   * Continues over new cursors at the entry that the scanner stands at. They hold every
   * entry that a read at the scanner's read point can see, and the memory of the old ones may go.
   * REQUIRES that no call is under way, though one may have to be repeated for a missing block.
   */
  replaceCursors(cursors: readonly Cursor[]): void {
    const { cursor, move } = this
    assert(!this.singleRow, 'only a scan changes its cursors')
    // A call that broke off within a step has left the cursor where it was; a plan needs no place.
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

  /** Seeks the entry again that the replaced cursors stood at; may throw `BlockMissing`. */
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
      // An entry that this read does not see may be gone: then the cursor is past it already.
      const isThere = cursor.valid && this.position.compare(cursor) === 0
      if (move === Move.next && !isThere) this.move = Move.none
    }
    this.displaced = false
    if (cursor.valid) this.cell.set(cursor)
  }

  /** Lets go of cursors and query, so that a pooled scanner keeps nothing alive. */
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

  /** Moves to the first cell at or after an encoded key prefix. */
  seek(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.displaced = false
    this.backward = false
    if (!this.positioned) this.cursor.seek(key, length)
    this.positioned = false
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /** Moves to the last cell before an encoded key prefix; a `seek` must follow before reading. */
  seekBefore(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.displaced = false
    this.backward = true
    this.cursor.seekBefore(key, length)
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /** Whether the cell under the cursor lies in the row `row[0, rowLength)` (escaped). */
  inRow(row: Buffer, rowLength: number): boolean {
    const cell = this.cell
    return (
      this.cursor.valid && equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, row, 0, rowLength)
    )
  }

  /** Compares the row under the cursor with another scanner's. REQUIRES `atCell` of both. */
  compareRow(other: StoreScanner): number {
    assert(this.cursor.valid && other.cursor.valid, 'scanners at cells are compared')
    const a = this.cell
    const b = other.cell
    return compareBytes(a.buffer, a.keyStart, a.rowEnd, b.buffer, b.keyStart, b.rowEnd)
  }

  /**
   * Reads on in the row `row[0, rowLength)` until it ends (true; the cursor is then after the row)
   * or the collector is full (false; call again to go on).
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
      // A match changes the matcher's state, so a cell that did not fit keeps its answer.
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

  /** From here on the matcher follows the current row, which is new to it. */
  private startRules(): void {
    const { matcher } = this
    if (!this.hasRules) matcher.configure(this.query, this.options, this.readPoint, this.moment)
    this.hasRules = true
    this.rulesFollow = true
    matcher.startRow()
  }

  /**
   * Reads on in the row as long as plain puts come; true if it has ended. Where something else
   * comes, the matcher knows the column that was collected last.
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

  /** Passes the collected part of the row to the run; false if that is not known well enough. */
  private enterRow(row: Buffer, rowLength: number): boolean {
    const { columnBuffer, columnStart, columnEnd } = this.matcher.columns
    if (!this.rulesFollow || columnBuffer === undefined) {
      rowRun.enterRow(row, 0, rowLength, 0)
      return true
    }
    const rowEnd = columnStart - terminatorBytes
    // The matcher was detached: it has only the qualifier, without the key around it.
    if (rowEnd < rowLength) return false
    rowRun.enterRow(columnBuffer, rowEnd - rowLength, rowEnd, columnEnd)
    return true
  }

  /** As {@link readPlain}, of columns that are named. */
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

  /** Passes the cells of the row that a run has collected to the matcher. */
  private handOver({ buffer, rowEnd, qualifierEnd }: RowRun): void {
    if (!this.rulesFollow) this.startRules()
    if (qualifierEnd === 0) return
    this.matcher.columns.countFirst(buffer, rowEnd + terminatorBytes, qualifierEnd)
  }

  /** Plans the move in which a run has thrown. */
  private planAgain({ isSeeking, seekKey }: RowRun): void {
    this.move = Move.next
    if (!isSeeking) return
    this.seekKey.copyFrom(seekKey)
    this.steps = stepsBeforeSeek
    this.move = Move.column
  }

  /** Whether {@link readRun} may be used: the read needs rules for few cells only. */
  get mayRun(): boolean {
    return this.plain && this.query.columns === undefined
  }

  /**
   * Reads rows ahead from the cell under the cursor, until the collector wants no more or something
   * comes that has to be judged or lies after `stop`. Returns how many rows were begun. If the
   * last of them is not complete ({@link RowRun.openRow}), the next `readRow` has to be of that
   * row; so also if this throws. REQUIRES `mayRun`, and no row that is being read.
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
   * As {@link readRun}, backwards from the last cell of a row, with a cursor that can do that. A
   * row that is not complete has to be read from its start.
   */
  readRunBack(run: RowRun, bounds: RowBounds, collector: RowTarget): void {
    const { cursor, cell, readPoint } = this
    assert(this.backward && !this.rowStarted, 'rows are read backwards between rows')
    run.readBack(cursor as BackwardCursor, cell.familyIndex, readPoint, bounds, collector)
    if (cursor.valid) cell.set(cursor)
  }

  /** Moves after the row without reading it. */
  skipRow(row: Buffer, rowLength: number): void {
    if (this.displaced) this.findPosition()
    if (this.move === Move.none && this.inRow(row, rowLength)) this.planRowMove(row, rowLength)
    this.finishMove()
    if (this.cursor.valid) this.cell.set(this.cursor)
    this.rowStarted = false
  }

  /** Brings the cell's value here, from its value file; may throw `BlockMissing`. */
  private resolve(): void {
    const { values, cell } = this
    assert(values !== undefined, 'a scanner of tables can follow references')
    values.resolve(cell, this.mayBlock)
  }

  /** As {@link resolve}, unless the filter does not look at the value. */
  private resolveForFilter(): void {
    if (this.query.filter?.readsValue?.(this.cell) ?? true) this.resolve()
  }

  /** Whether per-family offset and limit let the next included cell into the result. */
  private get collectsNext(): boolean {
    return this.cellsInRow >= this.query.cellsPerRowOffset && this.query.cellsPerRowMax !== 0
  }

  /** The limit is reached: neither matcher nor filter is asked about another cell of the row. */
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
   * Markers of the family carry the empty qualifier and are mixed by timestamp with real cells of
   * that qualifier, so where there are any the empty column is not jumped over.
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
   * Jumps over versions of the cell's column that are newer than the time range; false if the cell
   * is not, or if markers or versions that count may lie among them.
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
    // A hint that does not lead forward must not hold the scan in place.
    if (seekKey.compare(cell) >= 0) return
    const inRow = seekKey.isInRowOf(cell)
    if (inRow && cell.qualifierStart === cell.qualifierEnd && this.hasFamilyMarkers) {
      // As with planColumnMove: the matcher still has to see the markers among these cells.
      if (hint.qualifier?.length === 0) return
      this.matcher.leaveEmptyColumn(cell)
      this.emptyColumn.leaveTo(seekKey)
      return
    }
    // A column of the row is often near, another row seldom.
    this.planSeek(inRow ? Move.column : Move.hint)
  }

  /** Plans a move to the seek key. */
  private planSeek(move: Move): void {
    this.move = move
    this.steps = 0
  }

  /**
   * Carries out the planned move without decoding the cell there; may throw `BlockMissing`, then
   * the plan stands.
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

  /** Steps towards the seek key; true once the cursor is at or after it. */
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
