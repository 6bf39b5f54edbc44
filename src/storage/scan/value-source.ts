/** What a read needs to see values that lie in value files, apart from their cells. */
import type { CellView } from '../cell/cell-view.js'

/** Follows references of cells. */
export interface ValueSource {
  /**
   * Follows the reference of a cell: points the view at a copy of the cell that holds its content,
   * in memory that nothing else uses. Throws `BlockMissing`, with the view unchanged, if the
   * content is not in memory and `mayBlock` is false; `ERR_CORRUPTION`. REQUIRES
   * `cell.isReference`.
   */
  resolve(cell: CellView, mayBlock: boolean): void
}
