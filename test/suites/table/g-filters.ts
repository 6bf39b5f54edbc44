/** G. Filters, on rows of their own; the cases on the fixture of TestFilter are in g-fixture.ts. */
import {
  KeyOnlyFilter,
  TimestampsFilter,
  ColumnCountGetFilter,
  ColumnRangeFilter,
  type FilterOperator,
  QualifierFilter,
  ValueFilter,
  DependentColumnFilter,
  type DependentColumnOptions,
  FilterList,
  FilterBase,
  FuzzyRowFilter,
  PageFilter,
  PrefixFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
} from '../../../src/api/filters.js'
import type { Check, CheckAction, Scan } from '../../../src/api/index.js'
import {
  allVersions,
  everywhere,
  putCell,
  putVersions,
  steered,
  uncompacted,
  versions,
  type TableCase,
  type Step,
} from './case.js'

const flush: Step = { flush: true }

const tenColumns = Array.from({ length: 10 }, (_, index) => `q${index}`)

function valueCondition(operator: FilterOperator, value: string): SingleColumnValueFilter {
  return new SingleColumnValueFilter({ column: 'f:q', operator, value })
}

function dependent(options: Partial<DependentColumnOptions>): Scan {
  return { versions: 'all', filter: new DependentColumnFilter({ column: 'A:q', ...options }) }
}

/** Case 103: no filter that judges rows, so that it can be cut into batches. */
class FirstIsEssential extends FilterBase {
  isFamilyEssential(family: string): boolean {
    return family === 'first'
  }
}

function joinedRow(row: string, essential: string, columns: readonly string[]): Step {
  const cells = columns.map((column) => ({ column, value: essential }))
  return { put: { row, cells } }
}

function conditionOf(a: string, b: string): Omit<Check, 'row'> {
  const make = (name: string, value: string): SingleColumnValueFilter => {
    return new SingleColumnValueFilter({ column: `f:${name}`, operator: 'EQUAL', value })
  }
  return { filter: new FilterList('MUST_PASS_ALL', [make('A', a), make('B', b)]) }
}

function checkA(max: number): Omit<Check, 'row'> {
  const filter = new SingleColumnValueFilter({ column: 'f:A', operator: 'EQUAL', value: 'a' })
  return { filter, timeRange: [0, max] }
}

function filterCheck(condition: Omit<Check, 'row'>, action: CheckAction, success: boolean): Step {
  return { check: { row: 'r', ...condition } as Check, action, success }
}

const timestampRows = ['row0', 'row1', 'row2', 'row3', 'row4']

/** Versions in an order that is neither ascending nor descending. */
const mixedTimestamps = Array.from({ length: 400 }, (_, index) => ((index * 7) % 400) + 1)

const fuzzyRows = ['0180010001', '0180020001', '01810100', '018102', '0203010101', '02040101']

function fuzzyScan(reversed: boolean): Scan {
  const pattern = { key: Buffer.from('010001', 'hex'), mask: [0, 1, 0] }
  return { reversed, filter: new FuzzyRowFilter([pattern]) }
}

/** Cases about filters. */
export const filterCases: readonly TableCase[] = [
  {
    number: 44,
    title: 'a value range over two filters skips a deleted row',
    source: 'TestHRegion#testIndexesScanWithOneDeletedRow',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putCell('q', 1, '1', 'row1'),
      flush,
      { delete: { row: 'row1', timestamp: 1 } },
      putCell('q', 2, '2', 'row2'),
      {
        scan: {
          filter: new FilterList('MUST_PASS_ALL', [
            valueCondition('GREATER_OR_EQUAL', '0'),
            valueCondition('LESS_OR_EQUAL', '3'),
          ]),
        },
        results: [['row2|q@2=2']],
      },
    ],
  },
  {
    number: 67,
    title: 'a raw scan with a filter counts versions behind it',
    source: 'TestStoreScanner#testReadVersionWithRawAndFilter',
    states: steered,
    steps: [
      putVersions('a', [3, 2, 1]),
      {
        scan: { raw: true, versions: 2, filter: new QualifierFilter('EQUAL', 'a') },
        results: [['a@3', 'a@2']],
      },
    ],
  },
  {
    number: 97,
    title: 'offset inside a family counts behind the filter',
    source: 'TestFromClientSide#testGetRowOffset',
    states: everywhere,
    steps: [
      {
        put: { row: 'r', cells: Object.fromEntries(tenColumns.map((name) => [`f:${name}`, 'v'])) },
      },
      {
        get: {
          row: 'r',
          cellsPerFamilyOffset: 1,
          filter: new ColumnRangeFilter({ min: 'q2', max: 'q5', maxInclusive: true }),
        },
        cells: ['q3', 'q4', 'q5'],
      },
    ],
  },
  {
    number: 103,
    title: 'the tested family is left out, the others stay in order',
    source: 'TestHRegion#testScanner_JoinedScanners',
    states: everywhere,
    families: { alpha: {}, essential: {}, joined: {} },
    steps: [
      joinedRow('row1', 'a', ['essential:col', 'joined:col']),
      joinedRow('row2', 'b', ['alpha:col', 'essential:col', 'essential:other', 'joined:col']),
      joinedRow('row3', 'c', ['essential:col', 'joined:col']),
      ...[false, true].map((loadFamiliesOnDemand): Step => {
        const filter = new SingleColumnValueExcludeFilter({
          column: 'essential:col',
          operator: 'NOT_EQUAL',
          value: 'c',
          filterIfMissing: true,
        })
        return {
          scan: { filter, loadFamiliesOnDemand },
          results: [
            ['row1|joined:col'],
            ['row2|alpha:col', 'row2|essential:other', 'row2|joined:col'],
          ],
        }
      }),
    ],
  },
  {
    number: 103,
    title: 'a filter that judges no rows can be cut into batches',
    source: 'TestHRegion#testScanner_JoinedScannersWithLimits',
    states: everywhere,
    families: { first: {}, second: {} },
    steps: [
      ...Array.from({ length: 10 }, (_, index): Step => {
        const more = ['second:a', 'second:b', 'second:c']
        return joinedRow(`row${index}`, 'v', ['first:a', ...(index < 5 ? more : [])])
      }),
      ...[false, true].map((loadFamiliesOnDemand): Step => {
        return {
          scan: { batch: 3, filter: new FirstIsEssential(), loadFamiliesOnDemand },
          results: Array.from({ length: 10 }, (_, index) => {
            const pieces = [['first:a', 'second:a', 'second:b'], ['second:c']]
            return index < 5 ? pieces : [['first:a']]
          }).flat(),
        }
      }),
      {
        fails: { scan: { batch: 3, filter: new PageFilter(3) } },
        code: 'ERR_INVALID_ARGUMENT',
      },
    ],
  },
  {
    number: 106,
    title: 'a value filter on versions',
    source: 'TestHRegion#testGetWithFilter',
    states: everywhere,
    families: versions(3),
    steps: [
      putCell('q', 0, 'value1'),
      putCell('q', 1, 'filter1'),
      putCell('q', 2, 'filter2'),
      putCell('q', 3, 'value2'),
      { get: { row: 'r', versions: 'all' }, cells: ['q@3', 'q@2', 'q@1'] },
      {
        get: {
          row: 'r',
          versions: 'all',
          filter: new ValueFilter('EQUAL', { substring: 'value' }),
        },
        cells: ['q@3=value2'],
      },
    ],
  },
  {
    number: 107,
    title: 'a qualifier filter with an expression',
    source: 'TestFromClientSide#testFilters, TestFromClientSide5#testFiltersWithReverseScan',
    states: everywhere,
    steps: [
      ...tenColumns.map((_, n): Step => putCell(`col${n}`, undefined, 'v', `row${n}`)),
      ...[false, true].map((reversed): Step => {
        const rows = ['row1', 'row2', 'row3', 'row4', 'row5']
        const filter = new QualifierFilter('EQUAL', { regexString: 'col[1-5]' })
        return { scan: { filter, reversed }, rows: reversed ? rows.reverse() : rows }
      }),
    ],
  },
  {
    number: 109,
    title: 'keys without values, or with their lengths',
    source: 'TestFromClientSide#testKeyOnlyFilter',
    states: everywhere,
    steps: [
      putCell('q', 1, 'x'.repeat(300)),
      { scan: { filter: new KeyOnlyFilter() }, results: [['q@1=']] },
      {
        scan: { filter: new KeyOnlyFilter({ lengthAsValue: true }) },
        results: [['q@1=\u0000\u0000\u0001\u002c']],
      },
    ],
  },
  {
    number: 116,
    title: 'a prefix or a value',
    source: 'TestFilter#testFilterListWithPrefixFilter',
    states: everywhere,
    steps: [
      ...['arow', 'brow', 'crow', 'drow', 'erow'].map((row, index): Step => {
        return putCell('q', undefined, String(111 + index), row)
      }),
      ...[false, true].map((reversed): Step => {
        const filter = new FilterList('MUST_PASS_ONE', [
          new PrefixFilter('b'),
          valueCondition('EQUAL', '113'),
        ])
        return { scan: { filter, reversed }, rows: reversed ? ['crow', 'brow'] : ['brow', 'crow'] }
      }),
    ],
  },
  {
    number: 119,
    title: 'the empty qualifier compares as empty bytes',
    source: 'TestQualifierFilterWithEmptyQualifier',
    states: everywhere,
    steps: [
      ...['r1', 'r2'].flatMap((row) => [putCell('', 1, 'v', row), putCell('x', 1, 'v', row)]),
      { scan: { filter: new QualifierFilter('EQUAL', '') }, results: [['r1|'], ['r2|']] },
      { scan: { filter: new QualifierFilter('GREATER', '') }, results: [['r1|x'], ['r2|x']] },
      {
        scan: { filter: new QualifierFilter('GREATER_OR_EQUAL', '') },
        results: [
          ['r1|', 'r1|x'],
          ['r2|', 'r2|x'],
        ],
      },
    ],
  },
  {
    number: 121,
    title: 'cells that share timestamps with a reference column',
    source: 'TestDependentColumnFilter#testScans',
    states: everywhere,
    families: { A: { versions: allVersions }, B: { versions: allVersions } },
    steps: [
      putCell('q', 0, 'no', 'row0', 'A'),
      putCell('q', 1, 'no', 'row0', 'A'),
      putCell('q', 2, 'match', 'row0', 'A'),
      putCell('q', 0, 'no', 'row0', 'B'),
      putCell('q', 2, 'no', 'row0', 'B'),
      putCell('q', 0, 'no', 'row1', 'A'),
      putCell('q', 2, 'match', 'row1', 'A'),
      putCell('q', 0, 'match', 'row1', 'B'),
      putCell('q', 1, 'no', 'row1', 'B'),
      { scan: dependent({}), cellCount: 8 },
      { scan: dependent({ dropDependentColumn: true }), cellCount: 3 },
      { scan: dependent({ operator: 'EQUAL', value: 'match' }), cellCount: 3 },
      {
        scan: dependent({ operator: 'EQUAL', value: 'match', dropDependentColumn: true }),
        results: [['row0|B:q@2']],
      },
    ],
  },
  {
    number: 122,
    title: 'chosen timestamps of many versions',
    source: 'TestTimestampsFilter',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('q', mixedTimestamps.slice(0, 150)),
      flush,
      putVersions('q', mixedTimestamps.slice(150)),
      ...[false, true].flatMap((canHint): Step[] => [
        {
          get: {
            row: 'r',
            versions: 'all',
            filter: new TimestampsFilter([505, 5, 105, 305, 205], { canHint }),
          },
          cells: ['q@305=v305', 'q@205=v205', 'q@105=v105', 'q@5=v5'],
        },
        {
          get: { row: 'r', versions: 'all', filter: new TimestampsFilter([], { canHint }) },
          cells: [],
        },
      ]),
    ],
  },
  {
    number: 122,
    title: 'chosen timestamps over rows and columns',
    source: 'TestTimestampsFilter#testMultiColumns',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      ...timestampRows.flatMap((row): Step[] => {
        return ['a', 'b', 'c', 'd', 'e'].map((name) => putVersions(name, mixedTimestamps, row))
      }),
      ...[false, true].map((reversed): Step => {
        const cells = ['a', 'b', 'c', 'd', 'e'].flatMap((name) => {
          return [306, 106, 6].map((timestamp) => `${name}@${timestamp}=v${timestamp}`)
        })
        const filter = new TimestampsFilter([6, 106, 306], { canHint: reversed })
        return {
          scan: { versions: 'all', reversed, filter },
          results: timestampRows.map(() => cells),
        }
      }),
    ],
  },
  {
    number: 124,
    title: 'rows that match a fuzzy pattern',
    source: 'TestFuzzyRowFilter',
    states: everywhere,
    steps: [
      {
        putList: fuzzyRows.map((row) => {
          return { row: Buffer.from(row, 'hex'), cells: { 'f:q': 'v' } }
        }),
      },
      {
        scan: fuzzyScan(false),
        rows: ['\u0001\u0080\u0001\u0000\u0001', '\u0001\u0081\u0001\u0000'],
      },
      {
        scan: fuzzyScan(true),
        rows: ['\u0001\u0081\u0001\u0000', '\u0001\u0080\u0001\u0000\u0001'],
      },
    ],
  },
  {
    number: 125,
    title: 'the first columns of a row with all versions',
    source: 'TestStoreScanner#testWithColumnCountGetFilter',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      ...['a', 'b', 'c'].map((name): Step => putVersions(name, [1, 2])),
      {
        get: { row: 'r', versions: 'all', filter: new ColumnCountGetFilter(2) },
        cells: ['a@2', 'b@2'],
      },
    ],
  },
  {
    number: 131,
    title: 'a check that is a filter',
    source: 'TestCheckAndMutate',
    states: uncompacted,
    steps: [
      putCell('A', 100, 'a'),
      putCell('B', 100, 'b'),
      putCell('C', 100, 'c'),
      filterCheck(conditionOf('a', 'b'), { put: { cells: { 'f:D': 'd' } } }, true),
      { get: { row: 'r', columns: ['f:D'] }, cells: ['D=d'] },
      filterCheck(conditionOf('a', 'c'), { put: { cells: { 'f:E': 'e' } } }, false),
      { get: { row: 'r', columns: ['f:E'] }, cells: [] },
      filterCheck(conditionOf('b', 'b'), { delete: { columns: ['f:D'] } }, false),
      filterCheck(conditionOf('a', 'b'), { delete: { columns: ['f:D'] } }, true),
      { get: { row: 'r', columns: ['f:D'] }, cells: [] },
      filterCheck(
        conditionOf('a', 'b'),
        { mutations: [{ put: { cells: { 'f:E': 'e' } } }, { delete: { columns: ['f:C'] } }] },
        true,
      ),
      { get: { row: 'r' }, cells: ['A=a', 'B=b', 'E=e'] },
      filterCheck(checkA(101), { put: { cells: { 'f:F': 'f' } } }, true),
      filterCheck(checkA(100), { put: { cells: { 'f:G': 'g' } } }, false),
      { get: { row: 'r' }, cells: ['A=a', 'B=b', 'E=e', 'F=f'] },
    ],
  },
]
