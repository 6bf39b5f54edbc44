/**
 * How filters compare: the stored value is on the left of the operator, the filter's constant on
 * the right. In the checks of checkAndMutate the sides are exchanged.
 */
import { shown } from '../../base/arguments.js'
import { compareBytes } from '../../base/bytes.js'
import type { CompareOperator } from '../../base/compare-operator.js'
import { invalidArgument } from '../../base/errors.js'
import { hasEscape, unescape } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import { makeComparator, type Comparator, type ComparatorOption } from './comparators.js'

/** HBase: CompareOperator. `NO_OP` accepts nothing. */
export type FilterOperator = CompareOperator | 'NO_OP'

const less = 1
const equal = 2
const greater = 4
/** The stored value cannot be ordered against the constant. */
const incomparable = 8

const masks: ReadonlyMap<string, number> = new Map<FilterOperator, number>([
  ['LESS', less],
  ['LESS_OR_EQUAL', less | equal],
  ['EQUAL', equal],
  ['NOT_EQUAL', less | greater | incomparable],
  ['GREATER_OR_EQUAL', greater | equal],
  ['GREATER', greater],
  ['NO_OP', 0],
])

/** An operator with its comparator. */
export class Comparison {
  private readonly comparator: Comparator
  private readonly mask: number

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(operator: FilterOperator, comparator: ComparatorOption) {
    const mask = masks.get(operator)
    if (mask === undefined) {
      const known = [...masks.keys()].join(', ')
      throw invalidArgument(`operator must be one of ${known}; got ${shown(operator)}`)
    }
    this.mask = mask
    this.comparator = makeComparator(comparator)
    const ordering = mask !== masks.get('EQUAL') && mask !== masks.get('NOT_EQUAL') && mask !== 0
    if (ordering && !this.comparator.orders) {
      throw invalidArgument(
        `operator ${operator} needs a comparator with an order; ` +
          `${this.comparator.name} only knows EQUAL and NOT_EQUAL`,
      )
    }
  }

  /** Whether plain bytes pass. */
  passes(source: Buffer, start: number, end: number): boolean {
    return this.holds(this.comparator.compare(source, start, end))
  }

  /** Whether escaped bytes (of a stored row or qualifier) pass. */
  passesEscaped(source: Buffer, start: number, end: number): boolean {
    const { compare, escaped } = this.comparator
    if (escaped !== undefined) {
      return this.holds(compareBytes(source, start, end, escaped, 0, escaped.length))
    }
    if (!hasEscape(source, start, end)) return this.holds(compare(source, start, end))
    const plain = unescape(source, start, end)
    return this.holds(compare(plain, 0, plain.length))
  }

  /** Whether the cell's value passes. */
  passesValue(cell: CellView): boolean {
    return this.passes(cell.buffer, cell.contentStart, cell.valueEnd)
  }

  private holds(order: number): boolean {
    const bit = order < 0 ? less : order > 0 ? greater : order === 0 ? equal : incomparable
    return (this.mask & bit) !== 0
  }
}
