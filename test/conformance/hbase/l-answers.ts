/**
 * L. Questions that were put to a running HBase 2.6.4 and to Cellar side by side and got different
 * answers, and their neighbours, answered by HBase's source. No test of HBase asserts them, so
 * their numbers begin at 201.
 */
import { KeyOnlyFilter } from '../../../src/filter/cell-filters.js'
import {
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
} from '../../../src/filter/column-count-filters.js'
import { FamilyFilter, ValueFilter } from '../../../src/filter/compare-filters.js'
import type { Filter } from '../../../src/filter/filter.js'
import { FilterList, type FilterListOperator } from '../../../src/filter/filter-list.js'
import type { FamilyOptions, Scan } from '../../../src/api/index.js'
import {
  everywhere,
  putCell,
  steered,
  uncompacted,
  versions,
  type HBaseCase,
  type Step,
} from './case.js'

const live = 'HBase 2.6.4 side by side'

const twoFamilies: Readonly<Record<string, FamilyOptions>> = { f: {}, g: {} }

function all(...filters: readonly Filter[]): Filter {
  return new FilterList('MUST_PASS_ALL', filters)
}

function scanOf(filter: Filter, cells: readonly string[], options: Partial<Scan> = {}): Step {
  return { scan: { ...options, filter }, results: cells.length === 0 ? [] : [cells] }
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

/** Cases on filters. */
const filterCases: readonly HBaseCase[] = [
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
const compactionCases: readonly HBaseCase[] = [
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
]

/** See the file header. */
export const answeredCases: readonly HBaseCase[] = [...filterCases, ...compactionCases]
