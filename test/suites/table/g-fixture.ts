/** G. Filters, on the fixture of TestFilter. */
import {
  ColumnPaginationFilter,
  type FilterOperator,
  type ComparatorOption,
  QualifierFilter,
  RowFilter,
  ValueFilter,
  FilterList,
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  SkipFilter,
  WhileMatchFilter,
} from '../../../src/api/filters.js'
import type { Scan } from '../../../src/api/index.js'
import { everywhere, type TableCase, type Step } from './case.js'

/**
 * The fixture of TestFilter: rows -0 to -3 in two groups, of which the ones numbered 1 are deleted.
 */

const numbers = [0, 2, 3]
const rowsOne = numbers.map((n) => `testRowOne-${n}`)
const rowsTwo = numbers.map((n) => `testRowTwo-${n}`)
const allRows = [...rowsOne, ...rowsTwo]
const fixtureFamilies = { A: {}, B: {} }

function groupOf(row: string): string {
  return row.includes('One') ? 'One' : 'Two'
}

/** The cells of a fixture row, or those of them that are named by `A:-0`. */
function cellsOfRow(row: string, wanted?: readonly string[]): string[] {
  const names = ['A', 'B'].flatMap((family) => numbers.map((n) => `${family}:-${n}`))
  const group = groupOf(row)
  return names
    .filter((name) => wanted?.includes(name) ?? true)
    .map((name) => `${row}|${name.replace(':', `:testQualifier${group}`)}=testValue${group}`)
}

function makeFixture(): Step[] {
  const steps: Step[] = []
  for (const group of ['One', 'Two']) {
    const qualifiers = [0, 1, 2, 3].map((n) => `testQualifier${group}-${n}`)
    for (const n of [0, 1, 2, 3]) {
      const row = `testRow${group}-${n}`
      const cells = ['A', 'B'].flatMap((family) => {
        return qualifiers.map((qualifier) => {
          return { column: { family, qualifier }, value: `testValue${group}` }
        })
      })
      steps.push({ put: { row, cells } })
      const columns = ['A', 'B'].map((family) => ({ family, qualifier: qualifiers[1] }))
      steps.push(n === 1 ? { delete: { row } } : { delete: { row, columns } })
    }
  }
  return steps
}

/** Complete fixture rows, forward, and reversed if the filter means the same then. */
function wholeRows(makeScan: () => Scan, rows: readonly string[], backward = true): Step[] {
  const results = rows.map((row) => cellsOfRow(row))
  const steps: Step[] = [{ scan: makeScan(), results }]
  if (backward) {
    steps.push({ scan: { ...makeScan(), reversed: true }, results: [...results].reverse() })
  }
  return steps
}

function rowFilter(operator: FilterOperator, comparator: ComparatorOption): () => Scan {
  return () => ({ filter: new RowFilter(operator, comparator) })
}

function pagination(
  scan: Scan,
  expected: Readonly<Record<'One' | 'Two', readonly string[]>>,
): Step[] {
  const rows = allRows.filter((row) => expected[groupOf(row) as 'One' | 'Two'].length > 0)
  const results = rows.map((row) => cellsOfRow(row, expected[groupOf(row) as 'One' | 'Two']))
  return [
    { scan, results },
    { scan: { ...scan, reversed: true }, results: [...results].reverse() },
  ]
}

/** Cases about filters over one common table. */
export const filterFixtureCases: readonly TableCase[] = [
  {
    number: 110,
    title: 'row filters on the fixture',
    source: 'TestFilter',
    states: everywhere,
    families: fixtureFamilies,
    steps: [
      ...makeFixture(),
      ...[6, 4, 2, 1].flatMap((n) => {
        return wholeRows(() => ({ filter: new PageFilter(n) }), allRows.slice(0, n), false)
      }),
      {
        scan: { filter: new PageFilter(4), reversed: true },
        rows: [...allRows].reverse().slice(0, 4),
      },
      ...wholeRows(() => ({ filter: new PrefixFilter('testRowOne') }), rowsOne),
      ...wholeRows(
        () => ({ startRow: rowsOne[0], filter: new InclusiveStopFilter('testRowOne-3') }),
        rowsOne,
        false,
      ),
      {
        scan: { reversed: true, filter: new InclusiveStopFilter('testRowTwo-0') },
        rows: [...rowsTwo].reverse(),
      },
      { scan: { startRow: rowsOne[0], stopRow: 'testRowOne-3' }, rows: rowsOne.slice(0, 2) },
      ...wholeRows(rowFilter('EQUAL', 'testRowOne-2'), ['testRowOne-2']),
      ...wholeRows(rowFilter('EQUAL', { regexString: 'testRow.+-2' }), [
        'testRowOne-2',
        'testRowTwo-2',
      ]),
      ...wholeRows(rowFilter('LESS', 'testRowOne-2'), allRows.slice(0, 1)),
      ...wholeRows(rowFilter('LESS_OR_EQUAL', 'testRowOne-2'), allRows.slice(0, 2)),
      ...wholeRows(
        rowFilter('NOT_EQUAL', 'testRowOne-2'),
        allRows.filter((row) => row !== 'testRowOne-2'),
      ),
      ...wholeRows(rowFilter('GREATER_OR_EQUAL', 'testRowOne-2'), allRows.slice(1)),
      ...wholeRows(rowFilter('GREATER', 'testRowOne-2'), allRows.slice(2)),
      ...wholeRows(rowFilter('NO_OP', 'testRowOne-2'), []),
    ],
  },
  {
    number: 112,
    title: 'a row is skipped when one of its cells is rejected',
    source: 'TestFilter#testSkipFilter',
    states: everywhere,
    families: fixtureFamilies,
    steps: [
      ...makeFixture(),
      ...wholeRows(() => {
        const inner = new QualifierFilter('NOT_EQUAL', 'testQualifierOne-2')
        return { filter: new SkipFilter(inner) }
      }, rowsTwo),
    ],
  },
  {
    number: 113,
    title: 'and, or',
    source: 'TestFilter#testFilterList',
    states: everywhere,
    families: fixtureFamilies,
    steps: [
      ...makeFixture(),
      {
        scan: {
          columns: ['A'],
          filter: new FilterList('MUST_PASS_ALL', [
            new RowFilter('EQUAL', { regexString: '.+-2' }),
            new QualifierFilter('EQUAL', { regexString: '.+-2' }),
            new ValueFilter('EQUAL', { substring: 'One' }),
          ]),
        },
        results: [['testRowOne-2|A:testQualifierOne-2=testValueOne']],
      },
      ...wholeRows(() => {
        return {
          filter: new FilterList('MUST_PASS_ONE', [
            new RowFilter('EQUAL', { regexString: '.+Two.+' }),
            new QualifierFilter('EQUAL', { regexString: '.+-2' }),
            new ValueFilter('EQUAL', { substring: 'One' }),
          ]),
        }
      }, allRows),
    ],
  },
  {
    number: 115,
    title: 'pages of columns by number and by qualifier',
    source: 'TestFilter#testColumnPaginationFilter, #testColumnPaginationFilterColumnOffset',
    states: everywhere,
    families: fixtureFamilies,
    steps: [
      ...makeFixture(),
      ...pagination({ filter: new ColumnPaginationFilter(1, 0) }, { One: ['A:-0'], Two: ['A:-0'] }),
      ...pagination({ filter: new ColumnPaginationFilter(1, 2) }, { One: ['A:-3'], Two: ['A:-3'] }),
      ...pagination(
        { filter: new ColumnPaginationFilter(2, 2) },
        { One: ['A:-3', 'B:-0'], Two: ['A:-3', 'B:-0'] },
      ),
      ...pagination({ filter: new ColumnPaginationFilter(20, 140) }, { One: [], Two: [] }),
      ...pagination(
        { filter: new ColumnPaginationFilter(1, 'testQualifierOne-1') },
        { One: ['A:-2'], Two: ['A:-0'] },
      ),
      ...pagination(
        { filter: new ColumnPaginationFilter(3, 'testQualifierTwo-2') },
        { One: [], Two: ['A:-2', 'A:-3', 'B:-0'] },
      ),
      ...pagination(
        { columns: ['B'], filter: new ColumnPaginationFilter(2, 'testQualifierTwo-2') },
        { One: [], Two: ['B:-2', 'B:-3'] },
      ),
    ],
  },
  {
    number: 118,
    title: 'a scan ends with the first row that a page rejects',
    source: 'TestFilter#testWhileMatchFilterWithFilterRow',
    states: everywhere,
    families: fixtureFamilies,
    steps: [
      ...makeFixture(),
      ...wholeRows(
        () => ({ filter: new WhileMatchFilter(new PageFilter(4)) }),
        allRows.slice(0, 4),
        false,
      ),
    ],
  },
]
