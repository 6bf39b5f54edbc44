/** Comparators, operators and the arguments of filters. */
import t from 'tap'
import { encodeBigDecimal } from '../../../../src/storage/filter/big-decimal.js'
import { Comparison, type FilterOperator } from '../../../../src/storage/filter/compare.js'
import { seededRandom } from '../../../../src/base/random.js'
import type { ComparatorOption } from '../../../../src/storage/filter/comparators.js'
import { KeyOnlyFilter, TimestampsFilter } from '../../../../src/storage/filter/cell-filters.js'
import { ColumnPaginationFilter } from '../../../../src/storage/filter/column-count-filters.js'
import {
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
} from '../../../../src/storage/filter/column-range-filters.js'
import { DependentColumnFilter } from '../../../../src/storage/filter/dependent-column-filter.js'
import { FilterList } from '../../../../src/storage/filter/filter-list.js'
import {
  matchesFuzzyRow,
  FuzzyRowFilter,
  nextFuzzyRow,
} from '../../../../src/storage/filter/fuzzy-row-filter.js'
import { MultiRowRangeFilter } from '../../../../src/storage/filter/multi-row-range-filter.js'
import {
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
} from '../../../../src/storage/filter/row-filters.js'
import { SingleColumnValueFilter } from '../../../../src/storage/filter/single-column-filters.js'
import { SkipFilter } from '../../../../src/storage/filter/wrapping-filters.js'
import type { Filter } from '../../../../src/storage/filter/filter.js'

function passes(
  stored: string | Buffer,
  operator: FilterOperator,
  option: ComparatorOption,
): boolean {
  const source = typeof stored === 'string' ? Buffer.from(stored) : stored
  return new Comparison(operator, option).passes(source, 0, source.length)
}

function long(value: bigint): Buffer {
  const result = Buffer.alloc(8)
  result.writeBigInt64BE(value)
  return result
}

void t.test('the stored value stands on the left of the operator', async (t) => {
  const expected: Readonly<Record<FilterOperator, string>> = {
    LESS: 'a',
    LESS_OR_EQUAL: 'ab',
    EQUAL: 'b',
    NOT_EQUAL: 'ac',
    GREATER_OR_EQUAL: 'bc',
    GREATER: 'c',
    NO_OP: '',
  }
  for (const [operator, letters] of Object.entries(expected)) {
    const found = ['a', 'b', 'c'].filter((each) => passes(each, operator as FilterOperator, 'b'))
    t.equal(found.join(''), letters, operator)
  }
})

void t.test('byte comparators look at all, the first or some bytes', async (t) => {
  t.equal(passes('abc', 'EQUAL', { binary: 'abc' }), true)
  t.equal(passes('abcd', 'EQUAL', { binary: 'abc' }), false)
  t.equal(passes('abcd', 'EQUAL', { binaryPrefix: 'abc' }), true)
  t.equal(passes('ab', 'LESS', { binaryPrefix: 'abc' }), true)
  t.equal(passes('abd', 'GREATER', { binaryPrefix: 'abc' }), true)
  t.equal(passes('xxabcxx', 'EQUAL', { binaryComponent: 'abc', offset: 2 }), true)
  t.equal(passes('xxabdxx', 'GREATER', { binaryComponent: 'abc', offset: 2 }), true)
  t.equal(passes('x', 'LESS', { binaryComponent: 'abc', offset: 2 }), true)
  t.equal(passes(Buffer.of(0xf0), 'EQUAL', { bit: Buffer.of(0x10), operator: 'AND' }), true)
  t.equal(passes(Buffer.of(0xf0), 'EQUAL', { bit: Buffer.of(0x01), operator: 'AND' }), false)
  t.equal(passes(Buffer.of(0), 'EQUAL', { bit: Buffer.of(1), operator: 'OR' }), true)
  t.equal(passes(Buffer.of(7), 'EQUAL', { bit: Buffer.of(7), operator: 'XOR' }), false)
  t.equal(passes(Buffer.of(7, 7), 'EQUAL', { bit: Buffer.of(7), operator: 'OR' }), false)
  t.equal(passes(Buffer.of(7, 7), 'NOT_EQUAL', { bit: Buffer.of(7), operator: 'OR' }), true)
  t.equal(passes('', 'EQUAL', { null: true }), true)
  t.equal(passes('x', 'NOT_EQUAL', { null: true }), true)
})

void t.test('number comparators', async (t) => {
  for (const [a, b] of [
    [-1n, 1n],
    [1n, 2n ** 40n],
    [-(2n ** 63n), 0n],
    [2n ** 32n - 1n, 2n ** 32n],
  ]) {
    t.equal(passes(long(a), 'LESS', { long: b }), true, `${a} < ${b}`)
    t.equal(passes(long(b), 'GREATER', { long: a }), true, `${b} > ${a}`)
    t.equal(passes(long(a), 'EQUAL', { long: a }), true)
  }
  t.equal(passes('short', 'LESS_OR_EQUAL', { long: 7 }), false)
  t.equal(passes('short', 'GREATER', { long: 7 }), false)
  t.equal(passes('short', 'NOT_EQUAL', { long: 7 }), true)
  const ascending = ['-1e9', '-12.5', '-0.001', '0', '1e-300', '0.5', '12.49', '12.5', '1e300']
  for (const [i, a] of ascending.entries()) {
    for (const [j, b] of ascending.entries()) {
      const stored = encodeBigDecimal(a)
      t.equal(passes(stored, 'LESS', { bigDecimal: b }), i < j, `${a} < ${b}`)
      t.equal(passes(stored, 'EQUAL', { bigDecimal: b }), i === j, `${a} = ${b}`)
    }
  }
  t.equal(passes(encodeBigDecimal('1.50'), 'EQUAL', { bigDecimal: '1.5' }), true)
  t.same([...encodeBigDecimal('12.50')], [0, 0, 0, 2, 0x04, 0xe2])
  t.same([...encodeBigDecimal(-1n)], [0, 0, 0, 0, 0xff])
  t.equal(passes(Buffer.of(0x80, 0, 0, 0, 1), 'GREATER', { bigDecimal: '1' }), true, 'huge scale')
  t.equal(passes(Buffer.of(0x7f, 255, 255, 255, 1), 'LESS', { bigDecimal: '1' }), true)
  t.equal(passes('abc', 'LESS', { bigDecimal: '1' }), false)
})

void t.test('text comparators find', async (t) => {
  t.equal(passes('xxRow-2\nyy', 'EQUAL', { regexString: 'row.+y' }), false)
  t.equal(passes('xxRow-2\nyy', 'EQUAL', { regexString: 'Row.+y' }), true)
  t.equal(passes('xxRow-2', 'EQUAL', { regexString: '(?i)row' }), true)
  t.equal(passes('xxRow-2', 'EQUAL', { regexString: 'row', ignoreCase: true }), true)
  t.equal(passes('xxRow-2', 'NOT_EQUAL', { regexString: '^Row' }), true)
  t.equal(passes(Buffer.of(0xe9), 'EQUAL', { regexString: '^\u00e9$', charset: 'latin1' }), true)
  t.equal(passes('\u00e9', 'EQUAL', { regexString: '^\u00e9$' }), true)
  const expression = /a/g
  const comparison = new Comparison('EQUAL', { regexString: expression })
  const source = Buffer.from('a')
  t.same(
    [1, 2, 3].map(() => comparison.passes(source, 0, 1)),
    [true, true, true],
    'no memory',
  )
  t.equal(passes('Some TEXT', 'EQUAL', { substring: 'e text' }), true)
  t.equal(passes('Some TEXT', 'EQUAL', { substring: 'texts' }), false)
})

void t.test('fuzzy patterns: matching and the next candidate', async (t) => {
  const hex = (text: string): Buffer => Buffer.from(text, 'hex')
  const key = hex('010001')
  const mask = Buffer.of(0, 1, 0)
  const next = (row: string, reversed = false): string | undefined => {
    return nextFuzzyRow(hex(row), key, mask, reversed)?.toString('hex')
  }
  t.equal(matchesFuzzyRow(hex('0180010001'), key, mask), true)
  t.equal(matchesFuzzyRow(hex('0180020001'), key, mask), false)
  t.equal(matchesFuzzyRow(hex('0180'), key, mask), false)
  t.equal(next('0180020001'), '018101')
  t.equal(next('0203010101'), undefined)
  t.equal(next('01ff02'), undefined)
  t.equal(next('0180000001'), '018001')
  t.equal(next('00'), '010001')
  t.equal(next('0180'), '018001')
  t.equal(next('0180020001', true), '018001ffff')
  t.equal(next('0180000001', true), '017f01ffff')
  t.equal(next('0100000001', true), undefined)
  t.equal(next('0180', true), '017f01')
})

void t.test(
  'the next fuzzy candidate is the nearest one (exhaustive over small strings)',
  async (t) => {
    const letters = [0, 1, 0xff]
    const strings: Buffer[] = []
    for (let length = 1; length <= 3; length++) {
      for (let n = 0; n < 3 ** length; n++) {
        strings.push(
          Buffer.from(Array.from({ length }, (_, i) => letters[Math.floor(n / 3 ** i) % 3])),
        )
      }
    }
    strings.sort((a, b) => Buffer.compare(a, b))
    let checked = 0
    for (const key of strings) {
      for (let bits = 0; bits < 2 ** key.length; bits++) {
        const mask = Buffer.from(Array.from(key, (_, i) => (bits >> i) & 1))
        for (const row of strings) {
          if (matchesFuzzyRow(row, key, mask)) continue
          const next = nextFuzzyRow(row, key, mask, false)
          const behind = strings.find((each) => {
            return Buffer.compare(each, row) > 0 && matchesFuzzyRow(each, key, mask)
          })
          // Bytes between the letters exist, so the real candidate may lie before the listed one.
          const isFine =
            next === undefined
              ? behind === undefined
              : Buffer.compare(next, row) > 0 &&
                matchesFuzzyRow(next, key, mask) &&
                (behind === undefined || Buffer.compare(next, behind) <= 0)
          if (!isFine)
            t.fail(`${key.toString('hex')} ${mask.toString('hex')} ${row.toString('hex')}`)
          const before = strings.find((each) => {
            return Buffer.compare(each, row) < 0 && matchesFuzzyRow(each, key, mask)
          })
          if (before !== undefined && nextFuzzyRow(row, key, mask, true) === undefined) {
            t.fail(`reversed ${key.toString('hex')} ${mask.toString('hex')} ${row.toString('hex')}`)
          }
          checked++
        }
      }
    }
    t.ok(checked > 5000, `${checked} triples`)
  },
)

void t.test('random rows are drawn by the source that is given', async (t) => {
  const rows = 10_000
  const count = (filter: Filter): number => {
    let kept = 0
    for (let i = 0; i < rows; i++) if (!filter.filterRowKey(Buffer.from('r'))) kept++
    return kept
  }
  const kept = count(new RandomRowFilter(0.3))
  t.ok(kept > 2700 && kept < 3300, `${kept} of ${rows}`)
  t.equal(count(new RandomRowFilter(0.3)), kept, 'repeatable')
  t.equal(count(new RandomRowFilter(0.5, { random: () => 0.4 })), rows)
  t.equal(count(new RandomRowFilter(0.5, { random: () => 0.6 })), 0)
  t.equal(count(new RandomRowFilter(-1)), 0)
  t.equal(count(new RandomRowFilter(2)), rows)
  const random = seededRandom(1)
  const numbers = Array.from({ length: 1000 }, random)
  t.ok(numbers.every((each) => each >= 0 && each < 1))
  t.equal(new Set(numbers).size, 1000)
})

void t.test('bad arguments are refused', async (t) => {
  const wrong = (value: unknown): never => value as never
  const makers: readonly (readonly [string, () => unknown])[] = [
    ['operator', () => new Comparison(wrong('BETWEEN'), 'x')],
    ['comparator', () => new Comparison('EQUAL', wrong(7))],
    ['comparator form', () => new Comparison('EQUAL', wrong({ binar: 'x' }))],
    ['order of an expression', () => new Comparison('LESS', { regexString: 'x' })],
    ['expression', () => new Comparison('EQUAL', { regexString: '(' })],
    ['charset', () => new Comparison('EQUAL', { regexString: 'x', charset: wrong('utf16') })],
    ['long', () => new Comparison('EQUAL', { long: 2n ** 63n })],
    ['decimal', () => new Comparison('EQUAL', { bigDecimal: '1,5' })],
    ['bit operator', () => new Comparison('EQUAL', { bit: 'x', operator: wrong('NAND') })],
    ['component offset', () => new Comparison('EQUAL', { binaryComponent: 'x', offset: -1 })],
    ['prefix', () => new PrefixFilter(wrong(undefined))],
    ['page', () => new PageFilter(-1)],
    ['page fraction', () => new PageFilter(1.5)],
    ['pagination', () => new ColumnPaginationFilter(1, wrong(null))],
    ['column', () => new SingleColumnValueFilter({ column: 'f', operator: 'EQUAL', value: 'x' })],
    ['options', () => new SingleColumnValueFilter(wrong(undefined))],
    ['dependent', () => new DependentColumnFilter({ column: 'f:q', operator: 'EQUAL' })],
    ['flag', () => new KeyOnlyFilter({ lengthAsValue: wrong('yes') })],
    ['timestamps', () => new TimestampsFilter([-1])],
    ['range', () => new ColumnRangeFilter({ min: wrong(3) })],
    ['twice', () => new MultipleColumnPrefixFilter(['a', 'a'])],
    ['no patterns', () => new FuzzyRowFilter([])],
    ['mask length', () => new FuzzyRowFilter([{ key: 'ab', mask: [0] }])],
    ['mask values', () => new FuzzyRowFilter([{ key: 'a', mask: [2] }])],
    ['no ranges', () => new MultiRowRangeFilter([])],
    ['range order', () => new MultiRowRangeFilter([{ start: 'b', stop: 'a' }])],
    ['empty range', () => new MultiRowRangeFilter([{ start: 'a', stop: 'a' }])],
    ['inner', () => new SkipFilter(wrong({}))],
    ['list operator', () => new FilterList(wrong('AND'), [])],
    ['list members', () => new FilterList('MUST_PASS_ALL', [wrong('x')])],
    ['chance', () => new RandomRowFilter(NaN)],
  ]
  for (const [what, make] of makers) {
    t.throws(make, { name: 'CellarError', code: 'ERR_INVALID_ARGUMENT' }, what)
  }
})

void t.test(
  'expressions that make a backtracking engine hang are searched in linear time',
  async (t) => {
    const text = 'a'.repeat(50_000)
    for (const regexString of ['^(a+)+$', '(a|aa)+$', '(.*)*b', '(a|a?)+c']) {
      t.equal(passes(`${text}!`, 'EQUAL', { regexString }), false, regexString)
    }
    t.equal(passes(text, 'EQUAL', { regexString: '^(a+)+$' }), true)
  },
)

void t.test('what the linear engine lacks is refused and named', async (t) => {
  const refused = {
    code: 'ERR_INVALID_ARGUMENT',
    message: /back-references and look-around need the engine 'backtracking'/,
  }
  for (const regexString of ['(a)\\1', 'a(?=b)', '(?<!a)b', '(?!x)y']) {
    t.throws(() => new Comparison('EQUAL', { regexString }), refused, regexString)
    t.doesNotThrow(() => new Comparison('EQUAL', { regexString, engine: 'backtracking' }))
    t.doesNotThrow(() => new Comparison('EQUAL', { regexString: new RegExp(regexString) }))
  }
  t.equal(passes('xx', 'EQUAL', { regexString: '(x)\\1', engine: 'backtracking' }), true)
  const expression = { regexString: /a/, engine: 'linear' } as const
  t.throws(() => new Comparison('EQUAL', expression), { code: 'ERR_INVALID_ARGUMENT' })
  const engine = 'lineal' as 'linear'
  t.throws(() => new Comparison('EQUAL', { regexString: 'a', engine }), {
    message: /did you mean 'linear'\?$/,
  })
})
