/**
 * The position of a read in one store: the row in progress, the column reached in it, and the move
 * to make next. Both loops work on it, the one over plain puts (plain/plain-loop.ts) and the one by
 * the rules (store-scanner.ts), so each continues where the other has stopped, and a call that
 * threw `BlockMissing` can be repeated.
 *
 * Ownership: the row lies in memory of the reader, or in that of the cell reached.
 */
import { assert } from '../../base/assert.js'
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import type { Cursor } from '../cursor/cursor.js'
import type { BackwardRow } from './plain/backward-loop.js'
import { SeekKey } from '../filter/seek-key.js'

/** A planned move: to the next cell, or to a key in the row, after the row or anywhere. */
export const Move = { none: 0, next: 1, column: 2, row: 3, hint: 4 } as const
export type Move = (typeof Move)[keyof typeof Move]

/** Maximum number of rows between two attempts to read one as a whole. */
const untriedMax = 15

/** Number of steps before a seek: a seek costs about as much as a few steps. */
const stepsBeforeSeek = 4

export class ReadPosition {
  /** Whether a row is in progress. */
  inRow = false
  /** Memory of the row, which is `buffer[rowStart, rowEnd)`. */
  buffer: Buffer = emptyBytes
  rowStart = 0
  rowEnd = 0
  /**
   * End of the qualifier of the column reached, which follows the row and a terminator: that of the
   * cell collected or counted last. 0: no column of the row is reached.
   */
  qualifierEnd = 0
  /** Whether the row was read as a whole. */
  private isPassed = false
  /** Index of the first requested column that is not complete. */
  columnIndex = 0
  /** Number of entries passed over in the plain loop since the last cell collected. */
  passed = 0
  /** Number of rows started by the last call of the plain loop. */
  rows = 0
  /** Whether the matcher follows the row; otherwise all its cells so far were plain puts. */
  hasRules = false
  move: Move = Move.none
  /** The key to seek by the planned move; unused by `Move.next`. */
  readonly target = new SeekKey()
  /** The row that is read backwards; made on first use. */
  backward: BackwardRow | undefined = undefined
  private steps = 0
  /** Number of next rows to read without an attempt, and their number after the next miss. */
  private untried = 0
  private untriedNext = 0

  /** Begins a read. */
  begin(): void {
    this.reset()
    this.untried = 0
    this.untriedNext = 0
  }

  /** Forgets the row and the planned move. */
  reset(): void {
    this.inRow = false
    this.move = Move.none
  }

  /** Starts the row `buffer[start, end)`. */
  startRow(buffer: Buffer, start: number, end: number): void {
    this.inRow = true
    if (this.buffer !== buffer) this.buffer = buffer
    this.rowStart = start
    this.rowEnd = end
    this.qualifierEnd = 0
    this.isPassed = false
    this.columnIndex = 0
    this.passed = 0
    this.hasRules = false
  }

  /** Whether the row in progress is `buffer[start, end)`. */
  isRow(buffer: Buffer, start: number, end: number): boolean {
    return equalBytes(this.buffer, this.rowStart, this.rowEnd, buffer, start, end)
  }

  /** Reaches the column of a cell of the row. */
  reach({ buffer, keyStart, rowEnd, qualifierEnd }: CellView): void {
    this.buffer = buffer
    this.rowStart = keyStart
    this.rowEnd = rowEnd
    this.qualifierEnd = qualifierEnd
  }

  /** Whether to try to read the row as a whole: after rows that were not plain, seldom. */
  triesRow(): boolean {
    if (this.untried === 0) return true
    this.untried--
    return false
  }

  /** The row was not read as a whole. */
  missedRow(): void {
    this.untried = this.untriedNext
    this.untriedNext = Math.min(2 * this.untriedNext + 1, untriedMax)
  }

  /** The row was read as a whole; the next move of the cursor is to the entry after it. */
  passedRow({ buffer, keyStart, keyEnd }: Cursor): void {
    this.untriedNext = 0
    this.isPassed = true
    if (this.buffer !== buffer) this.buffer = buffer
    this.rowStart = keyStart
    this.rowEnd = rowEndOf(buffer, keyStart, keyEnd)
    this.qualifierEnd = qualifierEndOf(keyEnd)
  }

  /** Plans again the move that has thrown: to the next entry, or past the row. */
  planAgain(): void {
    // A seek is planned already.
    if (this.move !== Move.none) return
    if (!this.isPassed) this.move = Move.next
    else {
      this.target.setBehind(this.buffer, this.rowStart, this.rowEnd)
      this.planSeek(Move.row)
    }
  }

  /** Whether `buffer[start, end)` is the qualifier of the column reached. */
  isReached(buffer: Buffer, start: number, end: number): boolean {
    const { rowEnd, qualifierEnd } = this
    if (qualifierEnd === 0) return false
    return equalBytes(this.buffer, rowEnd + terminatorBytes, qualifierEnd, buffer, start, end)
  }

  /** Copies row and column, because their memory is about to be released. */
  detach(): void {
    const { rowStart } = this
    const end = Math.max(this.rowEnd, this.qualifierEnd)
    this.buffer = this.inRow ? Buffer.from(this.buffer.subarray(rowStart, end)) : emptyBytes
    this.rowStart = 0
    this.rowEnd -= rowStart
    if (this.qualifierEnd > 0) this.qualifierEnd -= rowStart
    this.backward?.release()
  }

  /** Plans a move to {@link target}. */
  planSeek(move: Move): void {
    assert(move !== Move.none && move !== Move.next, 'a seek is planned to a key')
    this.move = move
    this.steps = 0
  }

  /** Seeks {@link target} at once. If the seek throws, it stays planned. */
  seekNow(cursor: Cursor): void {
    this.move = Move.column
    this.steps = stepsBeforeSeek
    cursor.seek(this.target.buffer, this.target.length)
    this.move = Move.none
  }

  /**
   * Carries out the planned move; with `mayStep` a near target is reached by steps. If a step or
   * the seek throws `BlockMissing`, the rest of the move stays planned.
   */
  finishMove(cursor: Cursor, mayStep: boolean): void {
    const { move, target } = this
    if (move === Move.next) cursor.next()
    else if (move !== Move.none && (move === Move.hint || !mayStep || !this.stepForward(cursor))) {
      cursor.seek(target.buffer, target.length)
    }
    this.move = Move.none
  }

  /** Steps towards the target; true once the cursor is at or past it. */
  private stepForward(cursor: Cursor): boolean {
    while (this.steps < stepsBeforeSeek) {
      cursor.next()
      this.steps++
      if (!cursor.valid || this.target.compare(cursor) >= 0) return true
    }
    return false
  }
}
