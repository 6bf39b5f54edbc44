/**
 * UserMatcher and RetentionMatcher by themselves, against the rules of the reference model: random
 * cells of one row under random options.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { emptyBytes } from '../../../../src/base/bytes.js'
import { ManualClock, Moment } from '../../../../src/base/clock.js'
import { allTime, makeTimeRange } from '../../../../src/storage/cell/timestamp.js'
import { asksForNewest, MatchCode, type StoreQuery } from '../../../../src/storage/scan/query.js'
import { RetentionMatcher } from '../../../../src/storage/scan/retention-matcher.js'
import { ReadPosition } from '../../../../src/storage/scan/read-position.js'
import { UserMatcher } from '../../../../src/storage/scan/user-matcher.js'
import { lengthOf } from '../../../helpers/length.js'
import {
  compactedCells,
  flushedCells,
  readFamily,
  type StoredCell,
} from '../../../model/reference/reading-rules.js'
import {
  cellOf,
  escaped,
  now,
  randomCells,
  randomFamily,
  textOfCell,
  viewOf,
} from './random-cells.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)
const rounds = lengthOf('CELLAR_MATCHER_ROUNDS', 800, 20_000)
const latest = 2n ** 63n - 1n

/** What a matcher includes, if whatever it says may be jumped over is jumped over. */
function included(
  cells: readonly StoredCell[],
  match: (cell: StoredCell) => MatchCode,
  jumps: boolean,
): StoredCell[] {
  const found: StoredCell[] = []
  let left: string | undefined
  for (const cell of cells) {
    if (jumps && cell.qualifier === left) continue
    left = undefined
    const code = match(cell)
    if (code <= MatchCode.includeAndSeekNextRow) found.push(cell)
    if (code === MatchCode.includeAndSeekNextRow || code === MatchCode.seekNextRow) break
    const leaves = code === MatchCode.includeAndSeekNextColumn || code === MatchCode.seekNextColumn
    // Markers of the family lie among the cells of the empty column.
    if (leaves && cell.qualifier !== '') left = cell.qualifier
  }
  return found
}

function randomQuery(random: Random): StoreQuery {
  const raw = random.below(8) === 0
  const min = now - random.below(30)
  const some = ['', '\0', 'a', 'b', 'd'].filter(() => random.below(2) === 0)
  return {
    columns: raw || some.length === 0 ? undefined : some.map(escaped),
    versions: 1 + random.below(3),
    timeRange: random.below(3) > 0 ? allTime : makeTimeRange(min, min + 1 + random.below(30)),
    raw,
    filter: undefined,
    cellsPerRowMax: -1,
    cellsPerRowOffset: 0,
  }
}

function namesOf({ columns }: StoreQuery): string[] | undefined {
  return columns?.map((column) => column.toString('latin1').replace(/\0\xff/g, '\0'))
}

function rangeOf({ timeRange }: StoreQuery): { min: bigint; max: bigint } {
  if (timeRange === allTime) return { min: 0n, max: latest }
  const { minHigh, minLow, maxHigh, maxLow } = timeRange
  const join = (high: number, low: number): bigint => (BigInt(high) << 32n) + BigInt(low)
  return { min: join(minHigh, minLow), max: join(maxHigh, maxLow) }
}

void t.test(`a UserMatcher includes what the rules include, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const position = new ReadPosition()
  const matcher = new UserMatcher(position)
  const wrong: string[] = []
  let found = 0
  for (let round = 0; round < rounds; round++) {
    const cells = randomCells(random, 'r', 1 + random.below(24))
    const { options, rules } = randomFamily(random)
    const query = randomQuery(random)
    const readPoint = random.below(3) === 0 ? random.below(cells.length + 1) : 1000
    const read = {
      versions: query.versions,
      ...rangeOf(query),
      raw: query.raw,
      qualifiers: namesOf(query),
      offset: 0,
      limit: Infinity,
    }
    const seen = cells.filter(({ sequence }) => sequence <= readPoint)
    const expected = readFamily(seen, rules, read, BigInt(now)).map(textOfCell)
    matcher.configure(query, options, readPoint, new Moment(new ManualClock(now)))
    // Jumping over the rest of a column is a service to the matcher, which must not need it.
    for (const jumps of [true, false]) {
      position.startRow(emptyBytes, 0, 0)
      matcher.startRow()
      const all = included(cells, (cell) => matcher.match(viewOf(cell)), jumps).map(textOfCell)
      if (all.join() !== expected.join()) wrong.push(`round ${round}: ${all.join()}`)
      found += all.length
    }
  }
  t.same(wrong, [])
  t.ok(found > rounds, 'some cells are included')
  t.end()
})

void t.test('a plain read is one of newest versions, of any age', (t) => {
  const random = seededRandom(seed)
  const options = { ...randomFamily(random).options, versions: 3, ttlSeconds: Infinity }
  const query = { ...randomQuery(random), columns: undefined, raw: false, timeRange: allTime }
  const isPlain = (
    ofQuery: Partial<StoreQuery>,
    ofFamily: Partial<typeof options> = { newVersionBehavior: false },
  ): boolean => asksForNewest({ ...query, ...ofQuery }, { ...options, ...ofFamily })
  t.equal(isPlain({ versions: 1 }), true)
  t.equal(isPlain({ versions: 2 }), false)
  t.equal(isPlain({ versions: 2 }, { versions: 1, newVersionBehavior: false }), true)
  t.equal(isPlain({ versions: 1 }, { newVersionBehavior: true }), false)
  t.equal(isPlain({ versions: 1 }, { newVersionBehavior: false, ttlSeconds: 5 }), true)
  t.equal(isPlain({ versions: 1, raw: true }), false)
  t.equal(isPlain({ versions: 1, cellsPerRowMax: 3 }), false)
  t.equal(isPlain({ versions: 1, cellsPerRowOffset: 1 }), false)
  t.equal(isPlain({ versions: 1, timeRange: makeTimeRange(0, 5) }), false)
  t.end()
})

void t.test('a matcher whose memory went knows its row by heart', (t) => {
  const position = new ReadPosition()
  const matcher = new UserMatcher(position)
  const { options } = randomFamily(seededRandom(seed))
  const family = { ...options, ttlSeconds: Infinity, keepDeletedCells: 'FALSE' as const }
  const query = { ...randomQuery(seededRandom(1)), columns: undefined, raw: false }
  const moment = new Moment(new ManualClock(now))
  const plain = { ...query, versions: 1, timeRange: allTime }
  matcher.configure(plain, { ...family, newVersionBehavior: false }, 100, moment)
  position.startRow(emptyBytes, 0, 0)
  matcher.startRow()
  const views = [
    cellOf({ type: 'DeleteColumn', timestamp: 5n }),
    cellOf({ timestamp: 6n, qualifier: 'b' }),
  ].map(viewOf)
  t.equal(matcher.match(views[0]), MatchCode.skip)
  matcher.detach()
  position.detach()
  views[0].buffer.fill(0xdb)
  t.equal(matcher.match(viewOf(cellOf({ timestamp: 4n }))), MatchCode.seekNextColumn)
  t.equal(matcher.match(views[1]), MatchCode.include)
  matcher.detach()
  position.detach()
  views[1].buffer.fill(0xdb)
  t.equal(
    matcher.match(viewOf(cellOf({ timestamp: 5n, qualifier: 'b' }))),
    MatchCode.seekNextColumn,
  )
  t.end()
})

void t.test(`a RetentionMatcher keeps what the rules keep, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const wrong: string[] = []
  let dropped = 0
  for (let round = 0; round < rounds; round++) {
    const cells = randomCells(random, 'r', 1 + random.below(24))
    const { options, rules } = randomFamily(random)
    const dropsMarkers = random.below(2) === 0
    const puts = cells.filter(({ type }) => type === 'Put').map(({ timestamp }) => timestamp)
    const earliest = puts.reduce((a, b) => (b < a ? b : a), latest)
    const matcher = new RetentionMatcher({
      options,
      sequenceKept: 0,
      now,
      dropsMarkers,
      earliestPutTimestamp: Number(earliest),
    })
    matcher.startRow()
    const kept = included(cells, (cell) => matcher.match(viewOf(cell)), false)
    const expected = dropsMarkers
      ? compactedCells(cells, rules, BigInt(now), earliest)
      : flushedCells(cells, rules, 0, BigInt(now))
    const difference = [kept, expected].map((list) => list.map(textOfCell).sort().join())
    if (difference[0] !== difference[1]) wrong.push(`round ${round}: ${difference.join(' not ')}`)
    dropped += cells.length - kept.length
  }
  t.same(wrong.slice(0, 3), [])
  t.ok(dropped > rounds, 'some cells are dropped')
  t.end()
})

void t.test('a RetentionMatcher says why a cell goes', (t) => {
  const options = {
    ...randomFamily(seededRandom(seed)).options,
    versions: 1,
    minVersions: 0,
    ttlSeconds: 1,
    keepDeletedCells: 'FALSE' as const,
    newVersionBehavior: false,
  }
  const scope = { options, sequenceKept: 0, now, dropsMarkers: true, earliestPutTimestamp: 0 }
  const matcher = new RetentionMatcher(scope)
  const reasonOf = (parts: Partial<StoredCell>): string => {
    const code = matcher.match(viewOf(cellOf(parts)))
    return code === MatchCode.include ? 'kept' : matcher.reason
  }
  matcher.startRow()
  t.equal(reasonOf({ timestamp: BigInt(now) }), 'kept')
  t.equal(reasonOf({ timestamp: BigInt(now - 1) }), 'versions')
  t.equal(reasonOf({ timestamp: BigInt(now - 2000) }), 'expired')
  t.equal(reasonOf({ qualifier: 'b', type: 'DeleteColumn' }), 'markers')
  t.equal(reasonOf({ qualifier: 'b' }), 'masked')
  t.equal(reasonOf({ qualifier: 'c' }), 'kept')
  t.end()
})
