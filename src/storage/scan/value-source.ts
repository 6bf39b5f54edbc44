/** Access to values that are stored in value files, apart from their cells. */
import type { CellView } from '../cell/cell-view.js'

/** Resolves value references of cells. */
export interface ValueSource {
  /**
   * Resolves the value reference of a cell: points the view at a copy of the cell with its content,
   * in memory of its own. Throws `BlockMissing`, with the view unchanged, if the content is not in
   * memory and `mayBlock` is false; `ERR_CORRUPTION`. REQUIRES `cell.isReference`.
   */
  resolve(cell: CellView, mayBlock: boolean): void
}
