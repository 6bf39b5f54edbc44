/**
 * Filters that compare one part of a cell with a constant (HBase: subclasses of CompareFilter). The
 * stored part is on the left of the operator, the constant on the right.
 */
import type { CellView } from '../cell/cell-view.js'
import { Comparison, type FilterOperator } from './compare.js'
import type { ComparatorOption } from './comparators.js'
import { FilterCode } from './filter.js'
import { FilterBase, KeyFilter, RowKeyFilter } from './filter-base.js'

/** Returns the rows whose key passes (HBase: RowFilter). */
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
 * Returns the cells of the families whose name passes (HBase: FamilyFilter). Other families are
 * left at once.
 */
export class FamilyFilter extends KeyFilter {
  private readonly comparison: Comparison
  /** Results of the comparison by name of the family. */
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

/** Returns the cells whose qualifier passes (HBase: QualifierFilter). */
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
 * Returns the cells whose value passes; an older version may pass where a newer one does not
 * (HBase: ValueFilter).
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
