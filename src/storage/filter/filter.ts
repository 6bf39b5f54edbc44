/**
 * The filter protocol of HBase: which methods a scan calls, and in which order.
 *
 * - Per scan: `filterAllRemaining`; true ends the scan.
 * - Per row: `reset`, then `filterRowKey`; true skips the row.
 * - Per cell, in the order of family, qualifier and version: `filterCell`, and `transformCell` for
 *   included cells.
 * - At the end of the row: `filterRowCells` (may drop cells) and `filterRow`; true drops the row.
 *
 * A filter is used by one scan at a time. The `CellView` argument is borrowed; see cell-view.ts.
 */
import type { CellView } from '../cell/cell-view.js'

/** The answer of a filter about a cell. */
export const FilterCode = {
  /** Include the cell, go on with the next one. */
  include: 1,
  /** Include the cell, leave older versions. */
  includeAndNextColumn: 2,
  /** Include the cell, leave the rest of the row. */
  includeAndNextRow: 3,
  /** Leave the cell, go on with the next one. */
  skip: 4,
  /** Leave the cell and older versions. */
  nextColumn: 5,
  /** Leave this family's cells of the row; the other families are still read. */
  nextRow: 6,
  /** Jump to {@link Filter.nextCellHint}. */
  seekUsingHint: 7,
} as const
export type FilterCode = (typeof FilterCode)[keyof typeof FilterCode]

/** The place at which a scan should continue: the first cell at or after these coordinates. */
export interface CellHint {
  /** Key of the row, unescaped. */
  readonly row: Buffer
  /** Undefined: the start of the row. */
  readonly qualifier?: Buffer | undefined
  /**
   * With a qualifier: versions of that column that are not newer than this timestamp, in halves. A
   * scan may ignore the timestamp; then the filter is asked about the next cell as usual.
   */
  readonly timestampHigh?: number | undefined
  /** The lower half. */
  readonly timestampLow?: number | undefined
}

/** The collected cells of one row, for {@link Filter.filterRowCells}. */
export interface RowCells {
  /** Number of cells. */
  readonly count: number
  /** A view of cell `index`, borrowed until the next call. */
  cell(index: number): CellView
  /** Keeps only the cells for which `keep[index]` is true. */
  retain(keep: readonly boolean[]): void
}

/** A filter; see the file header for the protocol. */
export interface Filter {
  /**
   * Whether `filterRow` or `filterRowCells` may drop cells. Then a row must not be cut into
   * batches.
   */
  readonly hasFilterRow: boolean
  /** Resets the state about the previous row. */
  reset(): void
  /** Returns true to end the scan. */
  filterAllRemaining(): boolean
  /** Returns true to drop the row. `row` is unescaped and borrowed. */
  filterRowKey(row: Buffer): boolean
  /** Judges a cell. */
  filterCell(cell: CellView): FilterCode
  /**
   * Called after `filterRowKey` has let a row pass: whether `filterCell` would include each cell of
   * the row, and `transformCell` would leave each value. A scan may then take the row as a whole,
   * without these two calls. Absent = false.
   */
  includesRow?(): boolean
  /** Returns the value to emit in place of the cell's value, or undefined to keep it. */
  transformCell?(cell: CellView): Buffer | undefined
  /** Called with the included cells of a row; may drop some. */
  filterRowCells?(cells: RowCells): void
  /** Called at the end of a row; returns true to drop the row. */
  filterRow(): boolean
  /** Called after `seekUsingHint`; undefined means the next cell. */
  nextCellHint?(cell: CellView): CellHint | undefined
  /**
   * Whether a list with MUST_PASS_ALL asks the filter also about cells that an earlier member
   * rejects, because the filter may jump farther (HBase: HintingFilter). Absent = false.
   */
  readonly givesHints?: boolean
  /**
   * @internal The only column whose cells the filter includes, with its qualifier escaped. A scan
   * with this filter alone jumps to it. A list does not, because other members may count the cells
   * before.
   */
  readonly onlyColumn?: { readonly family: string; readonly qualifier: Buffer }
  /**
   * Returns false if the cells of a family cannot change which rows pass. A scan may then read them
   * only for rows that pass (HBase: isFamilyEssential). Absent = every family is essential.
   */
  isFamilyEssential?(family: string): boolean
  /**
   * Whether `filterCell` may answer {@link FilterCode.seekUsingHint} in the current row. A scan
   * shows rows as wholes, which do not jump, to filters that may not. Absent = whether there is a
   * `nextCellHint`.
   */
  mayHint?(): boolean
  /**
   * Called before each scan or get, with whether rows come in descending order. Must reset the
   * state of an earlier scan, so that a filter object can be used again.
   */
  setReversed?(reversed: boolean): void
  /**
   * Called only for a cell whose value is in a value file (family option `mob`): whether any method
   * of the filter looks at that value. After false, the value is read only if the cell is included,
   * and a filter that looks at it fails. Absent = true for every cell.
   */
  readsValue?(cell: CellView): boolean
  /**
   * Whether {@link transformCell} returns a value for every included cell, so the cell's own value
   * is not needed. If {@link readsValue} is false too, the value is never read. Absent = false.
   */
  readonly replacesValues?: boolean
}
