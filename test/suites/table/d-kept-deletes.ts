/** D, first half. KEEP_DELETED_CELLS and raw scans. */
import type { Delete, FamilyOptions } from '../../../src/api/index.js'
import {
  everywhere,
  getAll,
  putCell,
  steered,
  uncompacted,
  versions,
  type TableCase,
  type Step,
} from './case.js'

const flush: Step = { flush: true }
const major: Step = { compact: 'major' }
/** The time `ts` of the cases. */
const ts = 1_000_000

/** Three families, so that deleting a row writes three markers. */
function three(options: FamilyOptions): Readonly<Record<string, FamilyOptions>> {
  return { c0: options, c1: options, c2: options }
}

function put(value: string, timestamp: number, qualifier = 'c0', family = 'c0', row = 'r'): Step {
  return putCell(qualifier, timestamp, value, row, family)
}

function deletion(options: Omit<Delete, 'row'>, row = 'r'): Step {
  return { delete: { row, ...options } }
}

function markers(markerCount: number, count: number): Step {
  return { scan: { raw: true, versions: count }, markerCount }
}

function deleteColumn(timestamp: number): Step {
  return deletion({ columns: [{ family: 'c0', qualifier: 'c0', timestamp }] })
}

function deleteVersion(timestamp: number): Step {
  return deletion({ columnVersions: [{ family: 'c0', qualifier: 'c0', timestamp }] })
}

const basicScenario: readonly Step[] = [
  put('T1', ts),
  put('T2', ts + 1),
  put('T3', ts + 2),
  put('T4', ts + 4),
  deletion({ timestamp: ts + 2 }),
  markers(3, 3),
  { get: getAll({ timeRange: [0, ts + 2] }), cells: ['c0:c0=T2', 'c0:c0=T1'] },
  flush,
  { get: getAll({ timeRange: [0, ts + 2] }), cells: ['c0:c0=T2'] },
]

const fourMarkers: readonly Step[] = [
  deleteColumn(ts),
  deletion({ families: [{ family: 'c0', timestamp: ts }] }),
  deleteVersion(ts + 1),
  deleteVersion(ts + 2),
]

/** Cases about KEEP_DELETED_CELLS and raw scans. */
export const keptDeleteCases: readonly TableCase[] = [
  {
    number: 52,
    title: 'a time range shows the state before a delete, until a flush trims versions',
    source: 'TestKeepDeletes#testBasicScenario',
    states: steered,
    families: three({ versions: 3, keepDeletedCells: true }),
    steps: basicScenario,
  },
  {
    number: 52,
    title: 'deleted cells survive major compactions',
    source: 'TestKeepDeletes#testBasicScenario',
    states: steered,
    families: three({ versions: 3, keepDeletedCells: true }),
    steps: [
      ...basicScenario,
      major,
      major,
      markers(1, 3),
      { get: getAll({ timeRange: [0, ts + 2] }), cells: ['c0:c0=T2'] },
      { get: getAll({ timeRange: [0, ts + 4] }), cells: [] },
      put('T5', ts + 5),
      put('T6', ts + 6),
      put('T1', ts),
      { get: getAll({ timeRange: [0, ts + 4] }), cells: [] },
      flush,
      major,
      major,
      put('T1', ts),
      { get: getAll({ timeRange: [0, ts + 4] }), cells: ['c0:c0=T1'] },
      markers(0, 3),
    ],
  },
  {
    number: 53,
    title: 'a raw scan shows masked cells and markers',
    source: 'TestKeepDeletes#testRawScanWithoutKeepingDeletes',
    states: ['memtable'],
    families: three({ versions: 3 }),
    steps: [
      put('T1', ts),
      deleteVersion(ts),
      { scan: { raw: true, versions: 'all' }, results: [['c0:c0!Delete', 'c0:c0=T1']] },
      { get: getAll(), cells: [] },
    ],
  },
  {
    number: 53,
    title: 'without KEEP_DELETED_CELLS a major compaction leaves nothing',
    source: 'TestKeepDeletes#testRawScanWithoutKeepingDeletes',
    states: steered,
    families: three({ versions: 3 }),
    steps: [
      put('T1', ts),
      deleteVersion(ts),
      flush,
      major,
      { scan: { raw: true, versions: 'all' }, results: [] },
    ],
  },
  {
    number: 55,
    title: 'a raw scan of single columns is refused',
    source: 'TestKeepDeletes#testRawScanWithColumns',
    states: ['memtable'],
    families: three({ keepDeletedCells: true }),
    steps: [
      put('T1', ts),
      { fails: { scan: { raw: true, columns: ['c0:c0'] } }, code: 'ERR_INVALID_ARGUMENT' },
      { scan: { raw: true, columns: ['c0'] }, results: [['c0:c0=T1']] },
    ],
  },
  {
    number: 56,
    title: 'a raw scan returns all kinds of markers in order',
    source: 'TestKeepDeletes#testRawScan',
    states: uncompacted,
    families: three({ versions: 3, keepDeletedCells: true }),
    steps: [
      put('T1', ts),
      put('T2', ts + 2),
      put('T3', ts + 4),
      deletion({ timestamp: ts + 1 }),
      deleteVersion(ts + 2),
      deleteColumn(ts + 3),
      {
        scan: { raw: true, versions: 'all' },
        results: [
          [
            `c0:@${ts + 1}!DeleteFamily`,
            `c0:c0@${ts + 4}=T3`,
            `c0:c0@${ts + 3}!DeleteColumn`,
            `c0:c0@${ts + 2}!Delete`,
            `c0:c0@${ts + 2}=T2`,
            `c0:c0@${ts}=T1`,
            `c1:@${ts + 1}!DeleteFamily`,
            `c2:@${ts + 1}!DeleteFamily`,
          ],
        ],
      },
      { scan: { raw: true, versions: 'all', timeRange: [0, 1] }, results: [] },
      {
        scan: { raw: true, versions: 'all', timeRange: [0, ts + 2] },
        results: [['c0:!DeleteFamily', 'c0:c0=T1', 'c1:!DeleteFamily', 'c2:!DeleteFamily']],
      },
      {
        scan: { raw: true, versions: 'all', timeRange: [ts + 3, ts + 5] },
        results: [['c0:c0=T3', 'c0:c0!DeleteColumn']],
      },
    ],
  },
  {
    number: 58,
    title: 'markers go once no older put is left in their store',
    source: 'TestKeepDeletes#testDeleteMarkerExpiration',
    states: steered,
    families: three({ keepDeletedCells: true }),
    steps: [
      put('T1', ts),
      put('T1', ts - 10, 'c0', 'c1'),
      ...fourMarkers,
      markers(4, 1),
      flush,
      { compact: 'minor' },
      markers(4, 1),
      put('T2', ts + 3),
      flush,
      major,
      markers(4, 1),
      major,
      markers(0, 1),
    ],
  },
  {
    number: 59,
    title: 'an old row of the same store pins family markers',
    source: 'TestKeepDeletes#testWithOldRow',
    states: steered,
    families: three({ keepDeletedCells: true }),
    steps: [
      put('T1', ts),
      put('T1', ts - 10, 'c0', 'c0', 'old'),
      ...fourMarkers,
      markers(4, 1),
      flush,
      put('T2', ts + 3),
      flush,
      major,
      markers(4, 1),
      major,
      markers(4, 1),
      put('T3', ts + 4),
      flush,
      major,
      markers(1, 1),
      major,
      markers(1, 1),
    ],
  },
  {
    number: 61,
    title: 'markers of columns and versions count as versions',
    source: 'TestKeepDeletes#testDeleteMarkerVersioning',
    states: steered,
    families: three({ keepDeletedCells: true }),
    steps: [
      put('T1', ts),
      put('T1', ts - 10, 'c1'),
      deleteColumn(ts),
      deleteVersion(ts + 1),
      deleteVersion(ts + 3),
      flush,
      major,
      major,
      markers(3, 1),
      put('T2', ts + 2),
      markers(3, 1),
      put('T3', ts + 3),
      markers(1, 1),
      flush,
      markers(3, 1),
      major,
      markers(3, 1),
      put('T4', ts + 4),
      flush,
      markers(1, 1),
      major,
      major,
      markers(1, 1),
    ],
  },
  {
    number: 62,
    title: 'time ranges before row deletes show the rows of several families',
    source: 'TestKeepDeletes#testWithMixedCFs',
    states: uncompacted,
    families: three({ versions: 3, keepDeletedCells: true }),
    steps: [
      ...['c0', 'c1'].flatMap((family) => {
        return ['c0', 'c1'].flatMap((qualifier) => [
          put('T1', ts, qualifier, family, 'T1'),
          put('T2', ts + 1, qualifier, family, 'T2'),
        ])
      }),
      deletion({ timestamp: ts + 1 }, 'T1'),
      deletion({ timestamp: ts + 2 }, 'T2'),
      { scan: { startRow: 'T1', timeRange: [0, ts + 1] }, cellCount: 4 },
      { scan: { startRow: 'T2', timeRange: [0, ts + 2] }, cellCount: 4 },
      { scan: {}, results: [] },
    ],
  },
  {
    number: 65,
    title: 'KEEP_DELETED_CELLS through the client',
    source: 'TestFromClientSide#testKeepDeletedCells',
    states: uncompacted,
    families: { f: { versions: 3, keepDeletedCells: true } },
    steps: [
      putCell('q', ts, 'T1'),
      putCell('q', ts + 2, 'T2'),
      putCell('q', ts + 4, 'T3'),
      deletion({ timestamp: ts + 3 }),
      deletion({ timestamp: ts + 3, columns: ['f:q'] }),
      { get: { row: 'r', timeRange: [0, ts + 3] }, cells: ['q=T2'] },
      { scan: { versions: 'all', timeRange: [0, ts + 3] }, results: [['q=T2', 'q=T1']] },
      {
        scan: { raw: true, versions: 'all' },
        results: [['!DeleteFamily', 'q=T3', 'q!DeleteColumn', 'q=T2', 'q=T1']],
      },
    ],
  },
  {
    number: 68,
    title: 'a raw scan of a lone family version marker has one row',
    source: 'TestScannersFromClientSide#testScanRawDeleteFamilyVersion',
    states: uncompacted,
    families: versions(3),
    steps: [
      deletion({ familyVersions: [{ family: 'f', timestamp: 0 }] }),
      { scan: { raw: true }, results: [['@0!DeleteFamilyVersion']] },
      { scan: {}, results: [] },
    ],
  },
  {
    number: 68,
    title: 'a lone family version marker is no row to other scans',
    source: 'TestScannersFromClientSide#testScanRawDeleteFamilyVersion',
    states: everywhere,
    steps: [
      deletion({ familyVersions: [{ family: 'f', timestamp: 0 }] }),
      { scan: {}, results: [] },
      { exists: { row: 'r' }, is: false },
    ],
  },
]
