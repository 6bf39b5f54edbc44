/**
 * L. Questions that were put to a running HBase 2.6.4 and to Cellar side by side and got different
 * answers, and their neighbours, answered by HBase's source. No test of HBase asserts them, so
 * their numbers begin at 201. Cases from 301 on state what Cellar does on purpose otherwise.
 */
import {
  KeyOnlyFilter,
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  ColumnPrefixFilter,
  ColumnRangeFilter,
  ColumnValueFilter,
  DependentColumnFilter,
  QualifierFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
  FamilyFilter,
  RowFilter,
  ValueFilter,
  FilterBase,
  FilterCode,
  type CellHint,
  type Filter,
  FilterList,
  type FilterListOperator,
  SingleColumnValueFilter,
  SkipFilter,
  WhileMatchFilter,
} from '../../../src/api/filters.js'
import type { FamilyOptions, Scan } from '../../../src/api/index.js'
import {
  everywhere,
  getAll,
  putCell,
  putVersions,
  steered,
  uncompacted,
  versions,
  type TableCase,
  type Step,
} from './case.js'

const live = 'HBase 2.6.4 side by side'
const source = "HBase's source"
const named = 'named in docs/hbase.md'

const twoFamilies: Readonly<Record<string, FamilyOptions>> = { f: {}, g: {} }

function all(...filters: readonly Filter[]): Filter {
  return new FilterList('MUST_PASS_ALL', filters)
}

function scanOf(filter: Filter, cells: readonly string[], options: Partial<Scan> = {}): Step {
  return { scan: { ...options, filter }, results: cells.length === 0 ? [] : [cells] }
}

const twoVersions: Partial<Scan> = { versions: 2 }
const dependentOnAb = new DependentColumnFilter({ column: 'f:ab', dropDependentColumn: true })
const valueOfB = new ColumnValueFilter({ column: 'f:b', operator: 'EQUAL', value: 'v' })

function columnsFrom(min: string): Filter {
  return new ColumnRangeFilter({ min, max: 'd', maxInclusive: true })
}

/** What is stored of a row under `raw`, whatever `versions` says. */
function stored(cells: readonly string[]): Step {
  return { scan: { raw: true, versions: 'all' }, results: [cells] }
}

/** Two filters that replace values, both of which include every cell. */
function keysTwice(operator: FilterListOperator, ...lengths: readonly boolean[]): Filter {
  const filters = lengths.map((lengthAsValue) => new KeyOnlyFilter({ lengthAsValue }))
  return new FilterList(operator, filters)
}

function length(bytes: number): string {
  return `f:q=\0\0\0${String.fromCharCode(bytes)}`
}

function columnIs(qualifier: string, value: string, filterIfMissing = false): Filter {
  const column = { family: 'f', qualifier }
  return new SingleColumnValueFilter({ column, operator: 'EQUAL', value, filterIfMissing })
}

function counter(qualifier: string, value: number): string {
  return `${qualifier}=\0\0\0\0\0\0\0${String.fromCharCode(value)}`
}

/** Wants the row of before all over again. */
class BackwardHint extends FilterBase {
  override filterCell(): FilterCode {
    return FilterCode.seekUsingHint
  }

  nextCellHint(): CellHint {
    return { row: Buffer.from('a') }
  }
}

/** Cases on filters. */
const filterCases: readonly TableCase[] = [
  {
    number: 201,
    title: 'the first cell of a row is the first that the filters in front let through',
    source: live,
    states: everywhere,
    families: twoFamilies,
    steps: [
      putCell('a', 1, 'v'),
      putCell('a', 1, 'v', 'r', 'g'),
      scanOf(all(new FamilyFilter('NOT_EQUAL', 'f'), new FirstKeyOnlyFilter()), ['g:a']),
      scanOf(all(new FirstKeyOnlyFilter(), new FamilyFilter('NOT_EQUAL', 'f')), []),
    ],
  },
  {
    number: 202,
    title: 'columns that a filter in front rejects do not count',
    source: live,
    states: everywhere,
    steps: [
      putCell('a', 1, 'x'),
      putCell('b', 1, 'v'),
      putCell('c', 1, 'v'),
      scanOf(all(new ValueFilter('EQUAL', 'v'), new ColumnPaginationFilter(1, 0)), ['b']),
      scanOf(all(new ColumnPaginationFilter(1, 0), new ValueFilter('EQUAL', 'v')), []),
    ],
  },
  {
    number: 203,
    title: 'a filter that jumps does not jump over what a counting filter in front rejects',
    source: live,
    states: everywhere,
    families: twoFamilies,
    steps: [
      putCell('a', 1, 'v'),
      putCell('b', 1, 'v'),
      putCell('b', 1, 'v', 'r', 'g'),
      scanOf(all(new ColumnPaginationFilter(1, 2), new FamilyFilter('GREATER_OR_EQUAL', 'g')), [
        'g:b',
      ]),
    ],
  },
  {
    number: 204,
    title: 'a raw scan counts its versions behind the filter, markers too',
    source: live,
    states: uncompacted,
    families: versions(3),
    steps: [
      putCell('q', 10, 'v1'),
      putCell('q', 20, 'w'),
      scanOf(new ValueFilter('EQUAL', 'v1'), ['q@10=v1'], {
        raw: true,
        versions: 1,
      }),
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'q', timestamp: 30 }] } },
      scanOf(new ValueFilter('NOT_EQUAL', 'w'), ['q@30!DeleteColumn'], {
        raw: true,
        versions: 1,
      }),
      scanOf(new ValueFilter('NOT_EQUAL', 'w'), ['q@30!DeleteColumn', 'q@10=v1'], {
        raw: true,
        versions: 2,
      }),
    ],
  },
  {
    number: 205,
    title: 'filters that replace values work one behind the other',
    source: live,
    states: everywhere,
    steps: [
      putCell('q', 1, '12345'),
      scanOf(new KeyOnlyFilter({ lengthAsValue: true }), [length(5)]),
      ...(['MUST_PASS_ALL', 'MUST_PASS_ONE'] as const).flatMap((operator) => [
        scanOf(keysTwice(operator, false, true), [length(0)]),
        scanOf(keysTwice(operator, true, true), [length(4)]),
        scanOf(keysTwice(operator, true, false), ['f:q=']),
      ]),
    ],
  },
]

/** Cases on what compactions keep. */
const compactionCases: readonly TableCase[] = [
  {
    number: 206,
    title: 'a marker behind versions that are too many goes with them, however young it is',
    source: live,
    states: steered,
    families: { f: { timeToPurgeDeletesMilliseconds: 1000 } },
    steps: [
      putCell('q', 999_990, 'new'),
      { flush: true },
      putCell('q', 999_980, 'old'),
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'q', timestamp: 999_970 }] } },
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'other', timestamp: 999_970 }] } },
      { compact: 'major' },
      stored(['other@999970!DeleteColumn', 'q@999990=new']),
    ],
  },
  {
    number: 215,
    title: 'in the order of writing a young marker goes that lies behind the last version',
    source: live,
    states: steered,
    families: { f: { newVersionBehavior: true, timeToPurgeDeletesMilliseconds: 1000 } },
    steps: [
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'q', timestamp: 999_970 }] } },
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'other', timestamp: 999_970 }] } },
      putCell('q', 999_980, 'old'),
      putCell('q', 999_990, 'new'),
      { compact: 'major' },
      stored(['other@999970!DeleteColumn', 'q@999990=new']),
    ],
  },
]

const twoRows: readonly Step[] = [
  putCell('a', 1, 'v'),
  putCell('b', 1, 'v'),
  putCell('a', 1, 'v', 's'),
  putCell('b', 1, 'v', 's'),
]

/** Cases on what filters learn of a row. */
const countingCases: readonly TableCase[] = [
  {
    number: 207,
    title: 'a filter of first cells rejects the second one, and what is around it learns that',
    source,
    states: everywhere,
    steps: [
      ...twoRows,
      putCell('a', 1, 'v', 't'),
      {
        scan: { filter: new WhileMatchFilter(new FirstKeyOnlyFilter()) },
        results: [['r|a']],
      },
      { scan: { filter: new SkipFilter(new FirstKeyOnlyFilter()) }, results: [['t|a']] },
      {
        scan: { filter: new SkipFilter(new FirstKeyValueMatchingQualifiersFilter(['a'])) },
        results: [['t|a']],
      },
    ],
  },
  {
    number: 208,
    title: 'the cell behind the last wanted one is shown to the members in front',
    source,
    states: everywhere,
    steps: [
      ...twoRows,
      ...[new FirstKeyOnlyFilter(), new ColumnPaginationFilter(1, 0)].map((filter): Step => {
        return {
          scan: { filter: all(new ColumnCountGetFilter(1), filter) },
          results: [['r|a']],
        }
      }),
    ],
  },
  {
    number: 209,
    title: 'a limit per family comes before a filter that tests a later column',
    source,
    states: everywhere,
    steps: [
      ...twoRows,
      scanOf(columnIs('b', 'other'), []),
      {
        scan: { filter: columnIs('b', 'other'), cellsPerFamilyMax: 1 },
        results: [['r|a'], ['s|a']],
      },
      {
        scan: { filter: columnIs('b', 'other', true), cellsPerFamilyMax: 1, reversed: true },
        results: [],
      },
      { get: getAll({ filter: columnIs('b', 'other'), cellsPerFamilyMax: 1 }), cells: ['a'] },
      { get: getAll({ filter: columnIs('b', 'other'), cellsPerFamilyMax: 2 }), cells: [] },
      {
        get: getAll({
          filter: columnIs('b', 'v'),
          cellsPerFamilyMax: 1,
          cellsPerFamilyOffset: 1,
        }),
        cells: ['b'],
      },
    ],
  },
]

/** Cases on the results of updates. */
const updateCases: readonly TableCase[] = [
  {
    number: 210,
    title: 'the last mention of a column counts, and the result has a cell for each',
    source: live,
    states: everywhere,
    families: versions(3),
    steps: [
      {
        increment: {
          row: 'r',
          columns: [
            { column: 'f:n', amount: 3 },
            { column: 'f:m', amount: 1 },
            { column: 'f:n', amount: 5 },
          ],
        },
        cells: [counter('m', 1), counter('n', 3), counter('n', 5)],
      },
      { get: getAll(), cells: [counter('m', 1), counter('n', 5)] },
      {
        append: {
          row: 'r',
          columns: [
            { column: 'f:t', value: 'x' },
            { column: 'f:t', value: 'y' },
          ],
        },
        cells: ['t=x', 't=y'],
      },
      { get: getAll({ columns: ['f:t'] }), cells: ['t=y'] },
    ],
  },
  {
    number: 211,
    title: 'a row mutation gives its cells in the order of its operations',
    source: live,
    states: everywhere,
    families: twoFamilies,
    steps: [
      {
        mutateRow: {
          row: 'r',
          mutations: [
            { append: { columns: { 'g:b': '1', 'f:c': '2' } } },
            { put: { cells: { 'f:p': 'v' } } },
            { increment: { columns: { 'f:a': 7 } } },
            { append: { columns: { 'f:b': '3' }, returnResults: false } },
          ],
        },
        cells: ['c=2', 'g:b=1', counter('a', 7)],
      },
      {
        run: async ({ calls, same }) => {
          const { result } = await calls.checkAndMutate(
            { row: 'r', column: 'f:p', equals: 'v' },
            {
              mutations: [
                { append: { columns: { 'f:c': 'x' } } },
                { append: { columns: { 'f:b': 'y' } } },
                { append: { columns: { 'f:c': 'z' } } },
              ],
            },
          )
          const text = (column: string): string | undefined => result?.value(column)?.toString()
          same(result?.cells().length, 3, 'cells')
          same([text('f:c'), text('f:b'), text('f:c')], ['2x', '3y', '2x'], 'the first mention')
          const all = result?.columnCells('f:c').map(({ value }) => value.toString())
          same(all, ['2x', '2z'], 'all of the column')
        },
      },
      { get: getAll({ columns: ['f:c'] }), cells: ['c=2z'] },
    ],
  },
  {
    number: 212,
    title: 'a check whose action returns nothing has an empty result, one of puts has none',
    source: live,
    states: steered,
    steps: [
      {
        run: async ({ calls, same }) => {
          const check = { row: 'r', column: 'f:q', notExists: true } as const
          const increment = { columns: { 'f:n': 1 }, returnResults: false }
          const quiet = await calls.checkAndMutate(check, { increment })
          same([quiet.success, quiet.result?.size], [true, 0], 'an empty result')
          const mutations = [{ put: { cells: { 'f:p': 'v' } } }, { increment }]
          const mixed = await calls.checkAndMutate(check, { mutations })
          same([mixed.success, mixed.result?.size], [true, 0], 'an empty result of several')
          const put = await calls.checkAndMutate(check, { put: { cells: { 'f:p': 'v' } } })
          same([put.success, put.result], [true, undefined], 'no result')
          const failed = await calls.checkAndMutate({ ...check, column: 'f:n' }, { increment })
          same([failed.success, failed.result], [false, undefined], 'not applied')
          const absent = { ...check, column: 'f:z' } as const
          const list = await calls.checkAndMutateList([
            { check: absent, action: { increment } },
            {
              check: absent,
              action: { append: { columns: { 'f:a': 'v' }, returnResults: false } },
            },
            { check: absent, action: { put: { cells: { 'f:p': 'v' } } } },
            { check: { ...check, column: 'f:n' }, action: { increment } },
          ])
          const sizes = list.map(({ result }) => result?.size)
          same(sizes, [0, 0, undefined, undefined], 'a list')
        },
      },
    ],
  },
  {
    number: 213,
    title: 'a filter that gives hints jumps also from what a member in front rejects',
    source: live,
    states: everywhere,
    families: versions(2),
    steps: [
      putCell('a', 60, 'v'),
      putCell('ab', 60, 'v'),
      putCell('ab', 160, 'v'),
      putCell('b', 60, 'v'),
      scanOf(all(new ColumnPaginationFilter(1, 1), columnsFrom('b')), ['b@60=v'], twoVersions),
      scanOf(all(dependentOnAb, new ColumnPrefixFilter('b')), [], twoVersions),
    ],
  },
  {
    number: 214,
    title: 'filters that give no hints are not asked behind one that rejects, nor jumped for',
    source,
    states: everywhere,
    families: versions(2),
    steps: [
      putCell('', 60, 'v'),
      putCell('ab', 60, 'v'),
      putCell('ab', 160, 'v'),
      putCell('b', 60, 'v'),
      scanOf(all(dependentOnAb, new QualifierFilter('EQUAL', 'b')), ['b@60=v'], twoVersions),
      scanOf(all(dependentOnAb, valueOfB), ['b@60=v'], twoVersions),
      scanOf(all(dependentOnAb, new ColumnPrefixFilter('b')), [], twoVersions),
      scanOf(all(dependentOnAb, new ColumnPrefixFilter('b')), ['b@60=v'], {
        ...twoVersions,
        reversed: true,
      }),
      { delete: { row: 'r', families: [{ family: 'f', timestamp: 10 }] } },
      scanOf(all(dependentOnAb, new ColumnPrefixFilter('b')), [], twoVersions),
    ],
  },
]

/** What Cellar does otherwise than HBase, on purpose. */
export const namedCases: readonly TableCase[] = [
  {
    number: 301,
    title: 'a limit of no cells per family gives none',
    source: named,
    states: everywhere,
    steps: [
      ...twoRows,
      { get: getAll({ cellsPerFamilyMax: 0 }), cells: [] },
      { scan: { cellsPerFamilyMax: 0 }, results: [] },
      { scan: { cellsPerFamilyMax: 0, cellsPerFamilyOffset: 1, reversed: true }, results: [] },
    ],
  },
  {
    number: 302,
    title: 'families are loaded on demand in both directions',
    source: named,
    states: everywhere,
    families: twoFamilies,
    steps: [
      ...twoRows,
      putCell('a', 1, 'v', 'r', 'g'),
      {
        scan: { filter: columnIs('a', 'v', true), loadFamiliesOnDemand: true, reversed: true },
        results: [
          ['s|a', 's|b'],
          ['r|a', 'r|b', 'r|g:a'],
        ],
      },
    ],
  },
  {
    number: 303,
    title: 'a minor compaction of all files of a row drops its markers',
    source: named,
    states: steered,
    steps: [
      putCell('q', 10, 'v'),
      { flush: true },
      { delete: { row: 'r', columns: [{ family: 'f', qualifier: 'q', timestamp: 20 }] } },
      putCell('other', 10, 'v'),
      { flush: true },
      ...[20, 30, 40, 50].flatMap((at): Step[] => [putCell('other', at, 'v'), { flush: true }]),
      stored([
        ...['other@50', 'other@40', 'other@30', 'other@20', 'other@10'],
        'q@20!DeleteColumn',
        'q@10=v',
      ]),
      { compact: 'minor' },
      stored(['other@50']),
    ],
  },
  {
    number: 304,
    title: 'all lists of a delete count, whatever a family in another one says',
    source: named,
    states: steered,
    families: versions(3),
    steps: [
      putVersions('q', [10, 20, 30]),
      {
        delete: {
          row: 'r',
          families: [
            { family: 'f', timestamp: 10 },
            { family: 'f', timestamp: 5 },
          ],
          columns: [{ family: 'f', qualifier: 'q', timestamp: 20 }],
        },
      },
      stored(['@10!DeleteFamily', '@5!DeleteFamily', 'q@30', 'q@20!DeleteColumn', 'q@20', 'q@10']),
      { get: getAll(), cells: ['q@30'] },
    ],
  },
  {
    number: 305,
    title:
      'filters around another one ask about row keys, and inclusions that jump are no rejection',
    source: named,
    states: everywhere,
    steps: [
      ...twoRows,
      { scan: { filter: new SkipFilter(new RowFilter('EQUAL', 's')) }, rows: ['s'] },
      { scan: { filter: new WhileMatchFilter(new RowFilter('EQUAL', 's')) }, rows: [] },
      { scan: { filter: new WhileMatchFilter(new RowFilter('EQUAL', 'r')) }, rows: ['r'] },
      {
        scan: { filter: new SkipFilter(new ColumnPaginationFilter(2, 0)) },
        results: [
          ['r|a', 'r|b'],
          ['s|a', 's|b'],
        ],
      },
      { scan: { filter: new SkipFilter(new ColumnPaginationFilter(1, 0)) }, rows: [] },
    ],
  },
  {
    number: 306,
    title: 'a member of an OR list that refuses a row by its key has no say in it',
    source: named,
    states: everywhere,
    steps: [
      ...twoRows,
      {
        scan: {
          filter: new FilterList('MUST_PASS_ONE', [
            new WhileMatchFilter(new RowFilter('EQUAL', 'r')),
            new ValueFilter('EQUAL', 'other'),
          ]),
        },
        rows: ['r'],
      },
      {
        scan: {
          filter: new FilterList('MUST_PASS_ONE', [
            all(new RowFilter('EQUAL', 's'), new ValueFilter('EQUAL', 'v')),
            new ColumnPaginationFilter(1, 1),
          ]),
        },
        results: [['r|b'], ['s|a', 's|b']],
      },
    ],
  },
  {
    number: 307,
    title: 'a jump from the empty qualifier does not pass over markers of the family',
    source: named,
    states: uncompacted,
    steps: [
      putCell('', 30, 'v'),
      putCell('c', 10, 'masked'),
      putCell('d', 25, 'v'),
      { delete: { row: 'r', families: [{ family: 'f', timestamp: 20 }] } },
      scanOf(new ColumnPaginationFilter(1, 'c'), ['d']),
    ],
  },
  {
    number: 308,
    title: 'a hint that does not lead forward is a step',
    source: named,
    states: everywhere,
    steps: [
      ...twoRows,
      { scan: { filter: new BackwardHint() }, rows: [] },
      { scan: { filter: new BackwardHint(), reversed: true }, rows: [] },
    ],
  },
]

/** What HBase answers. */
export const answeredCases: readonly TableCase[] = [
  ...filterCases,
  ...compactionCases,
  ...countingCases,
  ...updateCases,
]
