/**
 * The filter protocol of HBase: what a scan asks a filter, in which order.
 *
 * Per scan: `filterAllRemaining` (true ends the scan). Per row: `reset`, `filterRowKey` (true skips
 * the row), then per cell in order of family, qualifier and version `filterCell`, `transformCell`
 * for the cells that it includes, and at the end of the row `filterRowCells` (may drop cells) and
 * `filterRow` (true drops the row). A filter is used by one scan at a time.
 *
 * Ownership: the `CellView` that is passed is borrowed; see cell-view.ts.
 */
import type { CellView } from '../cell/cell-view.js'

/** What a filter says about a cell. */
export const FilterCode = {
  include: 1,
  includeAndNextColumn: 2,
  includeAndNextRow: 3,
  skip: 4,
  nextColumn: 5,
  /** Next row within this family's store; the other families of the row are still asked. */
  nextRow: 6,
  /** Jump to {@link Filter.nextCellHint}. */
  seekUsingHint: 7,
} as const
export type FilterCode = (typeof FilterCode)[keyof typeof FilterCode]

/** Where a filter wants the scan to go on: the first cell at or behind these coordinates. */
export interface CellHint {
  readonly row: Buffer
  /** Undefined: the start of the row. */
  readonly qualifier?: Buffer | undefined
  /**
   * With a qualifier: versions of that column that are not newer than this timestamp, given in
   * halves. A scan may ignore it; the next cell is then asked about as usual.
   */
  readonly timestampHigh?: number | undefined
  readonly timestampLow?: number | undefined
}

/** Handles of the collected cells of one row, for {@link Filter.filterRowCells}. */
export interface RowCells {
  readonly count: number
  /** A view of cell `index`, borrowed until the next call. */
  cell(index: number): CellView
  /** Keeps only the cells for which `keep[index]` is true. */
  retain(keep: readonly boolean[]): void
}

/** A filter; see the file header for the protocol. */
export interface Filter {
  /**
   * True if `filterRow` or `filterRowCells` may drop cells, which forbids cutting a row into
   * batches.
   */
  readonly hasFilterRow: boolean
  /** Forgets what it learned of the previous row. */
  reset(): void
  filterAllRemaining(): boolean
  /** True drops the row. `row` is unescaped and borrowed. */
  filterRowKey(row: Buffer): boolean
  filterCell(cell: CellView): FilterCode
  /** The value to emit in place of the cell's, or undefined to keep it. */
  transformCell?(cell: CellView): Buffer | undefined
  filterRowCells?(cells: RowCells): void
  filterRow(): boolean
  /** Asked after `seekUsingHint`; undefined means "next cell". */
  nextCellHint?(cell: CellView): CellHint | undefined
  /**
   * False if the cells of a family change nothing about which rows pass: a scan may then read them
   * only for rows that do (HBase: isFamilyEssential). Absent = every family matters.
   */
  isFamilyEssential?(family: string): boolean
  /**
   * Called before each scan (or get): says whether rows come in descending order, and is the moment
   * to forget what was learned in an earlier scan, so that a filter object can be used again.
   */
  setReversed?(reversed: boolean): void
  /**
   * Asked only about a cell whose value lies apart in a value file (family option `mob`): whether
   * any method looks at that value. False leaves it unread unless the cell is included; a filter
   * that takes it nevertheless fails. Absent = it may look at every value.
   */
  readsValue?(cell: CellView): boolean
  /**
   * True if {@link transformCell} gives a value to every cell that is included, so that its own is
   * not wanted; with a {@link readsValue} that is false it is then never read. Absent = false.
   */
  readonly replacesValues?: boolean
}
