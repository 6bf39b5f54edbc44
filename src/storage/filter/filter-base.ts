/**
 * Default methods for filters. A filter that extends a class of this file and overrides nothing
 * accepts everything.
 */
import type { CellView } from '../cell/cell-view.js'
import { FilterCode, type CellHint, type Filter } from './filter.js'

/** The base of most filters (HBase: FilterBase). */
export abstract class FilterBase implements Filter {
  readonly hasFilterRow: boolean
  /** Whether rows come in descending order. */
  protected reversed = false

  /** `hasFilterRow`: see {@link Filter.hasFilterRow}. */
  constructor(hasFilterRow = false) {
    this.hasFilterRow = hasFilterRow
  }

  /** Starts a scan. Calls {@link startScan}, which resets the state of an earlier scan. */
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

  /** Whether no method of the filter looks at cells one by one. */
  includesRow(): boolean {
    return this.filterCell === FilterBase.prototype.filterCell && this.leavesValues
  }

  /** Whether the filter has no `transformCell`. */
  protected get leavesValues(): boolean {
    return (this as Filter).transformCell === undefined
  }

  filterRow(): boolean {
    return false
  }

  /** Resets the state of an earlier scan. */
  protected startScan(): void {}
}

/**
 * Base of filters that look at keys, never at values. A subclass that looks at values must override
 * `readsValue`.
 */
export abstract class KeyFilter extends FilterBase {
  /** Always false: values are not looked at. */
  readsValue(cell: CellView): boolean {
    void cell
    return false
  }
}

/** Whether a filter may answer with a hint in the current row. */
export function mayHint(filter: Filter): boolean {
  return filter.mayHint?.() ?? filter.nextCellHint !== undefined
}

/** Whether a code includes the cell. */
export function isIncluded(code: FilterCode): boolean {
  return code <= FilterCode.includeAndNextRow
}

/**
 * Base of filters that judge rows by their key alone. `judge` runs once per row. A row that does
 * not pass is rejected at once or, if the filter knows the next candidate, left by a hint.
 */
export abstract class RowKeyFilter extends KeyFilter {
  /** Whether the current row does not pass. */
  protected rejected = false
  /** Whether no further row of the scan can pass. */
  protected done = false
  /** The next row that can pass, in forward scans. */
  private hint: Buffer | undefined = undefined

  /**
   * Returns whether the row passes. May set {@link done} and call {@link jumpTo}. `row` is
   * borrowed.
   */
  protected abstract judge(row: Buffer): boolean

  /**
   * Called by `judge` when a row of a forward scan does not pass, with the next candidate (not
   * borrowed).
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
    // Only `filterCell` can return a hint, so the row must get that far.
    return this.rejected && (this.hint === undefined || this.done)
  }

  override filterCell(): FilterCode {
    if (!this.rejected) return FilterCode.include
    return this.hint === undefined ? FilterCode.nextRow : FilterCode.seekUsingHint
  }

  /** Whether the row passes, and a subclass does not judge its cells. */
  override includesRow(): boolean {
    const judgesRows = this.filterCell === RowKeyFilter.prototype.filterCell
    return judgesRows && !this.rejected && this.leavesValues
  }

  /** Whether a row is rejected and the next candidate is known, or a subclass judges cells. */
  mayHint(): boolean {
    return this.hint !== undefined || this.filterCell !== RowKeyFilter.prototype.filterCell
  }

  /** The next row that can pass. */
  nextCellHint(): CellHint | undefined {
    return this.hint && { row: this.hint }
  }

  /** Tells MUST_PASS_ONE lists that this member keeps nothing of the row. */
  override filterRow(): boolean {
    return this.rejected
  }
}
