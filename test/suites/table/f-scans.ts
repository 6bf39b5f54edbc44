/** F. Scans. */
import type { Put, PutCell, Scan } from '../../../src/api/index.js'
import {
  allVersions,
  cellsOf,
  everywhere,
  putCell,
  putVersions,
  steered,
  uncompacted,
  versions,
  type CaseContext,
  type TableCase,
  type Step,
} from './case.js'

const thousand = Array.from({ length: 1000 }, (_, index) => String(index).padStart(3, '0'))

function rowPut(row: string, columns: readonly string[] = ['q']): Put {
  const cells = columns.map((qualifier): PutCell => {
    return { column: { family: 'f', qualifier }, value: `v-${row}` }
  })
  return { row, cells }
}

/** The rows that a scan of the thousand must return, worked out without order tricks. */
function expectedRows(scan: Scan): string[] {
  const start = scan.startRow as string
  const stop = scan.stopRow as string
  const low = scan.reversed ? stop : start
  const high = scan.reversed ? start : stop
  const withStart = scan.startInclusive !== false
  const withStop = scan.stopInclusive === true
  const rows = thousand.filter((row) => {
    if (row === start) return withStart
    if (row === stop) return withStop
    return row > low && row < high
  })
  if (scan.reversed) rows.reverse()
  return rows.slice(0, scan.limit ?? rows.length)
}

function rangeScans(): Step[] {
  const steps: Step[] = []
  const ranges = [
    ['123', '345'],
    ['001', '998'],
  ]
  for (const [low, high] of ranges) {
    for (const reversed of [false, true]) {
      for (const inclusive of [0, 1, 2, 3]) {
        for (const limit of [undefined, 100]) {
          const scan: Scan = {
            startRow: reversed ? high : low,
            stopRow: reversed ? low : high,
            startInclusive: (inclusive & 1) !== 0,
            stopInclusive: (inclusive & 2) !== 0,
            reversed,
            limit,
          }
          const rows = expectedRows(scan)
          steps.push({ scan, rows })
          const pieces = rows.flatMap((row) => [row, row])
          if (limit !== undefined) steps.push({ scan: { ...scan, batch: 1 }, rows: pieces })
        }
      }
    }
  }
  return steps
}

function sameStartAndStop(startInclusive?: boolean, stopInclusive?: boolean): Step {
  const found = startInclusive === true && stopInclusive === true
  return {
    scan: { startRow: 'row', stopRow: 'row', startInclusive, stopInclusive },
    rows: found ? ['row'] : [],
  }
}

function reversedScans(rows: readonly string[]): Step[] {
  return [
    { scan: { startRow: 'R3', stopRow: 'R0', reversed: true }, rows },
    { scan: { startRow: 'R2', stopRow: 'R1', reversed: true }, rows },
    { scan: { startRow: 'R1', reversed: true }, rows: [] },
  ]
}

const tenColumns = Array.from({ length: 10 }, (_, index) => `q${index}`)

function columnsFrom(from: number, to: number, family = 'f'): string[] {
  return tenColumns.slice(from, to).map((qualifier) => `${family}:${qualifier}`)
}

async function readAfterInserts({ table, same }: CaseContext): Promise<void> {
  await table.putList([rowPut('0'), rowPut('00')])
  const open = table.scan()
  let count = (await open.nextBatch(1)).length
  await table.putList(thousand.slice(0, 999).map((row) => rowPut(`1${row}`)))
  for (;;) {
    const rest = await open.nextBatch(1)
    if (rest.length === 0) break
    count += rest.length
  }
  same(count, 2, 'the open scan sees the rows of its beginning')
  let all = 0
  for await (const result of table.scan()) all += result.size
  same(all, 1001, 'a new scan sees all rows')
}

/** Cases about scans. */
export const scanCases: readonly TableCase[] = [
  {
    number: 88,
    title: 'bounds, inclusive and not, forward and reversed, with limit and batch',
    source: 'TestScannersFromClientSide2',
    states: everywhere,
    steps: [{ putList: thousand.map((row) => rowPut(row, ['cq1', 'cq2'])) }, ...rangeScans()],
  },
  {
    number: 89,
    title: 'start row equals stop row',
    source: 'TestScannersFromClientSide#testScanWithSameStartRowStopRow',
    states: everywhere,
    steps: [
      { putList: ['ro', 'row', 'row1'].map((row) => rowPut(row)) },
      { scan: { startRow: 'row', stopRow: 'row' }, rows: [] },
      sameStartAndStop(true, true),
      sameStartAndStop(true, false),
      sameStartAndStop(false, false),
      sameStartAndStop(false, true),
    ],
  },
  {
    number: 91,
    title: 'reversed scans from and to rows that do not exist',
    source: 'TestFromClientSide5#testSimpleMissingWithReverseScan',
    states: everywhere,
    steps: [...reversedScans([]), putCell('q', undefined, 'v', 'R2'), ...reversedScans(['R2'])],
  },
  {
    number: 92,
    title: 'a reversed scan from behind the last row keeps versions in order',
    source: 'TestHRegion#testReverseScanner_FromMemStore_SingleCF_LargerKey',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      putVersions('q', [1], 'A'),
      putVersions('q', [1], 'B'),
      putVersions('q', [1, 2], 'C'),
      {
        scan: { startRow: 'D', reversed: true, versions: 5 },
        results: [['C|f:q@2', 'C|f:q@1'], ['B|f:q@1'], ['A|f:q@1']],
      },
    ],
  },
  {
    number: 94,
    title: 'batches count live cells only',
    source: 'TestFromClientSide#testScanBatch',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      ...tenColumns.slice(0, 8).map((qualifier, index) => putVersions(qualifier, [index])),
      { delete: { row: 'r', families: [{ family: 'f', timestamp: 3 }] } },
      { scan: {}, results: [['q4', 'q5', 'q6', 'q7']] },
      {
        scan: { batch: 2 },
        results: [
          ['q4', 'q5'],
          ['q6', 'q7'],
        ],
      },
    ],
  },
  {
    number: 95,
    title: 'a batch is a number of cells, whatever their size',
    source: 'TestFromClientSide3#testScanWithBatchSizeReturnIncompleteCells',
    states: everywhere,
    steps: [
      putCell('q1', 1, 'x'.repeat(3 * 1024 * 1024)),
      putCell('q2', 1, 'x'.repeat(4 * 1024 * 1024)),
      ...['q3', 'q4', 'q5'].flatMap((qualifier) => [
        putCell(qualifier, 1, 'x'.repeat(1024)),
        putCell(qualifier, 2, 'y'.repeat(1024)),
      ]),
      {
        scan: { batch: 3 },
        results: [
          ['q1', 'q2', 'q3@2'],
          ['q4@2', 'q5@2'],
        ],
      },
      { scan: { batch: 2 }, results: [['q1', 'q2'], ['q3@2', 'q4@2'], ['q5@2']] },
      // The bytes of a call do not cut what the batch has cut, unless partial results are allowed.
      {
        scan: { batch: 3, maxResultBytes: 4 * 1024 * 1024 },
        results: [
          ['q1', 'q2', 'q3@2'],
          ['q4@2', 'q5@2'],
        ],
      },
      {
        scan: { batch: 2, maxResultBytes: 4 * 1024 * 1024 },
        results: [['q1', 'q2'], ['q3@2', 'q4@2'], ['q5@2']],
      },
      {
        scan: { batch: 3, maxResultBytes: 3 * 1024 * 1024, allowPartialResults: true },
        results: [['q1'], ['q2'], ['q3@2', 'q4@2', 'q5@2']],
      },
    ],
  },
  {
    number: 97,
    title: 'offset and limit inside a family',
    source: 'TestFromClientSide#testGetRowOffset',
    states: everywhere,
    families: { f: {}, g: {} },
    steps: [
      { put: rowPut('r', tenColumns) },
      { get: { row: 'r', cellsPerFamilyOffset: 2 }, cells: columnsFrom(2, 10) },
      { get: { row: 'r', cellsPerFamilyOffset: 20 }, cells: [] },
      {
        get: { row: 'r', cellsPerFamilyOffset: 4, cellsPerFamilyMax: 5 },
        cells: columnsFrom(4, 9),
      },
      ...tenColumns.map((qualifier) => putCell(qualifier, undefined, 'v', 'r', 'g')),
      {
        get: { row: 'r', cellsPerFamilyOffset: 4, cellsPerFamilyMax: 2 },
        cells: [...columnsFrom(4, 6), ...columnsFrom(4, 6, 'g')],
      },
    ],
  },
  {
    number: 98,
    title: 'offset and limit for every family of every row',
    source: 'TestIntraRowPagination',
    states: everywhere,
    families: { f: {}, g: {} },
    steps: [
      ...['r1', 'r2', 'r3'].flatMap((row) => {
        return ['f', 'g'].flatMap((family) => {
          return tenColumns.map((qualifier) => putCell(qualifier, 1, 'v', row, family))
        })
      }),
      {
        scan: { cellsPerFamilyOffset: 1, cellsPerFamilyMax: 3 },
        results: ['r1', 'r2', 'r3'].map((row) => {
          const cells = [...columnsFrom(1, 4), ...columnsFrom(1, 4, 'g')]
          return cells.map((cell) => `${row}|${cell}`)
        }),
      },
    ],
  },
  {
    number: 100,
    title: 'a column that exists outside of the bounds only',
    source: 'TestHRegion#testScanner_StopRow1542',
    states: everywhere,
    steps: [
      ...['row111', 'row222', 'row333', 'row444', 'row555'].map((row) => {
        return putCell(row < 'row333' || row > 'row444' ? 'wanted' : 'other', 1, 'v', row)
      }),
      { scan: { startRow: 'row333', stopRow: 'row444', columns: ['f:wanted'] }, results: [] },
      { scan: { columns: ['f:wanted'] }, rows: ['row111', 'row222', 'row555'] },
    ],
  },
  {
    number: 101,
    title: 'an open scan does not see later rows',
    source: 'TestFromClientSide3#testMVCCUsingMVCCPreAssign',
    states: steered,
    steps: [{ run: readAfterInserts }],
  },
  {
    number: 92,
    title: 'versions stay in order in a reversed scan of all columns',
    source: 'TestHRegion#testReverseScanner',
    states: uncompacted,
    families: versions(3),
    steps: [
      putVersions('a', [1, 2, 3], 'A'),
      putVersions('b', [1, 2, 3], 'A'),
      {
        scan: { reversed: true, versions: 2 },
        results: [[...cellsOf('a', [3, 2]), ...cellsOf('b', [3, 2])]],
      },
    ],
  },
]
