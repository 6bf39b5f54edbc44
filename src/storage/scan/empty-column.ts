/**
 * Handles a filter's hint to leave the empty column of a row. Markers of the family carry the empty
 * qualifier and are sorted among the cells of that column. So the scanner steps through the rest of
 * the column before it follows the hint.
 */
import type { CellView } from '../cell/cell-view.js'
import { SeekKey } from './seek-key.js'

export class EmptyColumn {
  /** Whether a hint waits for the end of the column. */
  isLeft = false
  private readonly hint = new SeekKey()

  /** Stores a hint to a later column of the row. */
  leaveTo(hint: SeekKey): void {
    this.hint.copyFrom(hint)
    this.isLeft = true
  }

  /**
   * Once the column has ended, clears the hint. Copies it to `target` and returns true if it leads
   * forward. REQUIRES {@link isLeft}.
   */
  takeHint(cell: CellView, target: SeekKey): boolean {
    if (cell.qualifierStart === cell.qualifierEnd) return false
    this.isLeft = false
    if (this.hint.compare(cell) >= 0) return false
    target.copyFrom(this.hint)
    return true
  }
}
