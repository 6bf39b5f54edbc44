/** C. Deletes. */
import type { Delete, Get } from '../../../src/api/index.js'
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
  type State,
  type Step,
} from './case.js'

const flush: Step = { flush: true }
const major: Step = { compact: 'major' }
const fiveStamps = [1000, 2000, 3000, 4000, 5000]
const fiveColumns = ['q0', 'q1', 'q2', 'q3', 'q4']

function deletion(options: Omit<Delete, 'row'>, row = 'r'): { readonly delete: Delete } {
  return { delete: { row, ...options } }
}

/** Case 25; case 26 continues with fresh rows. */
const deletesOfOneFamily: TableCase = {
  number: 25,
  title: 'markers of the family, of columns and of versions together',
  source: 'TestFromClientSide#testDeletes',
  states: uncompacted,
  families: versions(3),
  steps: [
    putVersions('q', [1000, 2000]),
    deletion({ families: [{ family: 'f', timestamp: 1000 }] }),
    { get: getAll(), cells: cellsOf('q', [2000]) },
    putVersions('q', [5000, 3000, 4000]),
    putVersions('', [5000, 3000, 4000]),
    deletion({ columnVersions: ['f:q'] }),
    { get: getAll({ columns: ['f:q'] }), cells: cellsOf('q', [4000, 3000, 2000]) },
    deletion({ columnVersions: ['f:'] }),
    deletion({ columns: ['f:'] }),
    putVersions('q', [1000]),
    putVersions('q', [5000]),
    { get: getAll({ columns: ['f'] }), cells: cellsOf('q', [4000, 3000, 2000]) },
  ],
}

const deletesOfTwoFamilies: TableCase = {
  number: 26,
  title: 'markers concern their family only',
  source: 'TestFromClientSide#testDeletes',
  states: everywhere,
  families: { f1: { versions: 3 }, f2: { versions: 3 } },
  steps: [
    ...['R0', 'R1', 'R2'].flatMap((row): Step[] => [
      putVersions('q', [1000, 2000], row, 'f1'),
      putVersions('q', [3000, 4000], row, 'f2'),
    ]),
    deletion({ families: ['f2'] }, 'R0'),
    deletion({ columns: ['f1:q'] }, 'R1'),
    deletion({ columnVersions: ['f1:q', 'f1:q', 'f2:q'] }, 'R2'),
    { get: { row: 'R0', versions: 'all' }, cells: cellsOf('q', [2000, 1000], 'f1') },
    { get: { row: 'R1', versions: 'all' }, cells: cellsOf('q', [4000, 3000], 'f2') },
    { get: { row: 'R2', versions: 'all' }, cells: cellsOf('q', [3000], 'f2') },
  ],
}

/** Case 47: what is left of row2's fam2:col2 after each kind of delete. */
const minorCompactionDeletes: readonly [string, Omit<Delete, 'row'>, number][] = [
  ['the row', {}, 0],
  ['the column', { columns: ['fam2:col2'] }, 0],
  ['the newest version', { columnVersions: ['fam2:col2'] }, 3],
  ['the family', { families: ['fam2'] }, 0],
  ['versions up to 2', { columns: [{ family: 'fam2', qualifier: 'col2', timestamp: 2 }] }, 1],
  ['version 1', { columnVersions: [{ family: 'fam2', qualifier: 'col2', timestamp: 1 }] }, 3],
]

function minorCompactionCase([
  what,
  options,
  left,
]: (typeof minorCompactionDeletes)[number]): TableCase {
  const read = (row: string): Get => {
    return { row, columns: ['fam2:col2'], versions: 'all' }
  }
  const before = ['fam2:col2@3', 'fam2:col2@2', 'fam2:col2@1']
  const after = left === 0 ? [] : left === 1 ? ['fam2:col2@3'] : undefined
  const kept = what === 'version 1' ? ['3', '2', '0'] : ['2', '1', '0']
  const cells = after ?? kept.map((timestamp) => `fam2:col2@${timestamp}`)
  return {
    number: 47,
    title: `files that each hold one version, after a delete of ${what}`,
    source: 'TestMinorCompaction',
    states: uncompacted,
    families: { fam1: { versions: 3 }, fam2: { versions: 3 } },
    steps: [
      ...[0, 1, 2, 3].flatMap((timestamp): Step[] => [
        ...['row1', 'row2'].flatMap((row) => {
          return ['fam1', 'fam2'].flatMap((family) => {
            return ['col1', 'col2'].map((qualifier) => {
              return putCell(qualifier, timestamp, `v${timestamp}`, row, family)
            })
          })
        }),
        flush,
      ]),
      { get: read('row2'), cells: before },
      { get: read('row1'), cells: before },
      deletion(options, 'row2'),
      { get: read('row2'), cells },
      { get: read('row1'), cells: before },
    ],
  }
}

/** Case 40: column, put timestamps, markers. */
const wildcardFixture: readonly Step[] = [
  putVersions('a', [2]),
  deletion({ columns: [{ family: 'f', qualifier: 'a', timestamp: 1 }] }),
  putVersions('b', [2, 1]),
  putVersions('c', [10, 9]),
  deletion({ columnVersions: [{ family: 'f', qualifier: 'c', timestamp: 10 }] }),
  putVersions('d', [11, 9, 8]),
  deletion({ columns: [{ family: 'f', qualifier: 'd', timestamp: 10 }] }),
]

function keepDeletedOnAlter(keepDeletedCells: boolean, cellCount: number): TableCase {
  const rows = ['a', 'b', 'c', 'd']
  return {
    number: 50,
    title: `a major compaction after deletes, KEEP_DELETED_CELLS ${keepDeletedCells}`,
    source: 'TestMajorCompaction#testMajorCompactingWithDeletes',
    states: steered,
    steps: [
      { putList: rows.map((row) => ({ row, cells: { 'f:q': 'v' }, timestamp: 10 })) },
      flush,
      { deleteList: rows.map((row) => ({ row, timestamp: 20 })) },
      flush,
      {
        run: async ({ space }) => {
          const families = { f: { keepDeletedCells } }
          await space.database.admin.modifyTable('table', { families })
        },
      },
      major,
      { scan: { raw: true, versions: 'all' }, cellCount },
    ],
  }
}

const unflushed: readonly State[] = ['memtable', 'reopened']

/** Cases about delete markers. */
export const deleteCases: readonly TableCase[] = [
  {
    number: 23,
    title: 'markers of the family lie between cells with the empty qualifier',
    source: 'TestFromClientSide3#testScanAfterDeletingSpecifiedRow',
    states: everywhere,
    steps: [
      putCell('q', undefined, 'v'),
      deletion({}),
      putCell('', undefined, 'v0'),
      putCell('', undefined, 'v1'),
      { scan: { versions: 'all' }, results: [['=v1']] },
      { scan: { columns: ['f:q'] }, results: [] },
    ],
  },
  deletesOfOneFamily,
  deletesOfTwoFamilies,
  {
    number: 28,
    title: 'a family version marker masks one timestamp of all columns',
    source: 'TestFromClientSide#testDeleteFamilyVersion',
    states: everywhere,
    families: versions(5),
    steps: [
      putVersions('q', fiveStamps),
      flush,
      deletion({
        familyVersions: [
          { family: 'f', timestamp: 2000 },
          { family: 'f', timestamp: 4000 },
        ],
      }),
      flush,
      { get: getAll(), cells: cellsOf('q', [5000, 3000, 1000]) },
    ],
  },
  {
    number: 29,
    title: 'all kinds of markers in one delete',
    source: 'TestFromClientSide#testDeleteFamilyVersionWithOtherDeletes',
    states: everywhere,
    families: versions(5),
    steps: [
      ...fiveColumns.map((qualifier) => putVersions(qualifier, fiveStamps)),
      deletion({
        families: [{ family: 'f', timestamp: 2000 }],
        familyVersions: [{ family: 'f', timestamp: 4000 }],
        columns: [
          { family: 'f', qualifier: 'q0', timestamp: 3000 },
          { family: 'f', qualifier: 'q2', timestamp: 5000 },
        ],
        columnVersions: [{ family: 'f', qualifier: 'q4', timestamp: 5000 }],
      }),
      {
        get: getAll(),
        cells: [
          ...cellsOf('q0', [5000]),
          ...cellsOf('q1', [5000, 3000]),
          ...cellsOf('q3', [5000, 3000]),
          ...cellsOf('q4', [3000]),
        ],
      },
      { get: getAll({ columns: ['f:q2'] }), cells: [] },
      { get: getAll({ columns: ['f:q1'] }), cells: cellsOf('q1', [5000, 3000]) },
    ],
  },
  {
    number: 31,
    title: 'a version delete without timestamp hits the newest version',
    source: 'TestFromClientSide#testDeleteLatestVersionOfSpecifiedColumn',
    states: everywhere,
    families: versions(5),
    steps: [
      putVersions('q', [1000, 2000, 3000, 4000]),
      deletion({ columnVersions: ['f:q'] }),
      { get: getAll(), cells: cellsOf('q', [3000, 2000, 1000]) },
      deletion({ columnVersions: ['f:q', 'f:q'] }),
      { get: getAll(), cells: cellsOf('q', [1000]) },
      putVersions('q', [5000]),
      { get: getAll(), cells: cellsOf('q', [5000, 1000]) },
    ],
  },
  {
    number: 32,
    title: 'the second mention of a column is its second newest version',
    source: 'TestHRegion#testDelete_multiDeleteColumn',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('q', [1, 2]),
      deletion({ columnVersions: ['f:q', 'f:q'] }),
      { get: getAll(), cells: [] },
    ],
  },
  {
    number: 32,
    title: 'with one version visible, the second mention finds nothing',
    source: 'TestHRegion#testDelete_multiDeleteColumn, inferred for VERSIONS 1',
    states: unflushed,
    steps: [
      putVersions('q', [1, 2]),
      deletion({ columnVersions: ['f:q', 'f:q'] }),
      { get: getAll(), cells: cellsOf('q', [1]) },
    ],
  },
  {
    number: 34,
    title: 'a row delete without timestamp spares future cells',
    source: 'TestHRegion#testDeleteRowWithFutureTs',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putCell('q', 2n ** 63n - 6n, 'v'),
      deletion({}),
      { get: { row: 'r' }, cells: [`q@${2n ** 63n - 6n}=v`] },
      deletion({ timestamp: 2n ** 63n - 4n }),
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 35,
    title: 'a future marker masks a later put of the same timestamp',
    source: 'TestFromClientSide#testPurgeFutureDeletes',
    states: uncompacted,
    steps: [
      putCell('q', 2_000_000, 'v'),
      deletion({ columnVersions: [{ family: 'f', qualifier: 'q', timestamp: 2_000_000 }] }),
      { get: { row: 'r' }, cells: [] },
      flush,
      putCell('q', 2_000_000, 'v'),
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 35,
    title: 'a major compaction removes a future marker',
    source: 'TestFromClientSide#testPurgeFutureDeletes',
    states: steered,
    steps: [
      putCell('q', 2_000_000, 'v'),
      deletion({ columnVersions: [{ family: 'f', qualifier: 'q', timestamp: 2_000_000 }] }),
      { get: { row: 'r' }, cells: [] },
      flush,
      major,
      putCell('q', 2_000_000, 'v'),
      { get: { row: 'r' }, cells: ['q@2000000=v'] },
    ],
  },
  {
    number: 37,
    title: 'a version marker masks the put of its timestamp',
    source: 'TestStoreScanner#testDeleteVersionSameTimestamp',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('a', [1]),
      deletion({ columnVersions: [{ family: 'f', qualifier: 'a', timestamp: 1 }] }),
      { scan: {}, results: [] },
    ],
  },
  {
    number: 38,
    title: 'one version marker masks all puts of its timestamp',
    source: 'TestStoreScanner#testDeleteVersionMaskingMultiplePuts',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('a', [1000]),
      deletion({ columnVersions: [{ family: 'f', qualifier: 'a', timestamp: 1000 }] }),
      flush,
      putVersions('a', [500]),
      putVersions('a', [900]),
      putVersions('a', [1000]),
      { scan: { columns: ['f:a'] }, results: [cellsOf('a', [900])] },
      { scan: {}, results: [cellsOf('a', [900])] },
    ],
  },
  {
    number: 40,
    title: 'markers under a scan of all columns',
    source: 'TestStoreScanner#testWildCardScannerUnderDeletes',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      ...wildcardFixture,
      { scan: { versions: 2 }, results: [['a@2', 'b@2', 'b@1', 'c@9', 'd@11']] },
    ],
  },
  {
    number: 41,
    title: 'a family marker masks every column of its row only',
    source: 'TestStoreScanner#testDeleteFamily',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      deletion({ families: [{ family: 'f', timestamp: 100 }] }, 'R1'),
      ...['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((qualifier) => {
        return putVersions(qualifier, [11], 'R1')
      }),
      putVersions('a', [11], 'R2'),
      { scan: { versions: 'all' }, results: [['R2|f:a@11']] },
    ],
  },
  {
    number: 43,
    title: 'a family marker is found although a ROWCOL filter does not hold the column',
    source: 'TestHRegion#testDeleteRowWithBloomFilter',
    states: everywhere,
    families: { f: { versions: allVersions, bloomFilter: 'ROWCOL' } },
    steps: [
      putVersions('c', [1]),
      flush,
      deletion({}),
      flush,
      { get: { row: 'r', columns: ['f:c'] }, cells: [] },
      { exists: { row: 'r', columns: ['f:c'] }, is: false },
    ],
  },
  {
    number: 46,
    title: 'a put may carry a delete marker',
    source: 'TestPutWithDelete',
    states: everywhere,
    families: versions(3),
    steps: [
      ...['A', 'B', 'C', 'D'].map((qualifier) => putCell(qualifier, undefined, 'old')),
      {
        put: {
          row: 'r',
          timestamp: 2_000_000,
          cells: [
            { column: 'f:A', value: 'new' },
            { column: 'f:B', value: 'new' },
            { column: 'f:C', type: 'DeleteColumn' },
            { column: 'f:D', value: 'new' },
          ],
        },
      },
      { get: { row: 'r' }, cells: ['A=new', 'B=new', 'D=new'] },
      { get: getAll({ columns: ['f:C'] }), cells: [] },
    ],
  },
  ...minorCompactionDeletes.map(minorCompactionCase),
  {
    number: 49,
    title: 'a major compaction that leaves nothing, under an open reversed scan',
    source: 'TestMajorCompaction#testMajorCompactingToNoOutputWithReverseScan',
    states: steered,
    steps: [
      { putList: ['a', 'b', 'c'].map((row) => ({ row, cells: { 'f:q': 'v' }, timestamp: 10 })) },
      flush,
      {
        run: async ({ table, flush, compact, same }) => {
          for (const row of ['a', 'b', 'c']) await table.delete({ row, timestamp: 20 })
          const results = table.scan({ reversed: true })
          await flush()
          await compact(true)
          same(await results.nextBatch(10), [], 'the open scan')
        },
      },
      { scan: { reversed: true }, results: [] },
      { scan: { raw: true }, results: [] },
    ],
  },
  keepDeletedOnAlter(true, 8),
  keepDeletedOnAlter(false, 0),
]
