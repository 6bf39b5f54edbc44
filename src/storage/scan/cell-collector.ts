/** Takes the cells that a scan includes. */
import type { CellView } from '../cell/cell-view.js'
import type { Filter, RowCells } from '../filter/filter.js'

/** Where a store scanner puts the cells that it includes. */
export interface CellCollector {
  /** No further cell fits (batch limit); the scanner pauses before the next one. */
  readonly full: boolean
  /** Copies a borrowed cell; the filter may replace its value. */
  add(cell: CellView, filter: Filter | undefined): void
  /** Copies a borrowed cell whose value, `buffer[keyEnd, valueEnd)`, follows its key. */
  addRange(
    familyIndex: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void
}

/** Where a row scanner puts the cells of one row after the other. */
export interface RowTarget extends CellCollector {
  /** Cells of the current row. */
  readonly count: number
  /** For filters that judge whole rows; undefined if it serves scans without a filter only. */
  readonly rowCells: RowCells | undefined
  /** Whether more rows are read after the current one, each ended by {@link endRow}. */
  readonly wantsRows: boolean
  /** The current row is complete. */
  endRow(): void
  /** A row begins: drops the cells that were not taken, or keeps them. */
  startRow(): void
  /** The memory of the cells added so far is about to go: copies the rest of them. */
  settle(): void
  /** Puts the cells of the row into the order of their families. */
  sortFamilies(): void
}
