/** Finds single cells in a collected row, for operations that read before they write. */
import { equalBytes } from '../../base/bytes.js'
import { CellView } from '../../storage/cell/cell-view.js'
import {
  emptyRow,
  numbersPerCell,
  rowCellByCell,
  type CollectedRow,
} from '../../storage/scan/collected-row.js'

export class StoredCells {
  private readonly view = new CellView()
  private row = emptyRow

  /** Sets the row to search. */
  set(row: CollectedRow): void {
    this.row = rowCellByCell(row)
  }

  get isEmpty(): boolean {
    return this.row.cells.length === 0
  }

  /**
   * A view of the n-th newest cell (0: the newest) of a column, borrowed until the next call;
   * undefined if there are fewer.
   */
  find(familyIndex: number, qualifier: Buffer, n = 0): CellView | undefined {
    let found = 0
    for (let at = 0; at < this.row.cells.length; at += numbersPerCell) {
      if (this.row.cells[at] !== familyIndex) continue
      const view = this.at(at)
      const same = equalBytes(
        view.buffer,
        view.qualifierStart,
        view.qualifierEnd,
        qualifier,
        0,
        qualifier.length,
      )
      if (same && found++ === n) return view
    }
    return undefined
  }

  /** The first cell of the row. REQUIRES not empty. */
  first(): CellView {
    return this.at(0)
  }

  private at(at: number): CellView {
    const { page, cells } = this.row
    this.view.setCell(page, cells[at + 1], cells[at + 2], cells[at + 3])
    return this.view
  }
}
