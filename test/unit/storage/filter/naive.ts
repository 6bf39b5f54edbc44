/**
 * Filters spelled out over plain lists of cells, to compare the real ones with.
 *
 * Bytes are binary strings, one UTF-16 unit per byte, so that `<` compares bytes unsigned.
 */
import type { Random } from '../../../../src/base/random.js'
import { ColumnValueFilter } from '../../../../src/storage/filter/single-column-filters.js'
import { TimestampsFilter } from '../../../../src/storage/filter/cell-filters.js'
import {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
} from '../../../../src/storage/filter/column-range-filters.js'
import type { FilterOperator } from '../../../../src/storage/filter/compare.js'
import type { ComparatorOption } from '../../../../src/storage/filter/comparators.js'
import {
  FamilyFilter,
  QualifierFilter,
  RowFilter,
  ValueFilter,
} from '../../../../src/storage/filter/compare-filters.js'
import type { Filter } from '../../../../src/storage/filter/filter.js'
import { FilterList } from '../../../../src/storage/filter/filter-list.js'
import { FuzzyRowFilter } from '../../../../src/storage/filter/fuzzy-row-filter.js'
import {
  MultiRowRangeFilter,
  type RowRange,
} from '../../../../src/storage/filter/multi-row-range-filter.js'
import { InclusiveStopFilter, PrefixFilter } from '../../../../src/storage/filter/row-filters.js'

export interface NaiveCell {
  readonly row: string
  readonly family: string
  readonly qualifier: string
  readonly timestamp: number
  readonly value: string
}

/** A filter whose verdict on a cell depends on nothing but the cell. */
export interface PureFilter {
  readonly text: string
  make(): Filter
  keeps(cell: NaiveCell, reversed: boolean): boolean
}

export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Short names with the bytes that are special: zero (escaped) and 0xFF. */
export const rowParts = ['\0', 'a', 'b', '\u00ff']
export const qualifiers = [
  '',
  '\0',
  '\0a',
  'a',
  'a\0',
  'ab',
  'abc',
  'b',
  'ba',
  '\u00ff',
  '\u00ff\u00ff',
]
export const families = ['f', 'g']
export const values = ['', 'x', 'xy', 'Xyz', '\0', 'y', '\u00ff']

export class Choice {
  readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** An integer in `[0, bound)`. */
  below(bound: number): number {
    return Math.floor(this.random() * bound)
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]
  }

  row(): string {
    return Array.from({ length: 1 + this.below(3) }, () => this.of(rowParts)).join('')
  }

  flag(): boolean {
    return this.below(2) === 0
  }
}

const operators: readonly FilterOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
  'NO_OP',
]

interface Condition {
  readonly text: string
  readonly operator: FilterOperator
  readonly comparator: ComparatorOption
  holds(stored: string): boolean
}

export function holds(order: number, operator: FilterOperator): boolean {
  switch (operator) {
    case 'LESS':
      return order < 0
    case 'LESS_OR_EQUAL':
      return order <= 0
    case 'EQUAL':
      return order === 0
    case 'NOT_EQUAL':
      return order !== 0
    case 'GREATER_OR_EQUAL':
      return order >= 0
    case 'GREATER':
      return order > 0
    case 'NO_OP':
      return false
  }
}

export function orderOf(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function randomCondition(choice: Choice, constants: readonly string[]): Condition {
  const constant = choice.of(constants)
  const operator = choice.of(operators)
  const shown = JSON.stringify(constant)
  if (choice.below(4) === 0) {
    const matching: FilterOperator = choice.flag() ? 'EQUAL' : 'NOT_EQUAL'
    return {
      text: `${matching} regex ${shown}`,
      operator: matching,
      comparator: { regexString: constant, charset: 'latin1' },
      holds: (stored) => holds(stored.includes(constant) ? 0 : 1, matching),
    }
  }
  if (choice.below(3) === 0) {
    return {
      text: `${operator} prefix ${shown}`,
      operator,
      comparator: { binaryPrefix: bytes(constant) },
      holds: (stored) => holds(orderOf(stored.slice(0, constant.length), constant), operator),
    }
  }
  return {
    text: `${operator} ${shown}`,
    operator,
    comparator: bytes(constant),
    holds: (stored) => holds(orderOf(stored, constant), operator),
  }
}

function compareFilter(choice: Choice): PureFilter {
  switch (choice.below(4)) {
    case 0: {
      const condition = randomCondition(choice, [choice.row()])
      const { operator, comparator, text } = condition
      return {
        text: `Row ${text}`,
        make: () => new RowFilter(operator, comparator),
        keeps: ({ row }) => condition.holds(row),
      }
    }
    case 1: {
      const condition = randomCondition(choice, families)
      const { operator, comparator, text } = condition
      return {
        text: `Family ${text}`,
        make: () => new FamilyFilter(operator, comparator),
        keeps: ({ family }) => condition.holds(family),
      }
    }
    case 2: {
      const condition = randomCondition(choice, qualifiers)
      const { operator, comparator, text } = condition
      return {
        text: `Qualifier ${text}`,
        make: () => new QualifierFilter(operator, comparator),
        keeps: ({ qualifier }) => condition.holds(qualifier),
      }
    }
    default: {
      const condition = randomCondition(choice, values)
      const { operator, comparator, text } = condition
      return {
        text: `Value ${text}`,
        make: () => new ValueFilter(operator, comparator),
        keeps: ({ value }) => condition.holds(value),
      }
    }
  }
}

function rowKeyFilter(choice: Choice): PureFilter {
  switch (choice.below(4)) {
    case 0: {
      const prefix = choice.row()
      return {
        text: `Prefix ${JSON.stringify(prefix)}`,
        make: () => new PrefixFilter(bytes(prefix)),
        keeps: ({ row }) => row.startsWith(prefix),
      }
    }
    case 1: {
      const stop = choice.row()
      return {
        text: `InclusiveStop ${JSON.stringify(stop)}`,
        make: () => new InclusiveStopFilter(bytes(stop)),
        keeps: ({ row }, reversed) => (reversed ? row >= stop : row <= stop),
      }
    }
    case 2:
      return fuzzyFilter(choice)
    default:
      return rangesFilter(choice)
  }
}

function fuzzyFilter(choice: Choice): PureFilter {
  const patterns = Array.from({ length: 1 + choice.below(3) }, () => {
    const key = choice.row()
    return { key, mask: Array.from(key, () => choice.below(2)) }
  })
  return {
    text: `Fuzzy ${JSON.stringify(patterns)}`,
    make: () => new FuzzyRowFilter(patterns.map(({ key, mask }) => ({ key: bytes(key), mask }))),
    keeps: ({ row }) => {
      return patterns.some(({ key, mask }) => {
        if (row.length < key.length) return false
        return mask.every((any, index) => any === 1 || key[index] === row[index])
      })
    },
  }
}

function rangesFilter(choice: Choice): PureFilter {
  const ranges = Array.from({ length: 1 + choice.below(3) }, () => {
    const [a, b] = [choice.row(), choice.row()].sort((x, y) => orderOf(x, y))
    const inclusive = a === b
    return {
      start: choice.below(8) === 0 ? '' : a,
      startInclusive: inclusive || choice.flag(),
      stop: choice.below(8) === 0 ? '' : b,
      stopInclusive: inclusive || choice.flag(),
    }
  })
  return {
    text: `MultiRowRange ${JSON.stringify(ranges)}`,
    make: () => {
      return new MultiRowRangeFilter(
        ranges.map((range): RowRange => {
          return { ...range, start: bytes(range.start), stop: bytes(range.stop) }
        }),
      )
    },
    keeps: ({ row }) => {
      return ranges.some(({ start, startInclusive, stop, stopInclusive }) => {
        const behind = start === '' || row > start || (startInclusive && row === start)
        return behind && (stop === '' || row < stop || (stopInclusive && row === stop))
      })
    },
  }
}

function columnFilter(choice: Choice): PureFilter {
  switch (choice.below(5)) {
    case 0: {
      const prefix = choice.of(qualifiers)
      return {
        text: `ColumnPrefix ${JSON.stringify(prefix)}`,
        make: () => new ColumnPrefixFilter(bytes(prefix)),
        keeps: ({ qualifier }) => qualifier.startsWith(prefix),
      }
    }
    case 1: {
      const count = choice.below(4)
      const prefixes = [...new Set(Array.from({ length: count }, () => choice.of(qualifiers)))]
      return {
        text: `MultipleColumnPrefix ${JSON.stringify(prefixes)}`,
        make: () => new MultipleColumnPrefixFilter(prefixes.map(bytes)),
        keeps: ({ qualifier }) => prefixes.some((prefix) => qualifier.startsWith(prefix)),
      }
    }
    case 2: {
      const min = choice.below(4) === 0 ? undefined : choice.of(qualifiers)
      const max = choice.below(4) === 0 ? undefined : choice.of(qualifiers)
      const minInclusive = choice.flag()
      const maxInclusive = choice.flag()
      return {
        text: `ColumnRange ${JSON.stringify({ min, minInclusive, max, maxInclusive })}`,
        make: () => {
          return new ColumnRangeFilter({
            min: min === undefined ? undefined : bytes(min),
            minInclusive,
            max: max === undefined ? undefined : bytes(max),
            maxInclusive,
          })
        },
        keeps: ({ qualifier: q }) => {
          const behind = min === undefined || q > min || (minInclusive && q === min)
          return behind && (max === undefined || q < max || (maxInclusive && q === max))
        },
      }
    }
    case 3: {
      const timestamps = Array.from({ length: choice.below(4) }, () => choice.below(8))
      return {
        text: `Timestamps ${JSON.stringify(timestamps)}`,
        make: () => new TimestampsFilter(timestamps),
        keeps: ({ timestamp }) => timestamps.includes(timestamp),
      }
    }
    default: {
      const family = choice.of(families)
      const qualifier = choice.of(qualifiers)
      const condition = randomCondition(choice, values)
      const { operator, comparator: value, text } = condition
      return {
        text: `ColumnValue ${family}:${JSON.stringify(qualifier)} ${text}`,
        make: () => {
          const column = { family, qualifier: bytes(qualifier) }
          return new ColumnValueFilter({ column, operator, value })
        },
        keeps: (cell) => {
          const inColumn = cell.family === family && cell.qualifier === qualifier
          return inColumn && condition.holds(cell.value)
        },
      }
    }
  }
}

/** A random filter, or a list of them up to `depth` levels deep. */
export function randomPureFilter(choice: Choice, depth: number): PureFilter {
  if (depth > 0 && choice.below(2) === 0) {
    const all = choice.flag()
    const members = Array.from({ length: choice.below(4) }, () => {
      return randomPureFilter(choice, depth - 1)
    })
    const operator = all ? 'MUST_PASS_ALL' : 'MUST_PASS_ONE'
    return {
      text: `${operator}(${members.map(({ text }) => text).join(', ')})`,
      make: () =>
        new FilterList(
          operator,
          members.map((member) => member.make()),
        ),
      keeps: (cell, reversed) => {
        if (members.length === 0) return true
        const verdict = (member: PureFilter): boolean => member.keeps(cell, reversed)
        return all ? members.every(verdict) : members.some(verdict)
      },
    }
  }
  switch (choice.below(3)) {
    case 0:
      return compareFilter(choice)
    case 1:
      return rowKeyFilter(choice)
    default:
      return columnFilter(choice)
  }
}
