/** Which SSTables a read has to consult, as tables of cases. */
import t from 'tap'
import { Hash64, hashRange } from '../../../../src/base/hash.js'
import { FilterKind } from '../../../../src/storage/cell/row-filter.js'
import { allTime, makeTimeRange } from '../../../../src/storage/cell/timestamp.js'
import type { RetentionOptions } from '../../../../src/storage/scan/query.js'
import type { RowBounds } from '../../../../src/storage/scan/row-scanner.js'
import { oldestUnexpired } from '../../../../src/storage/scan/user-matcher.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { RowProbe } from '../../../../src/storage/store/row-probe.js'
import {
  tablesOfRange,
  tablesOfRow,
  type LeveledSources,
  type ReadTimes,
} from '../../../../src/storage/store/source-choice.js'

interface Made {
  from: string
  to: string
  times?: [number, number]
  minSequence?: number
  deletes?: number
  /** The rows in its Bloom filter; absent: it has none. */
  rows?: string[]
}

const key = (row: string): Buffer => Buffer.from(`${row}\0\x01`)

function tableOf({ from, to, times, minSequence, deletes, rows }: Made): SsTableReader {
  const [low, high] = times ?? [0, 1000]
  const hashOf = (row: string): string => {
    const hash = new Hash64()
    hashRange(Buffer.from(row), 0, row.length, hash)
    return JSON.stringify(hash)
  }
  const hashes = rows?.map(hashOf)
  const made = {
    properties: {
      firstKey: key(from),
      lastKey: key(to),
      minTimestamp: BigInt(low),
      maxTimestamp: BigInt(high),
      minSequence: minSequence ?? 1,
      deleteCount: deletes ?? 0,
      familyDeleteCount: 0,
      filterKind: rows === undefined ? FilterKind.none : FilterKind.row,
    },
    mayContain: (hash: Hash64) => hashes === undefined || hashes.includes(JSON.stringify(hash)),
  }
  return made as unknown as SsTableReader
}

function sourcesOf(levels: Made[][]): LeveledSources {
  let end = 0
  const levelEnds = levels.map((level) => (end += level.length))
  return { tables: levels.flat().map(tableOf), levelEnds }
}

function readOf(changes: Partial<ReadTimes['query']> = {}, ttlSeconds = Infinity): ReadTimes {
  return {
    query: { timeRange: allTime, raw: false, ...changes },
    settings: { ttlSeconds, minVersions: 0, newVersionBehavior: false },
    readPoint: 10,
    oldest: oldestUnexpired({ ttlSeconds } as RetentionOptions, 5000),
  } as unknown as ReadTimes
}

function choiceOf(levels: Made[][], row: string, read = readOf()): number[] {
  const probe = new RowProbe()
  const found = [99]
  probe.setRow(key(row), row.length)
  tablesOfRow(sourcesOf(levels), read, probe, undefined, found)
  return found
}

const all = { start: undefined, startInclusive: true, stop: undefined, stopInclusive: false }

function rangeOf(levels: Made[][], bounds: Partial<RowBounds>, read = readOf()): number[] {
  const given: RowBounds = { ...all, reversed: false, ...bounds }
  const found = [99]
  tablesOfRange(sourcesOf(levels), read, new RowProbe(), given, found)
  return found
}

const leveled: Made[][] = [
  [
    { from: 'b', to: 'k' },
    { from: 'a', to: 'z' },
  ],
  [
    { from: 'a', to: 'c' },
    { from: 'd', to: 'm' },
    { from: 'm', to: 'p' },
  ],
  [],
  [{ from: 'c', to: 'e' }],
]

void t.test('a row: every file of level 0, and of a deeper level those at the row', async (t) => {
  const cases: Readonly<Record<string, number[]>> = {
    a: [1, 2],
    b: [0, 1, 2],
    cc: [0, 1, 5],
    d: [0, 1, 3, 5],
    m: [1, 3, 4],
    q: [1],
    zz: [],
  }
  for (const [row, expected] of Object.entries(cases)) t.same(choiceOf(leveled, row), expected, row)
})

void t.test('a row: Bloom filters, sequences and timestamps exclude files', async (t) => {
  const one = (made: Partial<Made>): Made[][] => [[{ from: 'a', to: 'z', ...made }]]
  const recent = { timeRange: makeTimeRange(500, 600) }
  const cases: readonly (readonly [string, Made[][], ReadTimes, boolean])[] = [
    ['in the filter', one({ rows: ['r', 's'] }), readOf(), true],
    ['not in the filter', one({ rows: ['s'] }), readOf(), false],
    ['written at the read point', one({ minSequence: 10 }), readOf(), true],
    ['written after the read point', one({ minSequence: 11 }), readOf(), false],
    ['within the time range', one({ times: [550, 560] }), readOf(recent), true],
    ['older than the time range', one({ times: [0, 499] }), readOf(recent), false],
    ['newer than the time range', one({ times: [600, 700] }), readOf(recent), false],
    ['newer, with markers', one({ times: [600, 700], deletes: 1 }), readOf(recent), true],
    ['expired', one({ times: [0, 2999] }), readOf({}, 2), false],
    ['just not expired', one({ times: [0, 3000] }), readOf({}, 2), true],
    ['expired, of a raw read', one({ times: [0, 2999] }), readOf({ raw: true }, 2), true],
  ]
  for (const [what, levels, read, isChosen] of cases) {
    t.same(choiceOf(levels, 'r', read), isChosen ? [0] : [], what)
  }
})

void t.test('a file that only its timestamps exclude is counted', async (t) => {
  const probe = new RowProbe()
  const found: number[] = []
  probe.setRow(key('r'), 1)
  const sources = sourcesOf([
    [
      { from: 'a', to: 'z' },
      { from: 'a', to: 'z', times: [0, 1] },
    ],
  ])
  const read = readOf({ timeRange: makeTimeRange(500, 600) })
  t.equal(tablesOfRow(sources, read, probe, undefined, found), 2)
  t.same(found, [0])
})

void t.test('a range: files that overlap the bounds, in both directions', async (t) => {
  const at = (start: string, stop: string): Partial<RowBounds> => {
    return { start: Buffer.from(start), stop: Buffer.from(stop) }
  }
  const cases: readonly (readonly [string, Partial<RowBounds>, number[]])[] = [
    ['all rows', {}, [0, 1, 2, 3, 4, 5]],
    ['all rows, reversed', { reversed: true }, [0, 1, 2, 3, 4, 5]],
    ['from d', { start: Buffer.from('d') }, [0, 1, 3, 4, 5]],
    ['from f to l', at('f', 'l'), [0, 1, 3]],
    ['from l to f, reversed', { ...at('l', 'f'), reversed: true }, [0, 1, 3]],
    ['up to b', { stop: Buffer.from('b') }, [0, 1, 2]],
    ['after all rows', { start: Buffer.from('zz') }, []],
  ]
  for (const [what, bounds, expected] of cases) t.same(rangeOf(leveled, bounds), expected, what)
})

void t.test('a filter of columns admits a name of any length, also at the first question', (t) => {
  for (const length of [0, 1, 100, 125, 126, 127, 300, 70_000]) {
    const qualifier = Buffer.alloc(length, 'q')
    const filterKey = Buffer.concat([key('row'), qualifier])
    const admitted = new Hash64()
    hashRange(filterKey, 0, filterKey.length, admitted)
    const table = {
      properties: { filterKind: FilterKind.rowColumn, familyDeleteCount: 0 },
      mayContain: ({ high, low }: Hash64) => high === admitted.high && low === admitted.low,
    } as unknown as SsTableReader
    const probe = new RowProbe()
    probe.setRow(key('row'), 3)
    t.ok(probe.passesFilter(table, [qualifier]), `${length} bytes`)
    t.notOk(probe.passesFilter(table, [Buffer.alloc(length + 1, 'q')]))
  }
  t.end()
})
