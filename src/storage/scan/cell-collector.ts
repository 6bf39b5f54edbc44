/** The receiver of the cells that a read includes. */
import type { CellView } from '../cell/cell-view.js'
import type { Filter, RowCells } from '../filter/filter.js'

/** Receives the cells of rows, one row after the other. */
export interface RowTarget {
  /** Whether the batch limit is reached; the scanner pauses before the next cell. */
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
  /** Whether rows may be added as wholes, or in many cells at once: they are not cut. */
  readonly takesRows: boolean
  /**
   * Copies the borrowed entries of a plain row, which lie side by side up to `end`, as in a data
   * block; key and value of the first are `buffer[keyStart, valueEnd)`. False, and nothing changes:
   * the cells are to be added one by one.
   */
  addRow(
    familyIndex: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
    end: number,
  ): boolean
  /** Cells of the current row. */
  readonly count: number
  /**
   * For filters that decide on whole rows; undefined if the target serves scans without a filter
   * only.
   */
  readonly rowCells: RowCells | undefined
  /** Whether another row is wanted after the current one. Each row is ended by {@link endRow}. */
  readonly wantsRows: boolean
  /** Ends the current row, which is complete. */
  endRow(): void
  /** Starts a row. Cells not taken are dropped; rows that were ended are kept. */
  startRow(): void
  /** Copies all cells that are still borrowed, because their memory is about to be released. */
  settle(): void
  /** Sorts the cells of the row by family; the order within a family is kept. */
  sortFamilies(): void
}
