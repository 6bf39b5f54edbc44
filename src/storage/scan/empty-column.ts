/**
 * Leaves the empty column of a row by a filter's hint. Markers of the family carry the empty
 * qualifier and lie among its cells, so the scanner steps through the rest of the column before it
 * follows the hint.
 */
import type { CellView } from '../cell/cell-view.js'
import { SeekKey } from './seek-key.js'

export class EmptyColumn {
  /** Whether a hint waits for the end of the column. */
  isLeft = false
  private readonly hint = new SeekKey()

  /** Notes a hint that leads to a later column of the row. */
  leaveTo(hint: SeekKey): void {
    this.hint.copyFrom(hint)
    this.isLeft = true
  }

  /**
   * REQUIRES {@link isLeft}. After the column, forgets the hint, copies it to `target` and returns
   * true, if the hint leads on.
   */
  takeHint(cell: CellView, target: SeekKey): boolean {
    if (cell.qualifierStart === cell.qualifierEnd) return false
    this.isLeft = false
    if (this.hint.compare(cell) >= 0) return false
    target.copyFrom(this.hint)
    return true
  }
}
