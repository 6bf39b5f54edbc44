/**
 * Filters that select columns by prefix or range. They jump to the first wanted column of a row and
 * leave the row after the last one. In reversed scans too, the columns of a row come in ascending
 * order.
 */
import { compareBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { boolean, checked, declareOptions, type OptionsOf } from '../../base/options.js'
import type { CellView } from '../cell/cell-view.js'
import { escapeQualifier, type BytesLike } from '../cell/column-name.js'
import { checkList, copyBytes } from './arguments.js'
import { FilterCode, type CellHint } from './filter.js'
import { KeyFilter } from './filter-base.js'

/**
 * Compares the beginning of a cell's qualifier with an escaped prefix; 0 = it begins with the
 * prefix.
 */
function compareToPrefix(cell: CellView, prefix: Buffer): number {
  const end = Math.min(cell.qualifierEnd, cell.qualifierStart + prefix.length)
  return compareBytes(cell.buffer, cell.qualifierStart, end, prefix, 0, prefix.length)
}

/** Returns the columns whose qualifier begins with a prefix (HBase: ColumnPrefixFilter). */
export class ColumnPrefixFilter extends KeyFilter {
  /** Always true. */
  readonly givesHints = true
  private readonly prefix: Buffer
  private readonly escaped: Buffer

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(prefix: BytesLike) {
    super()
    this.prefix = copyBytes(prefix, 'prefix')
    this.escaped = escapeQualifier(this.prefix)
  }

  override filterCell(cell: CellView): FilterCode {
    const order = compareToPrefix(cell, this.escaped)
    if (order === 0) return FilterCode.include
    return order < 0 ? FilterCode.seekUsingHint : FilterCode.nextRow
  }

  /** The prefix. */
  nextCellHint(cell: CellView): CellHint {
    return { row: cell.copyRow(), qualifier: this.prefix }
  }
}

/**
 * Returns the columns whose qualifier begins with one of several prefixes (HBase:
 * MultipleColumnPrefixFilter).
 */
export class MultipleColumnPrefixFilter extends KeyFilter {
  /** Always true. */
  readonly givesHints = true
  /** Ascending; no prefix begins with another one. */
  private readonly prefixes: readonly Buffer[]
  private readonly escaped: readonly Buffer[]
  /** Index of the prefix that last matched or was jumped to. */
  private index = 0

  /** Throws `ERR_INVALID_ARGUMENT`, also if a prefix is given twice. */
  constructor(prefixes: readonly BytesLike[]) {
    super()
    const sorted = checkList(prefixes, 'prefixes')
      .map((prefix) => copyBytes(prefix, 'prefix'))
      .sort((a, b) => Buffer.compare(a, b))
    const kept: Buffer[] = []
    for (const [index, prefix] of sorted.entries()) {
      if (index > 0 && prefix.equals(sorted[index - 1])) {
        throw invalidArgument(`prefix '${prefix.toString()}' is given twice`)
      }
      const last = kept.at(-1)
      if (last === undefined || !prefix.subarray(0, last.length).equals(last)) kept.push(prefix)
    }
    this.prefixes = kept
    this.escaped = kept.map(escapeQualifier)
  }

  override reset(): void {
    this.index = 0
  }

  override filterCell(cell: CellView): FilterCode {
    const escaped = this.escaped
    // The next family of the row begins again with the first prefix.
    if (this.index > 0 && compareToPrefix(cell, escaped[this.index - 1]) <= 0) this.index = 0
    for (let i = this.index; i < escaped.length; i++) {
      const order = compareToPrefix(cell, escaped[i])
      if (order > 0) continue
      this.index = i
      return order === 0 ? FilterCode.include : FilterCode.seekUsingHint
    }
    return FilterCode.nextRow
  }

  /** The next of the prefixes. */
  nextCellHint(cell: CellView): CellHint {
    return { row: cell.copyRow(), qualifier: this.prefixes[this.index] }
  }
}

const rangeOptions = declareOptions('a ColumnRangeFilter', {
  /** First qualifier. Default: no lower bound. */
  min: checked(copyBytes),
  /** Default true. */
  minInclusive: boolean(true),
  /** Last qualifier. Default: no upper bound. */
  max: checked(copyBytes),
  /** Default false. */
  maxInclusive: boolean(false),
})

/** Options of {@link ColumnRangeFilter}; an absent bound is open. */
export interface ColumnRangeOptions extends OptionsOf<typeof rangeOptions> {}

/** Returns the columns whose qualifier is in a range (HBase: ColumnRangeFilter). */
export class ColumnRangeFilter extends KeyFilter {
  /** Always true. */
  readonly givesHints = true
  private readonly min: Buffer | undefined
  private readonly escapedMin: Buffer | undefined
  private readonly minInclusive: boolean
  private readonly escapedMax: Buffer | undefined
  private readonly maxInclusive: boolean

  /** Throws `ERR_INVALID_ARGUMENT`. A range with `min` above `max` is empty. */
  constructor(options: ColumnRangeOptions) {
    super()
    const { min, minInclusive, max, maxInclusive } = rangeOptions.read(options)
    this.min = min
    this.escapedMin = min && escapeQualifier(min)
    this.minInclusive = minInclusive
    this.escapedMax = max && escapeQualifier(max)
    this.maxInclusive = maxInclusive
  }

  override filterCell(cell: CellView): FilterCode {
    const { buffer, qualifierStart, qualifierEnd } = cell
    const max = this.escapedMax
    if (max !== undefined) {
      const order = compareBytes(buffer, qualifierStart, qualifierEnd, max, 0, max.length)
      if (order > 0 || (order === 0 && !this.maxInclusive)) return FilterCode.nextRow
    }
    const min = this.escapedMin
    if (min === undefined) return FilterCode.include
    const order = compareBytes(buffer, qualifierStart, qualifierEnd, min, 0, min.length)
    if (order < 0) return FilterCode.seekUsingHint
    return order === 0 && !this.minInclusive ? FilterCode.nextColumn : FilterCode.include
  }

  /** The first qualifier of the range. */
  nextCellHint(cell: CellView): CellHint | undefined {
    return this.min === undefined ? undefined : { row: cell.copyRow(), qualifier: this.min }
  }
}
