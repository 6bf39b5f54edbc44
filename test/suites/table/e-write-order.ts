/** E. NEW_VERSION_BEHAVIOR. Every case holds in every state: that is what it is for. */
import type { FamilyOptions, PutCell } from '../../../src/api/index.js'
import { cellsOf, everywhere, putCell, putVersions, type TableCase, type Step } from './case.js'

const source = 'TestNewVersionBehaviorFromClientSide'
const families: Readonly<Record<string, FamilyOptions>> = {
  f: { versions: 3, newVersionBehavior: true },
}

/** Puts one after the other, each a mutation of its own. */
function putsOf(qualifier: string, timestamps: readonly number[]): Step[] {
  return timestamps.map((timestamp) => putVersions(qualifier, [timestamp]))
}

function deleteVersion(qualifier: string, timestamp: number): Step {
  return { delete: { row: 'r', columnVersions: [{ family: 'f', qualifier, timestamp }] } }
}

function deleteColumn(qualifier: string, timestamp: number): Step {
  return { delete: { row: 'r', columns: [{ family: 'f', qualifier, timestamp }] } }
}

/** Both with and without naming the column. */
function reads(timestamps: readonly number[], versions = 3): Step[] {
  const cells = cellsOf('q', timestamps)
  return [
    { get: { row: 'r', versions }, cells },
    { get: { row: 'r', versions, columns: ['f:q'] }, cells },
  ]
}

const t0 = 1_000_000

function fourCells(): Step {
  const cells: PutCell[] = []
  for (const [qualifier, timestamp] of [
    ['col1', t0 + 1],
    ['col1', t0 + 2],
    ['col2', t0 + 2],
    ['col3', t0 + 1],
  ] as const) {
    cells.push({ column: { family: 'f', qualifier }, timestamp, value: 'v' })
  }
  return { put: { row: 'r', cells } }
}

function count(cellCount: number): Step {
  return { scan: { versions: 3 }, cellCount }
}

/** Cases about NEW_VERSION_BEHAVIOR. */
export const writeOrderCases: readonly TableCase[] = [
  {
    number: 80,
    title: 'a put behind a column marker is visible though its timestamp is older',
    source: `${source}#testPutAndDeleteVersions`,
    states: everywhere,
    families,
    steps: [
      ...putsOf('q', [t0 + 1, t0 + 2, t0 + 3, t0 + 4]),
      deleteColumn('q', 2_000_000),
      ...reads([]),
      ...putsOf('q', [t0]),
      ...reads([t0]),
    ],
  },
  {
    number: 82,
    title: 'a put behind a version marker of its timestamp is visible',
    source: `${source}#testPutMasked2`,
    states: everywhere,
    families,
    steps: [
      ...putsOf('q', [1, 2]),
      deleteVersion('q', 3),
      ...putsOf('q', [3, 4]),
      ...reads([4, 3, 2]),
    ],
  },
  {
    number: 83,
    title: 'deleting the newest versions does not bring back what they displaced',
    source: `${source}#testPutMaskedAndUserMaxVersion`,
    states: everywhere,
    families,
    steps: [
      ...putsOf('q', [1, 2, 3, 4]),
      deleteVersion('q', 4),
      deleteVersion('q', 3),
      ...reads([2], 1),
      ...reads([2]),
    ],
  },
  {
    number: 83,
    title: 'a put of an old timestamp displaces nothing and is displaced at once',
    source,
    states: everywhere,
    families,
    steps: [
      ...putsOf('q', [5, 6, 7]),
      ...putsOf('q', [4]),
      deleteVersion('q', 7),
      ...reads([6, 5]),
      ...putsOf('q', [3]),
      ...reads([6, 5, 3]),
      putCell('q', 5, 'again'),
      { get: { row: 'r', versions: 3 }, cells: ['q@6', 'q@5=again', 'q@3'] },
    ],
  },
  {
    number: 85,
    title: 'the time range is looked at after the versions are counted',
    source: `${source}#testTimeRange`,
    states: everywhere,
    families,
    steps: [
      ...putsOf('q', [1, 2, 3, 4, 5, 6, 7, 8]),
      { get: { row: 'r', versions: 3, timeRange: [0, 5] }, cells: [] },
      { get: { row: 'r', versions: 3, timeRange: [0, 8] }, cells: cellsOf('q', [7, 6]) },
    ],
  },
  {
    number: 86,
    title: 'markers of the family concern what was written before them',
    source: `${source}#testDeleteFamily`,
    states: everywhere,
    families,
    steps: [
      fourCells(),
      count(4),
      { delete: { row: 'r', families: [{ family: 'f', timestamp: 2_000_000 }] } },
      count(0),
      {
        put: {
          row: 'r',
          cells: (
            [
              ['col3', 1_500_002],
              ['col2', 1_500_001],
              ['col1', 1_500_001],
              ['col1', 1_500_002],
            ] as const
          ).map(([qualifier, timestamp]) => {
            return { column: { family: 'f', qualifier }, timestamp, value: 'v' }
          }),
        },
      },
      count(4),
      { delete: { row: 'r', familyVersions: [{ family: 'f', timestamp: 1_500_001 }] } },
      count(2),
      fourCells(),
      count(6),
    ],
  },
]
