/**
 * Defaults for filters: a filter that extends this and overrides nothing lets everything through.
 */
import type { CellView } from '../cell/cell-view.js'
import { FilterCode, type Filter } from './filter.js'

/** HBase: FilterBase. */
export abstract class FilterBase implements Filter {
  readonly hasFilterRow: boolean
  /** Rows come in descending order. */
  protected reversed = false

  constructor(hasFilterRow = false) {
    this.hasFilterRow = hasFilterRow
  }

  /** Starts a scan; what is remembered across rows is dropped by {@link startScan}. */
  setReversed(reversed: boolean): void {
    this.reversed = reversed
    this.startScan()
  }

  reset(): void {}

  filterAllRemaining(): boolean {
    return false
  }

  filterRowKey(row: Buffer): boolean {
    void row
    return false
  }

  filterCell(cell: CellView): FilterCode {
    void cell
    return FilterCode.include
  }

  filterRow(): boolean {
    return false
  }

  /** Forgets what was learned in an earlier scan. */
  protected startScan(): void {}
}

/**
 * Base of filters that look at keys, never at values. One that extends it and does look has to
 * override `readsValue` as well.
 */
export abstract class KeyFilter extends FilterBase {
  readsValue(cell: CellView): boolean {
    void cell
    return false
  }
}

/** Whether a code lets the cell through. */
export function isIncluded(code: FilterCode): boolean {
  return code <= FilterCode.includeAndNextRow
}

/**
 * Base of filters that judge rows by their key alone. `judge` runs once per row; a row that does
 * not pass is either rejected at once or, if the filter knows where to go on, left through a hint.
 */
export abstract class RowKeyFilter extends KeyFilter {
  /** The row at hand does not pass. */
  protected rejected = false
  /** No further row of the scan can pass. */
  protected done = false
  /** Where the next row that can pass lies, for forward scans. */
  private hint: Buffer | undefined = undefined

  /**
   * Says whether the row passes. May set {@link done}, and may call {@link jumpTo}; `row` is
   * borrowed.
   */
  protected abstract judge(row: Buffer): boolean

  /**
   * Called by `judge` when it refuses a row of a forward scan: the next candidate, not borrowed.
   */
  protected jumpTo(row: Buffer): void {
    this.hint = row
  }

  protected override startScan(): void {
    this.rejected = false
    this.done = false
    this.hint = undefined
  }

  override reset(): void {
    this.rejected = false
    this.hint = undefined
  }

  override filterAllRemaining(): boolean {
    return this.done
  }

  override filterRowKey(row: Buffer): boolean {
    this.hint = undefined
    this.rejected = this.done || !this.judge(row)
    // Hints are only taken from `filterCell`, so the row has to get that far.
    return this.rejected && (this.hint === undefined || this.done)
  }

  override filterCell(): FilterCode {
    if (!this.rejected) return FilterCode.include
    return this.hint === undefined ? FilterCode.nextRow : FilterCode.seekUsingHint
  }

  nextCellHint(): { row: Buffer } | undefined {
    return this.hint === undefined ? undefined : { row: this.hint }
  }

  /** Lets MUST_PASS_ONE lists know that this member has nothing to keep in the row. */
  override filterRow(): boolean {
    return this.rejected
  }
}
