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
import { assert } from '../base/assert.js'
import { compareBytes, copyBytes, emptyBytes, equalBytes } from '../base/bytes.js'
import type { Moment } from '../base/clock.js'
import { checksInvariants } from '../base/invariants.js'
import {
  terminatorBytes,
  writeBehind,
  writeEscaped,
  writeTerminator,
  writeTimestamp,
} from '../cell/cell-key.js'
import { CellView } from '../cell/cell-view.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { CheckedCursor } from '../cursor/checked-cursor.js'
import type { BackwardCursor, Cursor } from '../cursor/cursor.js'
import type { DeferredCursor } from '../cursor/deferred-cursor.js'
import { MergeCursor } from '../cursor/merge-cursor.js'
import type { RowTarget } from './cell-collector.js'
import { MatchCode, type RetentionOptions, type StoreQuery } from './query.js'
import { RowRun } from './row-run.js'
import type { RowBounds } from './row-scanner.js'
import { UserMatcher } from './user-matcher.js'
import type { ValueSource } from './value-source.js'

/** Steps taken forward before a seek is tried: a seek costs about as much as a few steps. */
const stepsBeforeSeek = 4

/** Bytes of a timestamp in a key. */
const timestampBytes = 8

/** Of single rows, which are read in one go. */
const rowRun = new RowRun()

const Move = { none: 0, next: 1, column: 2, row: 3, hint: 4 } as const
type Move = (typeof Move)[keyof typeof Move]

export class StoreScanner {
  /** The cell under the cursor, decoded; meaningful while `atCell`. */
  readonly cell = new CellView()
  /** The filter has ended the whole scan. */
  ended = false
  /** Only one row is read: no need to move behind it. */
  private singleRow = false
  private readonly matcher = new UserMatcher()
  private readonly merge = new MergeCursor()
  private cursor: Cursor = this.merge
  private query!: StoreQuery
  private move: Move = Move.none
  private steps = 0
  private seekKey: Buffer = Buffer.allocUnsafe(256)
  private seekLength = 0
  private rowStarted = false
  private cellsInRow = 0
  /** Every version of a column has to be seen, also those that a filter would jump over. */
  private inWriteOrder = false
  private readPoint = 0
  /** Nothing is limited and the matcher takes plain puts as they come. */
  private plain = false
  private mayStep = true
  private values: ValueSource | undefined = undefined
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
  private position: Buffer = emptyBytes
  private positionLength = 0

  /**
   * Takes over cursors (newest source first) and a query. Position undefined until a seek.
   * `deferring` as in `MergeCursor.setChildren`.
   */
  open(
    familyIndex: number,
    family: string,
    cursors: readonly Cursor[],
    query: StoreQuery,
    options: RetentionOptions,
    readPoint: number,
    moment: Moment,
    deferring?: readonly (DeferredCursor | undefined)[],
  ): void {
    this.cell.familyIndex = familyIndex
    this.cell.family = family
    this.query = query
    this.matcher.configure(query, options, readPoint, moment)
    this.inWriteOrder = options.newVersionBehavior
    this.readPoint = readPoint
    // A read without a read point also sees markers that are written while it is under way.
    if (readPoint === Number.MAX_SAFE_INTEGER) this.expectMarkers(1, 1)
    this.plain = this.matcher.plain && query.cellsPerRowMax < 0 && query.cellsPerRowOffset === 0
    this.ended = false
    this.singleRow = false
    this.backward = false
    this.move = Move.none
    this.rowStarted = false
    this.waitingCode = 0
    this.displaced = false
    // A step would let deferred cursors seek, and for a version that nobody wants.
    this.mayStep = deferring === undefined || deferring.length === 0
    this.take(cursors, deferring)
  }

  private take(
    cursors: readonly Cursor[],
    deferring?: readonly (DeferredCursor | undefined)[],
  ): void {
    if (cursors.length === 1) {
      this.cursor = cursors[0]
    } else {
      this.merge.setChildren(cursors, deferring)
      this.cursor = checksInvariants ? new CheckedCursor(this.merge, false) : this.merge
    }
  }

  /**
   * Goes on over other cursors, new ones, at the entry that the scanner stands at. They hold every
   * entry that a read at the scanner's read point can see, and the memory of the old ones may go.
   * REQUIRES that no call is under way, though one may have to be repeated for a missing block.
   */
  replaceCursors(cursors: readonly Cursor[]): void {
    const { cursor, move } = this
    assert(!this.singleRow, 'only a scan changes its cursors')
    // A call that broke off within a step has left the cursor where it was; a plan needs no place.
    if (!this.displaced && cursor.valid) this.keepPosition(cursor)
    if (move !== Move.none && move !== Move.next) this.displaced = true
    this.matcher.detach()
    rowRun.forget()
    this.cell.buffer = emptyBytes
    this.merge.setChildren([])
    this.take(cursors)
  }

  private keepPosition({ buffer, keyStart, keyEnd }: Cursor): void {
    const length = keyEnd - keyStart
    // One byte more, behind the key: what `seekBefore` needs to find the key itself.
    if (this.position.length <= length) this.position = Buffer.alloc(2 * length + 1)
    copyBytes(buffer, keyStart, keyEnd, this.position, 0)
    this.position[length] = 0
    this.positionLength = length
    this.displaced = true
  }

  /** Seeks the entry again that the replaced cursors stood at; may throw `BlockMissing`. */
  private findPosition(): void {
    const { cursor, position, positionLength: length, move } = this
    if (move !== Move.none && move !== Move.next) {
      cursor.seek(this.seekKey, this.seekLength)
      this.move = Move.none
    } else if (this.backward) {
      cursor.seekBefore(position, length + 1)
    } else {
      cursor.seek(position, length)
      // An entry that this read does not see may be gone: then the cursor is behind it already.
      if (move === Move.next && !this.isAtPosition()) this.move = Move.none
    }
    this.displaced = false
    if (cursor.valid) this.cell.set(cursor)
  }

  private isAtPosition(): boolean {
    const { valid, buffer, keyStart, keyEnd } = this.cursor
    return valid && equalBytes(buffer, keyStart, keyEnd, this.position, 0, this.positionLength)
  }

  /** Where the next reads find values that lie apart, and whether they may read the disk. */
  follow(values: ValueSource | undefined, mayBlock: boolean): void {
    this.values = values
    this.mayBlock = mayBlock
  }

  /**
   * Tells how many delete markers the sources of the next `open` hold at most, and how many of them
   * are markers of the family. Older versions are jumped over only where no marker can lie among
   * them; markers that are written later lie above the read point.
   */
  expectMarkers(deletes: number, familyDeletes: number): void {
    this.hasMarkers = deletes > 0
    this.hasFamilyMarkers = familyDeletes > 0
  }

  /** Lets go of cursors and query, so that a pooled scanner keeps nothing alive. */
  release(): void {
    this.merge.setChildren([])
    this.cursor = this.merge
    this.displaced = false
    rowRun.forget()
  }

  /** Whether a cell is under the cursor. */
  get atCell(): boolean {
    if (this.displaced) this.findPosition()
    return this.cursor.valid
  }

  /** Moves to the first cell at or behind an encoded key prefix. */
  seek(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.displaced = false
    this.backward = false
    this.cursor.seek(key, length)
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /**
   * Moves to the first cell of a row whose key starts with `key[0, length)`, for a scanner of which
   * nothing behind those cells is read.
   */
  seekRow(key: Buffer, length: number): void {
    this.move = Move.none
    this.rowStarted = false
    this.singleRow = true
    const { cursor, merge } = this
    if (cursor === merge) merge.seekWithin(key, length)
    else if (cursor instanceof CheckedCursor && cursor.inner === merge) {
      merge.seekWithin(key, length)
      cursor.adopt()
    } else cursor.seek(key, length)
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
   * Reads on in the row `row[0, rowLength)` until it ends (true; the cursor is then behind the row)
   * or the collector is full (false; call again to go on).
   */
  readRow(row: Buffer, rowLength: number, collector: RowTarget): boolean {
    if (this.displaced) this.findPosition()
    const { cell, cursor } = this
    if (!this.rowStarted) {
      this.rowStarted = true
      this.cellsInRow = 0
      this.matcher.startRow()
    }
    for (;;) {
      if (this.move !== Move.none) this.finishMove()
      if (this.plain && this.readPlain(row, rowLength, collector)) break
      if (!cursor.valid) break
      cell.set(cursor)
      if (!equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, row, 0, rowLength)) break
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

  /**
   * Reads on in the row as long as plain puts come; true if it has ended. Where something else
   * comes, the matcher knows the column that was collected last.
   */
  private readPlain(row: Buffer, rowLength: number, collector: RowTarget): boolean {
    const { matcher, cursor } = this
    if (this.waitingCode !== 0 || !cursor.valid || !matcher.unmasked) return false
    const { columnBuffer, columnStart, columnEnd } = matcher.columns
    const rowEnd = columnStart - terminatorBytes
    // The matcher was detached: it has only the qualifier, without the key around it.
    if (columnBuffer !== undefined && rowEnd < rowLength) return false
    if (columnBuffer === undefined) rowRun.enterRow(row, 0, rowLength, 0)
    else rowRun.enterRow(columnBuffer, rowEnd - rowLength, rowEnd, columnEnd)
    rowRun.jumpsEmptyColumn = !this.hasFamilyMarkers
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

  /** Tells the matcher what a run has collected of the row. */
  private handOver({ buffer, rowEnd, qualifierEnd }: RowRun): void {
    if (qualifierEnd === 0) return
    this.matcher.columns.countFirst(buffer, rowEnd + terminatorBytes, qualifierEnd)
  }

  /** Plans the move in which a run has thrown. */
  private planAgain({ seekKey, seekLength }: RowRun): void {
    this.move = Move.next
    if (seekLength === 0) return
    this.ensureSeekKey(seekLength)
    copyBytes(seekKey, 0, seekLength, this.seekKey, 0)
    this.seekLength = seekLength
    this.steps = stepsBeforeSeek
    this.move = Move.column
  }

  /** Whether {@link readRun} may be used: what is read needs no rules but for few cells. */
  get mayRun(): boolean {
    return this.plain
  }

  /**
   * Reads rows ahead from the cell under the cursor, until the collector wants no more or something
   * comes that has to be judged or lies behind `stop`. Returns how many rows were begun. If the
   * last of them is not complete ({@link RowRun.openRow}), the next `readRow` has to be of that
   * row; so also if this throws. REQUIRES `mayRun`, and no row that is being read.
   */
  readRun(run: RowRun, bounds: RowBounds, collector: RowTarget): void {
    const { cursor } = this
    assert(this.plain && !this.rowStarted, 'rows are read ahead between rows of a plain read')
    run.jumpsEmptyColumn = !this.hasFamilyMarkers
    try {
      run.readRows(cursor, this.cell.familyIndex, this.readPoint, bounds, collector)
    } catch (error) {
      this.planAgain(run)
      throw error
    } finally {
      if (run.openRow) {
        this.rowStarted = true
        this.cellsInRow = 0
        this.matcher.startRow()
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

  /** Moves behind the row without reading it. */
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
        if (!this.planTimeMove(row, rowLength)) this.move = Move.next
        return
      case MatchCode.includeAndSeekNextColumn:
      case MatchCode.seekNextColumn:
        this.planColumnMove(row, rowLength)
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
  private planColumnMove(row: Buffer, rowLength: number): void {
    const cell = this.cell
    if (cell.qualifierStart === cell.qualifierEnd && this.hasFamilyMarkers) {
      this.move = Move.next
      return
    }
    this.move = Move.column
    this.steps = 0
    const next = this.matcher.nextColumn
    let at = this.startSeekKey(
      row,
      rowLength,
      next?.length ?? cell.qualifierEnd - cell.qualifierStart,
    )
    if (next === undefined) {
      at += cell.buffer.copy(this.seekKey, at, cell.qualifierStart, cell.qualifierEnd)
      this.seekLength = writeBehind(this.seekKey, at)
    } else {
      at += next.copy(this.seekKey, at)
      this.seekLength = writeTerminator(this.seekKey, at)
    }
  }

  /**
   * Jumps over versions of the cell's column that are newer than the time range; false if the cell
   * is not, or if markers or versions that count may lie among them.
   */
  private planTimeMove(row: Buffer, rowLength: number): boolean {
    const { cell, query } = this
    const { maxHigh, maxLow } = query.timeRange
    if (this.hasMarkers || this.inWriteOrder || query.raw || maxHigh + maxLow === 0) return false
    if (compareTimestamps(cell.timestampHigh, cell.timestampLow, maxHigh, maxLow) < 0) return false
    const { buffer, qualifierStart, qualifierEnd } = cell
    this.move = Move.column
    this.steps = 0
    let at = this.startSeekKey(row, rowLength, qualifierEnd - qualifierStart + timestampBytes)
    at += buffer.copy(this.seekKey, at, qualifierStart, qualifierEnd)
    at = writeTerminator(this.seekKey, at)
    const high = maxLow === 0 ? maxHigh - 1 : maxHigh
    this.seekLength = writeTimestamp(this.seekKey, at, high, (maxLow - 1) >>> 0)
    return true
  }

  private planRowMove(row: Buffer, rowLength: number): void {
    this.move = Move.row
    this.steps = 0
    this.ensureSeekKey(rowLength + 2)
    copyBytes(row, 0, rowLength, this.seekKey, 0)
    this.seekLength = writeBehind(this.seekKey, rowLength)
  }

  private planHintMove(): void {
    const hint = this.query.filter?.nextCellHint?.(this.cell)
    if (hint === undefined) {
      this.move = Move.next
      return
    }
    const qualifier = hint.qualifier
    this.ensureSeekKey(2 * (hint.row.length + (qualifier?.length ?? 0)) + 12)
    let at = writeTerminator(this.seekKey, writeEscaped(this.seekKey, 0, hint.row))
    if (qualifier !== undefined) {
      at = writeTerminator(this.seekKey, writeEscaped(this.seekKey, at, qualifier))
      const { timestampHigh, timestampLow } = hint
      if (timestampHigh !== undefined && timestampLow !== undefined && !this.inWriteOrder) {
        at = writeTimestamp(this.seekKey, at, timestampHigh, timestampLow)
      }
    }
    this.seekLength = at
    const cell = this.cell
    const { buffer, keyStart, qualifierStart } = cell
    const rowBytes = qualifierStart - keyStart
    const inRow =
      at >= rowBytes && equalBytes(this.seekKey, 0, rowBytes, buffer, keyStart, qualifierStart)
    // As with planColumnMove: markers of the family lie among the cells of the empty column. And a
    // hint that does not lead forward must not hold the scan in place.
    if (
      (inRow && qualifierStart === cell.qualifierEnd) ||
      compareBytes(this.seekKey, 0, at, buffer, keyStart, cell.keyEnd) <= 0
    ) {
      this.move = Move.next
      return
    }
    // A column of the row is often near, another row seldom.
    this.move = inRow ? Move.column : Move.hint
    this.steps = 0
  }

  private startSeekKey(row: Buffer, rowLength: number, qualifierBytes: number): number {
    this.ensureSeekKey(rowLength + qualifierBytes + 4)
    copyBytes(row, 0, rowLength, this.seekKey, 0)
    return writeTerminator(this.seekKey, rowLength)
  }

  private ensureSeekKey(bytes: number): void {
    if (this.seekKey.length < bytes) this.seekKey = Buffer.allocUnsafe(bytes * 2)
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
      this.cursor.seek(this.seekKey, this.seekLength)
    }
    this.move = Move.none
  }

  /** Steps towards the seek key; true once the cursor is at or behind it. */
  private stepForward(): boolean {
    const cursor = this.cursor
    while (this.steps < stepsBeforeSeek) {
      cursor.next()
      this.steps++
      if (!cursor.valid) return true
      const order = compareBytes(
        cursor.buffer,
        cursor.keyStart,
        cursor.keyEnd,
        this.seekKey,
        0,
        this.seekLength,
      )
      if (order >= 0) return true
    }
    return false
  }
}

/** Whether nothing more of the row is wanted. */
function endsRow(code: MatchCode): boolean {
  return code === MatchCode.includeAndSeekNextRow || code === MatchCode.seekNextRow
}
