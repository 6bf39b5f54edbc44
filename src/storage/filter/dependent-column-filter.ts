/** The filter that HBase calls DependentColumnFilter. */
import { boolean, checked, declareOptions, required, type OptionsOf } from '../../base/options.js'
import type { CellView } from '../cell/cell-view.js'
import { invalidArgument } from '../../base/errors.js'
import { parseFilterColumn, type EscapedColumn } from './arguments.js'
import { Comparison, type FilterOperator } from './compare.js'
import type { ComparatorOption } from './comparators.js'
import { FilterCode, type RowCells } from './filter.js'
import { FilterBase } from './filter-base.js'
import { isInColumn } from './single-column-filters.js'

const dependentOptions = declareOptions('a DependentColumnFilter', {
  /** The reference column. */
  column: required(checked(parseFilterColumn)),
  /** Whether to leave out the reference column's own cells. Default false. */
  dropDependentColumn: boolean(false),
  /** With `value`: only reference cells whose value passes are considered. */
  operator: checked((value: FilterOperator) => value),
  /** What the value of the column is compared with. */
  value: checked((value: ComparatorOption) => value),
})

/** Options of {@link DependentColumnFilter}. */
export interface DependentColumnOptions extends OptionsOf<typeof dependentOptions> {}

/**
 * Returns the cells whose timestamp also occurs in a reference column of the same row (HBase:
 * DependentColumnFilter). Collects whole rows, so it cannot be combined with `batch`.
 */
export class DependentColumnFilter extends FilterBase {
  private readonly column: EscapedColumn
  private readonly drop: boolean
  private readonly comparison: Comparison | undefined
  private readonly timestamps = new Set<number | bigint>()

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(options: DependentColumnOptions) {
    super(true)
    const { column, dropDependentColumn, operator, value } = dependentOptions.read(options)
    this.column = column
    this.drop = dropDependentColumn
    if ((operator === undefined) !== (value === undefined)) {
      throw invalidArgument('give operator and value together or neither')
    }
    this.comparison =
      operator === undefined || value === undefined ? undefined : new Comparison(operator, value)
  }

  override reset(): void {
    this.timestamps.clear()
  }

  override filterCell(cell: CellView): FilterCode {
    if (!isInColumn(cell, this.column)) return FilterCode.include
    if (this.comparison !== undefined && !this.comparison.passesValue(cell)) return FilterCode.skip
    this.timestamps.add(timestampKey(cell))
    return this.drop ? FilterCode.skip : FilterCode.include
  }

  /** True for cells of the column, if their value is compared. */
  readsValue(cell: CellView): boolean {
    return this.comparison !== undefined && isInColumn(cell, this.column)
  }

  /** Keeps the cells whose timestamps the column has. */
  filterRowCells(cells: RowCells): void {
    const keep: boolean[] = []
    for (let i = 0; i < cells.count; i++) {
      keep.push(this.timestamps.has(timestampKey(cells.cell(i))))
    }
    cells.retain(keep)
  }
}

/** The timestamp as a number where that is exact, because bigints allocate memory. */
function timestampKey(cell: CellView): number | bigint {
  return cell.timestampHigh < 0x20_0000 ? cell.timestamp : cell.timestampExact
}
