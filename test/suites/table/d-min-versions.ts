/** D, second half. MIN_VERSIONS and TTL. */
import { TimestampsFilter } from '../../../src/api/filters.js'
import type { FamilyOptions, PutCell } from '../../../src/api/index.js'
import {
  everywhere,
  getAll,
  putCell,
  steered,
  uncompacted,
  type TableCase,
  type State,
  type Step,
} from './case.js'

const flush: Step = { flush: true }
const major: Step = { compact: 'major' }
const now = 1_000_000
/** Two seconds old, where the families live for one. */
const ts = now - 2000

function least(minVersions: number): Readonly<Record<string, FamilyOptions>> {
  return { f: { versions: 1000, minVersions, ttlMilliseconds: 1000 } }
}

/** A put of `T<n>` for each n, at `ts` plus the offset. */
function puts(...list: readonly (readonly [name: string, offset: number])[]): Step[] {
  return list.map(([name, offset]) => putCell('q', ts + offset, name))
}

/** Both with and without naming the column. */
function reads(names: readonly string[], timeRange?: readonly [number, number]): Step[] {
  const cells = names.map((name) => `q=${name}`)
  return [
    { get: getAll({ timeRange }), cells },
    { get: getAll({ timeRange, columns: ['f:q'] }), cells },
  ]
}

function newest(names: readonly string[], timeRange?: readonly [number, number]): Step {
  return { get: { row: 'r', timeRange }, cells: names.map((name) => `q=${name}`) }
}

const fourExpired = puts(['T1', -3], ['T2', -2], ['T3', -1], ['T4', 0])
const inMemory: readonly State[] = ['memtable', 'reopened']

function agedCell(qualifier: string, age: number): PutCell {
  return { column: { family: 'f', qualifier }, timestamp: now - age, value: 'v' }
}

const cellTtls: readonly Step[] = [
  { put: { row: 'r', cells: { 'f:q1': '1' }, ttlMilliseconds: 5000, timestamp: now } },
  { put: { row: 'r', cells: { 'f:q2': '2' }, timestamp: now } },
  { put: { row: 'r', cells: { 'f:q3': '3' }, ttlMilliseconds: 5000, timestamp: now + 9999 } },
  { put: { row: 'r', cells: { 'f:q4': '4' }, timestamp: now + 9999 } },
]

const minVersions: readonly TableCase[] = [
  {
    number: 64,
    title: 'KEEP_DELETED_CELLS TTL lets go of deleted cells once the marker has expired',
    source: 'TestKeepDeletes#testWithTTL',
    states: steered,
    families: Object.fromEntries(
      ['c0', 'c1', 'c2'].map((name) => {
        return [
          name,
          { versions: 3, minVersions: 1, ttlMilliseconds: 1, keepDeletedCells: 'TTL' as const },
        ]
      }),
    ),
    steps: [
      putCell('c0', ts, 'T1', 'T1', 'c0'),
      putCell('c0', ts - 10, 'T1', 'T2', 'c0'),
      { get: { row: 'T1', versions: 3, timeRange: [0, ts + 1] }, cells: ['c0:c0=T1'] },
      { delete: { row: 'T1', timestamp: ts + 2 } },
      { get: { row: 'T1', versions: 3, timeRange: [0, ts + 1] }, cells: ['c0:c0=T1'] },
      { scan: { raw: true, versions: 3 }, markerCount: 3 },
      flush,
      { scan: { raw: true, versions: 3 }, markerCount: 3 },
      { get: { row: 'T1', versions: 3, timeRange: [0, ts + 1] }, cells: [] },
      major,
      { scan: { raw: true, versions: 3 }, markerCount: 0 },
    ],
  },
  {
    number: 70,
    title: 'MIN_VERSIONS keeps the newest expired versions',
    source: 'TestMinVersions#testBaseCase',
    states: inMemory,
    families: least(2),
    steps: [...fourExpired, newest(['T4']), newest(['T1'], [0, ts - 2]), ...reads(['T4', 'T3'])],
  },
  {
    number: 70,
    title: 'a flush drops what MIN_VERSIONS does not keep',
    source: 'TestMinVersions#testBaseCase',
    states: ['flushed', 'minor', 'major'],
    families: least(2),
    steps: [
      ...fourExpired,
      newest(['T4']),
      newest([], [0, ts - 2]),
      ...reads(['T4', 'T3']),
      newest(['T4'], [0, ts + 1]),
      newest(['T3'], [0, ts]),
      newest([], [0, ts - 1]),
    ],
  },
  {
    number: 71,
    title: 'MIN_VERSIONS over a file and the memtable',
    source: 'TestMinVersions#testStoreMemStore',
    states: everywhere,
    families: least(3),
    steps: [
      ...puts(['T2', -1], ['T0', -3]),
      flush,
      ...puts(['T3', 0], ['T1', -2], ['T0', -3]),
      ...reads(['T3', 'T2', 'T1']),
    ],
  },
  {
    number: 71,
    title: 'MIN_VERSIONS over a compacted file and the memtable',
    source: 'TestMinVersions#testStoreMemStore',
    states: steered,
    families: least(3),
    steps: [
      ...puts(['T2', -1], ['T0', -3]),
      flush,
      major,
      ...puts(['T3', 0], ['T1', -2], ['T0', -3]),
      ...reads(['T3', 'T2', 'T1']),
    ],
  },
  {
    number: 73,
    title: 'an older version does not displace what MIN_VERSIONS keeps',
    source: 'TestMinVersions#testMemStore',
    states: everywhere,
    families: least(2),
    steps: [
      ...puts(['T2', -2], ['T3', -1], ['T4', 0]),
      flush,
      ...puts(['T1', -3]),
      newest(['T4']),
      ...reads(['T4', 'T3']),
      ...puts(['T5', 1]),
      newest(['T5']),
      ...reads(['T5', 'T4']),
    ],
  },
]

/** Cases about MIN_VERSIONS and both kinds of TTL. */
export const minVersionCases: readonly TableCase[] = [
  ...minVersions,
  {
    number: 74,
    title: 'a filter sees only what MIN_VERSIONS keeps',
    source: 'TestMinVersions#testFilters',
    states: everywhere,
    families: least(2),
    steps: [
      ...fourExpired,
      {
        get: getAll({ filter: new TimestampsFilter([ts - 1, ts - 2]) }),
        cells: ['q=T3'],
      },
    ],
  },
  {
    number: 76,
    title: 'the family TTL under a scan of all columns (times doubled, TTL 1 s)',
    source: 'TestStoreScanner#testWildCardTtlScan',
    states: everywhere,
    families: { f: { versions: 10, ttlMilliseconds: 1000 } },
    steps: [
      {
        put: {
          row: 'R1',
          cells: [
            agedCell('a', 2000),
            agedCell('b', 20),
            agedCell('c', 400),
            agedCell('d', 20_000),
          ],
        },
      },
      {
        put: {
          row: 'R2',
          cells: [agedCell('a', 0), agedCell('b', 20), agedCell('c', 400), agedCell('c', 2000)],
        },
      },
      {
        scan: {},
        results: [
          ['b', 'c'],
          ['a', 'b', 'c'],
        ],
      },
    ],
  },
  {
    number: 77,
    title: 'an expired family marker beside a live put (times doubled, TTL 1 s)',
    source: 'TestStoreScanner#testExpiredDeleteFamily',
    states: everywhere,
    families: { f: { ttlMilliseconds: 1000 } },
    steps: [
      { delete: { row: 'r', families: [{ family: 'f', timestamp: now - 2000 }] } },
      { put: { row: 'r', cells: [agedCell('a', 20)] } },
      { get: { row: 'r' }, cells: ['a=v'] },
    ],
  },
  {
    number: 79,
    title: 'a cell outlives neither its own TTL nor that of its family',
    source: 'TestHRegion#testCellTTLs',
    states: everywhere,
    families: { f: { ttlMilliseconds: 10_000 } },
    steps: [
      ...cellTtls,
      flush,
      { get: { row: 'r' }, cells: ['q1', 'q2', 'q3', 'q4'] },
      { clock: now + 5001 },
      { get: { row: 'r' }, cells: ['q2', 'q3', 'q4'] },
      { clock: now + 10_001 },
      { get: { row: 'r' }, cells: ['q3', 'q4'] },
      { clock: now + 15_001 },
      { get: { row: 'r' }, cells: ['q4'] },
      { clock: now + 25_001 },
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 79,
    title: 'an older version shows again when the TTL of the newer one has passed',
    source: 'TestHRegion#testCellTTLs',
    states: inMemory,
    families: { f: { ttlMilliseconds: 10_000 } },
    steps: [
      putCell('q1', undefined, '\0\0\0\0\0\0\0\x01'),
      {
        increment: { row: 'r', columns: { 'f:q1': 1 }, ttlMilliseconds: 5000 },
        cells: ['q1=\0\0\0\0\0\0\0\x02'],
      },
      { get: { row: 'r' }, cells: ['q1=\0\0\0\0\0\0\0\x02'] },
      { advance: 5002 },
      { get: { row: 'r' }, cells: ['q1=\0\0\0\0\0\0\0\x01'] },
      { advance: 5001 },
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 79,
    title: 'a counter keeps its TTL unless the increment sets another',
    source: 'TestHRegion#testCellTTLs',
    states: uncompacted,
    steps: [
      { increment: { row: 'r', columns: { 'f:q1': 1 }, ttlMilliseconds: 5000 } },
      { increment: { row: 'r', columns: { 'f:q1': 1 } } },
      { advance: 4000 },
      { get: { row: 'r' }, cells: ['q1'] },
      { advance: 1100 },
      { get: { row: 'r' }, cells: [] },
    ],
  },
]
