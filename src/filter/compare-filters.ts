/**
 * Filters that compare one part of a cell with a constant (HBase: subclasses of CompareFilter):
 * stored part, operator, constant.
 */
import type { CellView } from '../cell/cell-view.js'
import { Comparison, type FilterOperator } from './compare.js'
import type { ComparatorOption } from './comparators.js'
import { FilterCode } from './filter.js'
import { FilterBase, KeyFilter, RowKeyFilter } from './filter-base.js'

/** Rows whose key passes (HBase: RowFilter). */
export class RowFilter extends RowKeyFilter {
  private readonly comparison: Comparison

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(operator: FilterOperator, comparator: ComparatorOption) {
    super()
    this.comparison = new Comparison(operator, comparator)
  }

  protected override judge(row: Buffer): boolean {
    return this.comparison.passes(row, 0, row.length)
  }
}

/**
 * Cells of the families whose name passes; other families are left at once (HBase: FamilyFilter).
 */
export class FamilyFilter extends KeyFilter {
  private readonly comparison: Comparison
  /** Verdicts by the name of the family. */
  private readonly verdicts = new Map<string, boolean>()

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(operator: FilterOperator, comparator: ComparatorOption) {
    super()
    this.comparison = new Comparison(operator, comparator)
  }

  override filterCell(cell: CellView): FilterCode {
    const verdict = this.verdicts.get(cell.family) ?? this.judge(cell.family)
    return verdict ? FilterCode.include : FilterCode.nextRow
  }

  private judge(family: string): boolean {
    const name = Buffer.from(family, 'utf8')
    const verdict = this.comparison.passes(name, 0, name.length)
    this.verdicts.set(family, verdict)
    return verdict
  }
}

/** Cells whose qualifier passes (HBase: QualifierFilter). */
export class QualifierFilter extends KeyFilter {
  private readonly comparison: Comparison

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(operator: FilterOperator, comparator: ComparatorOption) {
    super()
    this.comparison = new Comparison(operator, comparator)
  }

  override filterCell(cell: CellView): FilterCode {
    return this.comparison.passesEscaped(cell.buffer, cell.qualifierStart, cell.qualifierEnd)
      ? FilterCode.include
      : FilterCode.nextColumn
  }
}

/**
 * Cells whose value passes; an older version may pass where a newer one does not (HBase:
 * ValueFilter).
 */
export class ValueFilter extends FilterBase {
  private readonly comparison: Comparison

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(operator: FilterOperator, comparator: ComparatorOption) {
    super()
    this.comparison = new Comparison(operator, comparator)
  }

  override filterCell(cell: CellView): FilterCode {
    return this.comparison.passesValue(cell) ? FilterCode.include : FilterCode.skip
  }
}
