/** A. Versions, timestamps, ties. */
import type { Put } from '../../../src/api/index.js'
import {
  allVersions,
  cellsOf,
  everywhere,
  getAll,
  uncompacted,
  putCell,
  putVersions,
  steered,
  versions,
  type TableCase,
  type Step,
} from './case.js'

const negative = { code: 'ERR_INVALID_ARGUMENT', message: /negative/ }

/** Puts of a grid of rows, qualifiers and timestamps. */
function grid(
  rows: readonly number[],
  columns: readonly number[],
  timestamps: readonly number[],
): Step {
  const putList: Put[] = rows.map((row) => ({
    row: `row${row}`,
    cells: columns.flatMap((column) => {
      return timestamps.map((timestamp) => {
        return { column: `f:col${column}`, timestamp, value: `v${timestamp}` }
      })
    }),
  }))
  return { putList }
}

const firstRound: readonly Step[] = [
  putCell('q', 1, 'A'),
  putCell('q', 2, 'B'),
  putCell('q', 3, 'E'),
]
const secondRound: readonly Step[] = [putCell('q', 1, 'C'), putCell('q', 2, 'D')]
const updated: Step = { get: getAll(), cells: ['q@3=E', 'q@2=D', 'q@1=C'] }
const flush: Step = { flush: true }
const major: Step = { compact: 'major' }

function farFuturePuts(): Put[] {
  return Array.from({ length: 10 }, (_, index) => {
    return { row: 'r', cells: { [`f:q${index}`]: 'v' }, timestamp: 1_010_000 }
  })
}

/** Cases about versions, timestamps and ties. */
export const versionCases: readonly TableCase[] = [
  {
    number: 1,
    title: 'each version is found at its own timestamp',
    source: 'TestFromClientSide#testVersions',
    states: everywhere,
    families: versions(10),
    steps: [
      putVersions('q', [1, 2, 4, 5]),
      ...[1, 2, 4, 5].map((timestamp) => {
        return { get: { row: 'r', timestamp }, cells: cellsOf('q', [timestamp]) }
      }),
      ...[0, 3, 6].map((timestamp) => ({ get: { row: 'r', timestamp }, cells: [] })),
      { get: { row: 'r', versions: 2 }, cells: cellsOf('q', [5, 4]) },
    ],
  },
  {
    number: 2,
    title: 'deleting versions shows older ones that are still stored',
    source: 'TestFromClientSide#testVersions',
    states: uncompacted,
    families: versions(10),
    steps: [
      putVersions('q', [1, 2, 4, 5]),
      flush,
      putVersions('q', [3, 6, 7, 8]),
      { get: getAll(), cells: cellsOf('q', [8, 7, 6, 5, 4, 3, 2, 1]) },
      flush,
      putVersions('q', [9, 11, 13, 15]),
      { get: getAll({ columns: ['f'] }), cells: cellsOf('q', [15, 13, 11, 9, 8, 7, 6, 5, 4, 3]) },
      { delete: { row: 'r', timestamp: 11, columnVersions: ['f:q'] } },
      { delete: { row: 'r', timestamp: 7, columnVersions: ['f:q'] } },
      { get: getAll(), cells: cellsOf('q', [15, 13, 9, 8, 6, 5, 4, 3, 2, 1]) },
    ],
  },
  {
    number: 4,
    title: 'an overwritten version counts once',
    source: 'TestFromClientSide4#testDuplicateVersions',
    states: everywhere,
    families: versions(10),
    steps: [
      putVersions('q', [1, 2, 4, 5]),
      flush,
      putCell('q', 4, 'new'),
      putVersions('q', [3, 6, 7, 8]),
      {
        get: { row: 'r', versions: 7 },
        cells: ['q@8', 'q@7', 'q@6', 'q@5', 'q@4=new', 'q@3', 'q@2'],
      },
      { get: { row: 'r', timestamp: 4 }, cells: ['q@4=new'] },
    ],
  },
  {
    number: 5,
    title: 'a rewritten version has the newest value',
    source: 'TestFromClientSide4#testUpdates',
    states: everywhere,
    families: versions(10),
    steps: [...firstRound, ...secondRound, updated],
  },
  {
    number: 5,
    title: 'a rewritten version has the newest value with a flush between',
    source: 'TestFromClientSide4#testUpdates',
    states: everywhere,
    families: versions(10),
    steps: [...firstRound, flush, ...secondRound, updated],
  },
  {
    number: 5,
    title: 'a rewritten version has the newest value with major compactions between',
    source: 'TestFromClientSide4#testMajorCompactionBetweenTwoUpdates',
    states: steered,
    families: versions(10),
    steps: [
      ...firstRound,
      flush,
      major,
      ...secondRound.flatMap((step) => [step, flush, major]),
      updated,
    ],
  },
  {
    number: 7,
    title: 'a time range returns the versions between its ends',
    source: 'TestFromClientSide4#testJiraTest33',
    states: everywhere,
    families: versions(10),
    steps: [
      putVersions('q', [10, 20, 30, 40, 50, 60]),
      ...[
        [0, 5],
        [0, 2],
        [4, 5],
        [2, 3],
      ].map(([from, to]): Step => {
        const stamps = [10, 20, 30, 40, 50, 60].slice(from, to + 1)
        return {
          get: getAll({ timeRange: [stamps[0], stamps[stamps.length - 1] + 1] }),
          cells: cellsOf('q', stamps.reverse()),
        }
      }),
    ],
  },
  {
    number: 8,
    title: 'the end of a time range is exclusive',
    source: 'TestStoreScanner#testScanTimeRange',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('a', [1, 2, 3, 4, 5]),
      { scan: { timeRange: [0, 6], versions: 'all' }, results: [cellsOf('a', [5, 4, 3, 2, 1])] },
      { scan: { timeRange: [1, 3], versions: 'all' }, results: [cellsOf('a', [2, 1])] },
      { scan: { timeRange: [5, 10], versions: 'all' }, results: [cellsOf('a', [5])] },
      { scan: { timeRange: [0, 10], versions: 3 }, results: [cellsOf('a', [5, 4, 3])] },
    ],
  },
  {
    number: 10,
    title: 'several columns, several timestamps',
    source: 'TestMultipleTimestamps#testReseeksWithMultipleColumnMultipleTimestamp',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      grid([1, 3, 5, 7], [1, 3, 5], [1, 2, 3, 4, 5]),
      flush,
      {
        scan: {
          startRow: 'row5',
          stopRow: 'row7',
          stopInclusive: true,
          columns: ['f:col3', 'f:col4', 'f:col5'],
          timeRange: [2, 4],
          versions: 2,
        },
        results: ['row5', 'row7'].map((row) => {
          return ['col3@3', 'col3@2', 'col5@3', 'col5@2'].map((cell) => `${row}|f:${cell}`)
        }),
      },
    ],
  },
  {
    number: 11,
    title: 'several columns and timestamps over several files',
    source: 'TestMultipleTimestamps#testReseeksWithMultipleFiles',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      grid([1, 2, 3], [2, 5, 6], [1, 2, 5]),
      flush,
      grid([6, 7], [3, 6], [4, 5]),
      flush,
      grid([2, 3, 5], [1, 2, 3], [4, 8]),
      {
        scan: {
          startRow: 'row3',
          stopRow: 'row8',
          columns: ['f:col3', 'f:col4', 'f:col5'],
          timeRange: [2, 5],
          versions: 5,
        },
        results: [
          ['row3|f:col3@4', 'row3|f:col5@2'],
          ['row5|f:col3@4'],
          ['row6|f:col3@4'],
          ['row7|f:col3@4'],
        ],
      },
    ],
  },
  {
    number: 13,
    title: 'negative timestamps are refused',
    source: 'TestFromClientSide5#testNegativeTimestamp',
    states: ['memtable'],
    steps: [
      { fails: { put: { row: 'r', cells: { 'f:q': 'v' }, timestamp: -1 } }, ...negative },
      { fails: putCell('q', -1, 'v'), ...negative },
      { fails: { delete: { row: 'r', timestamp: -1 } }, ...negative },
      { fails: { delete: { row: 'r', timestamp: -1, families: ['f'] } }, ...negative },
      {
        fails: { delete: { row: 'r', families: [{ family: 'f', timestamp: -1 }] } },
        ...negative,
      },
      { fails: { scan: { timeRange: [-1, 1] } }, ...negative },
      { scan: { raw: true }, results: [] },
    ],
  },
  {
    number: 14,
    title: 'timestamps too far ahead of the clock are refused',
    source: 'TestHRegion#testPutWithTsSlop',
    states: ['memtable'],
    timestampSlopMilliseconds: 1000,
    steps: [
      putCell('q', undefined, 'v'),
      { fails: putCell('q', 1_002_000, 'w'), code: 'ERR_FAILED_SANITY_CHECK' },
      { get: { row: 'r' }, cells: ['q=v'] },
      {
        fails: { increment: { row: 'r', columns: { 'f:n': 1 }, timestamp: 1_002_000 } },
        code: 'ERR_FAILED_SANITY_CHECK',
      },
    ],
  },
  {
    number: 14,
    title: 'the limit of timestamps is one of what is written, not of deletes',
    source: 'HRegion#checkTimestamps',
    states: ['memtable', 'flushed', 'reopened'],
    startTime: 2_000_000,
    timestampSlopMilliseconds: 1000,
    steps: [
      putCell('q', undefined, 'v'),
      { increment: { row: 'r', columns: { 'f:n': 1 } } },
      { clock: 1_000_000 },
      { increment: { row: 'r', columns: { 'f:n': 1 } }, cells: ['n@2000002'] },
      { delete: { row: 'r', columnVersions: ['f:q'] } },
      { get: { row: 'r' }, cells: ['n@2000002'] },
      { delete: { row: 'r', timestamp: 3_000_000 } },
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 14,
    title: 'in a list each put with a far timestamp fails',
    source: 'TestHRegion#testBatchPutWithTsSlop',
    states: ['memtable'],
    timestampSlopMilliseconds: 1000,
    steps: [
      {
        failsPartly: { putList: farFuturePuts() },
        failures: Object.fromEntries(
          farFuturePuts().map((_, index) => [index, 'ERR_FAILED_SANITY_CHECK']),
        ),
      },
      { scan: { raw: true }, results: [] },
    ],
  },
]
