/**
 * Filters around another filter. They drop the whole row, or end the scan, as soon as the inner
 * filter rejects something.
 *
 * The inner filter rejects if it does not include a cell, or drops the row by its key or at its
 * end. HBase differs in two accidents, which are not repeated here. It also takes an inclusion with
 * a jump (INCLUDE_AND_NEXT_COL) for a rejection, and its SkipFilter never asks the inner filter
 * about row keys.
 */
import type { CellView } from '../cell/cell-view.js'
import { checkInnerFilter } from './arguments.js'
import { FilterCode, type CellHint, type Filter, type RowCells } from './filter.js'
import { FilterBase, isIncluded, mayHint } from './filter-base.js'

/** A filter around another one. */
export abstract class WrappingFilter extends FilterBase {
  /** The filter inside. */
  protected readonly inner: Filter

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(inner: Filter) {
    super(true)
    this.inner = checkInnerFilter(inner)
  }

  override setReversed(reversed: boolean): void {
    this.inner.setReversed?.(reversed)
    super.setReversed(reversed)
  }

  override reset(): void {
    this.inner.reset()
  }

  override filterAllRemaining(): boolean {
    return this.inner.filterAllRemaining()
  }

  /** As the filter inside. */
  transformCell(cell: CellView): Buffer | undefined {
    return this.inner.transformCell?.(cell)
  }

  /** As the filter inside. */
  filterRowCells(cells: RowCells): void {
    this.inner.filterRowCells?.(cells)
  }

  /** As the filter inside. */
  mayHint(): boolean {
    return mayHint(this.inner)
  }

  /** As the filter inside. */
  nextCellHint(cell: CellView): CellHint | undefined {
    return this.inner.nextCellHint?.(cell)
  }

  /** As the filter inside. */
  readsValue(cell: CellView): boolean {
    return this.inner.readsValue?.(cell) ?? true
  }

  /** As the filter inside. */
  get replacesValues(): boolean {
    return this.inner.replacesValues ?? false
  }

  /** As the filter inside. */
  isFamilyEssential(family: string): boolean {
    return this.inner.isFamilyEssential?.(family) ?? true
  }
}

/** Drops each row of which the inner filter rejects any cell (HBase: SkipFilter). */
export class SkipFilter extends WrappingFilter {
  private rejected = false

  override reset(): void {
    super.reset()
    this.rejected = false
  }

  override filterRowKey(row: Buffer): boolean {
    if (this.inner.filterRowKey(row)) this.rejected = true
    return this.rejected
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.rejected) return FilterCode.nextRow
    const code = this.inner.filterCell(cell)
    if (isIncluded(code)) return code
    this.rejected = true
    // Nothing more of the row is needed; a jump may lead further than the next row.
    return code === FilterCode.seekUsingHint ? code : FilterCode.nextRow
  }

  override filterRow(): boolean {
    return this.rejected || this.inner.filterRow()
  }
}

/**
 * Ends the scan as soon as the inner filter rejects something. Cells of that row that were included
 * before are still returned (HBase: WhileMatchFilter).
 */
export class WhileMatchFilter extends WrappingFilter {
  private over = false

  protected override startScan(): void {
    this.over = false
  }

  override filterAllRemaining(): boolean {
    return this.over || this.inner.filterAllRemaining()
  }

  override filterRowKey(row: Buffer): boolean {
    if (this.filterAllRemaining()) return true
    return this.remember(this.inner.filterRowKey(row))
  }

  override filterCell(cell: CellView): FilterCode {
    const code = this.inner.filterCell(cell)
    this.remember(!isIncluded(code))
    return code
  }

  override filterRow(): boolean {
    return this.remember(this.inner.filterRow())
  }

  private remember(rejected: boolean): boolean {
    if (rejected) this.over = true
    return rejected
  }
}
