/**
 * Remembers the jump that a member of a filter list asked for, in a form that can be compared with
 * cells.
 */
import { compareBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import { writeEscaped, writeTerminator, writeTimestamp } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import type { CellHint } from './filter.js'

/** How far a member's answer leads, in ascending order; `next` is the next cell. */
export const Reach = {
  next: 0,
  hintInColumn: 1,
  nextColumn: 2,
  hintInRow: 3,
  nextRow: 4,
  hintBehindRow: 5,
} as const
export type Reach = (typeof Reach)[keyof typeof Reach]

export class HintMemory {
  hint: CellHint | undefined = undefined
  reach: Reach = Reach.next
  private key: Buffer = emptyBytes
  private length = 0
  private familyIndex = -1

  /**
   * Stores a hint that was given for a cell. A hint that does not lead forward counts as `next`.
   */
  remember(cell: CellView, hint: CellHint | undefined): void {
    this.hint = hint
    this.reach = Reach.next
    if (hint === undefined) return
    this.encode(hint)
    this.familyIndex = cell.familyIndex
    if (compareBytes(this.key, 0, this.length, cell.buffer, cell.keyStart, cell.keyEnd) <= 0) {
      this.hint = undefined
      return
    }
    const columnEnd = cell.qualifierEnd + 2
    if (!this.startsWith(cell, cell.qualifierStart)) this.reach = Reach.hintBehindRow
    else if (this.startsWith(cell, columnEnd)) this.reach = Reach.hintInColumn
    else this.reach = Reach.hintInRow
  }

  /** Whether a later cell of the same row comes before the place of the hint. */
  isBefore(cell: CellView): boolean {
    if (this.hint === undefined) return false
    if (this.reach === Reach.hintBehindRow) return true
    return (
      cell.familyIndex === this.familyIndex &&
      compareBytes(cell.buffer, cell.keyStart, cell.keyEnd, this.key, 0, this.length) < 0
    )
  }

  /** Orders two hints by their place. REQUIRES that both hold a hint. */
  compare(other: HintMemory): number {
    return compareBytes(this.key, 0, this.length, other.key, 0, other.length)
  }

  /** Whether the hint has the same bytes as the cell's key up to `end`. */
  private startsWith(cell: CellView, end: number): boolean {
    const length = end - cell.keyStart
    return length <= this.length && equalBytes(this.key, 0, length, cell.buffer, cell.keyStart, end)
  }

  private encode(hint: CellHint): void {
    const { row, qualifier, timestampHigh, timestampLow } = hint
    const bytes = 2 * (row.length + (qualifier?.length ?? 0)) + 12
    if (this.key.length < bytes) this.key = Buffer.alloc(2 * bytes)
    const key = this.key
    let at = writeTerminator(key, writeEscaped(key, 0, row))
    if (qualifier !== undefined) {
      at = writeTerminator(key, writeEscaped(key, at, qualifier))
      if (timestampHigh !== undefined && timestampLow !== undefined) {
        at = writeTimestamp(key, at, timestampHigh, timestampLow)
      }
    }
    this.length = at
  }
}
