/**
 * Filters that look at one column: they keep or drop rows by its value, or return only its cells.
 *
 * The column must be among the columns that the scan selects. Otherwise every row seems to lack the
 * column.
 */
import { equalBytes } from '../../base/bytes.js'
import { boolean, checked, declareOptions, required, type OptionsOf } from '../../base/options.js'
import type { CellView } from '../cell/cell-view.js'
import { parseFilterColumn, type EscapedColumn } from './arguments.js'
import { Comparison, type FilterOperator } from './compare.js'
import type { ComparatorOption } from './comparators.js'
import { FilterCode, type RowCells } from './filter.js'
import { FilterBase } from './filter-base.js'

const condition = {
  /** `'family:qualifier'`. */
  column: required(checked(parseFilterColumn)),
  /** Compares `stored operator value`. */
  operator: required(checked((value: FilterOperator) => value)),
  /** Bytes, or another comparator. */
  value: required(checked((value: ComparatorOption) => value)),
}
const conditionOptions = declareOptions('a ColumnValueFilter', condition)
const singleColumnOptions = declareOptions('a SingleColumnValueFilter', {
  ...condition,
  /** Whether to drop rows without the column. Default false: they pass. */
  filterIfMissing: boolean(false),
  /** Whether only the newest version counts. Default true; false: one passing version suffices. */
  latestVersionOnly: boolean(true),
})

/** A condition on a column's value. */
export interface ColumnCondition extends OptionsOf<typeof conditionOptions> {}

/** Options of {@link SingleColumnValueFilter}. */
export interface SingleColumnValueOptions extends OptionsOf<typeof singleColumnOptions> {}

/** Whether a cell belongs to a column. */
export function isInColumn(cell: CellView, column: EscapedColumn): boolean {
  const { buffer, qualifierStart, qualifierEnd } = cell
  const { family, qualifier } = column
  const { length } = qualifier
  return (
    equalBytes(buffer, qualifierStart, qualifierEnd, qualifier, 0, length) && cell.family === family
  )
}

/** Keeps or drops whole rows by the value of one column (HBase: SingleColumnValueFilter). */
export class SingleColumnValueFilter extends FilterBase {
  /** @internal */
  readonly column: EscapedColumn
  private readonly comparison: Comparison
  private readonly filterIfMissing: boolean
  private readonly latestVersionOnly: boolean
  private found = false
  private matched = false

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(options: SingleColumnValueOptions) {
    super(true)
    const { column, operator, value, ...flags } = singleColumnOptions.read(options)
    this.column = column
    this.comparison = new Comparison(operator, value)
    this.filterIfMissing = flags.filterIfMissing
    this.latestVersionOnly = flags.latestVersionOnly
  }

  override reset(): void {
    this.found = false
    this.matched = false
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.matched) return FilterCode.include
    if (this.found && this.latestVersionOnly) return FilterCode.nextRow
    if (!isInColumn(cell, this.column)) return FilterCode.include
    this.found = true
    if (this.comparison.passesValue(cell)) {
      this.matched = true
      return FilterCode.include
    }
    return this.latestVersionOnly ? FilterCode.nextRow : FilterCode.include
  }

  override filterRow(): boolean {
    return this.found ? !this.matched : this.filterIfMissing
  }

  /** True for cells of the column. */
  readsValue(cell: CellView): boolean {
    return isInColumn(cell, this.column)
  }

  /** Without `filterIfMissing` a row that lacks the column passes, so every family is essential. */
  isFamilyEssential(family: string): boolean {
    return !this.filterIfMissing || family === this.column.family
  }
}

/**
 * As {@link SingleColumnValueFilter}, but removes the tested column from the rows that pass (HBase:
 * SingleColumnValueExcludeFilter).
 */
export class SingleColumnValueExcludeFilter extends SingleColumnValueFilter {
  /** Drops the cells of the column. */
  filterRowCells(cells: RowCells): void {
    const keep: boolean[] = []
    let complete = true
    for (let i = 0; i < cells.count; i++) {
      keep.push(!isInColumn(cells.cell(i), this.column))
      complete &&= keep[i]
    }
    if (!complete) cells.retain(keep)
  }
}

/** Returns only the cells of one column that pass (HBase: ColumnValueFilter). */
export class ColumnValueFilter extends FilterBase {
  /** @internal */
  readonly onlyColumn: EscapedColumn
  private readonly comparison: Comparison
  /** Whether the row has shown a cell of the column. */
  private found = false

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(options: ColumnCondition) {
    super()
    const { column, operator, value } = conditionOptions.read(options)
    this.onlyColumn = column
    this.comparison = new Comparison(operator, value)
  }

  override reset(): void {
    this.found = false
  }

  override filterCell(cell: CellView): FilterCode {
    // As in HBase: other members of a list may count the cells before the column.
    if (!isInColumn(cell, this.onlyColumn))
      return this.found ? FilterCode.nextRow : FilterCode.nextColumn
    this.found = true
    return this.comparison.passesValue(cell) ? FilterCode.include : FilterCode.skip
  }

  /** True for cells of the column. */
  readsValue(cell: CellView): boolean {
    return isInColumn(cell, this.onlyColumn)
  }
}
