/**
 * The tour: what a wide-column store does, shown on the loaded cities. Every part checks its outcome
 * against the source or against an invariant and throws {@link Mismatch} if it does not hold.
 *
 * Parts that write use a table of their own, `demonstration`, made anew by each run.
 */
import type { Database, Table } from '../../src/index.js'
import { formatCount, formatDuration, formatRate, type Reporter } from './report.js'
import type { Round, Rounds } from './rounds.js'
import {
  citiesTable,
  countryPrefix,
  decodeDegrees,
  decodeInteger,
  encodeInteger,
  populationAt,
  populationColumn,
  populationVersionsMax,
  rowOf,
} from './schema.js'
import { countByCountry, type City } from './source.js'

/** The store has something else than it must have. */
export class Mismatch extends Error {}

/** Throws a {@link Mismatch} unless the values are the same. */
export function expectSame(what: string, found: number | string, expected: number | string): void {
  if (found === expected) return
  throw new Mismatch(`${what}: found ${found}, expected ${expected}`)
}

/** What all parts of the tour need. */
export interface TourContext {
  readonly database: Database
  readonly rounds: Rounds
  /** All cities of the source, in the order of loading. */
  readonly cities: readonly City[]
  readonly reporter: Reporter
  readonly signal: AbortSignal
}

/** Number of cities and inhabitants. */
interface CountryTotal {
  cityCount: number
  population: number
}

const demonstrationTable = 'demonstration'
const attemptCount = 1000
const concurrentIncrementsMax = 1000
const rowsPerRead = 1000
const snapshotReads = 5

/** Runs all parts; returns what `checkTour` verifies after the reopening. */
export async function runTour(context: TourContext): Promise<() => Promise<void>> {
  const { database, rounds, cities, reporter, signal } = context
  const loaded = cities.slice(0, rounds.cityCount)
  const expected = expectedTotals(loaded, rounds)
  const busiest = [...countByCountry(loaded)].sort((a, b) => b[1] - a[1])[0][0]
  if (database.hasTable(demonstrationTable)) await database.dropTable(demonstrationTable)
  const table = await database.createTable(demonstrationTable, {
    families: { count: {}, lock: {}, account: {} },
  })
  const part = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    reporter.title(what)
    return reporter.time(what, run)
  }
  await part('prefix scans by country', () => showPrefixScans(context, expected))
  await part('reverse scan', () => showReverseScan(context, loaded, busiest))
  await part('scans by time range', () => showTimeRanges(context))
  await part('counters', () => showCounters(context, table, loaded, expected))
  const winner = await part('compare-and-set', () => showCompareAndSet(context, table))
  await part('snapshot', () => showSnapshot(context, table, loaded, busiest))
  return () => checkTour(database, expected, winner)
}

function expectedTotals(loaded: readonly City[], rounds: Rounds): Map<string, CountryTotal> {
  const totals = new Map<string, CountryTotal>()
  loaded.forEach((city, index) => {
    const total = totals.get(city.country) ?? { cityCount: 0, population: 0 }
    total.cityCount++
    total.population += populationAt(city, rounds.withCity(index)[0].number)
    totals.set(city.country, total)
  })
  return totals
}

async function showPrefixScans(
  { database, reporter }: TourContext,
  expected: ReadonlyMap<string, CountryTotal>,
): Promise<void> {
  const table = database.table(citiesTable)
  const rows: [string, number, number, string][] = []
  for (const [country, total] of expected) {
    const start = performance.now()
    const found: CountryTotal = { cityCount: 0, population: 0 }
    const scanner = table.scan({ prefix: countryPrefix(country), columns: [populationColumn] })
    for (;;) {
      const results = await scanner.nextBatch(rowsPerRead)
      if (results.length === 0) break
      for (const result of results) {
        found.cityCount++
        found.population += decodeInteger(result.value(populationColumn))
      }
    }
    expectSame(`cities of ${country}`, found.cityCount, total.cityCount)
    expectSame(`population of ${country}`, found.population, total.population)
    const duration = formatDuration(performance.now() - start)
    rows.push([country, found.cityCount, found.population, duration])
  }
  rows.sort((a, b) => b[2] - a[2])
  const populationSum = rows.reduce((sum, [, , population]) => sum + population, 0)
  reporter.line(
    `${rows.length} countries, ${formatCount(populationSum)} people in their cities; the top ten:`,
  )
  reporter.table(['country', 'cities', 'population', 'scan'], rows.slice(0, 10))
}

async function showReverseScan(
  { database, reporter }: TourContext,
  loaded: readonly City[],
  country: string,
): Promise<void> {
  const limit = 5
  const scan = { prefix: countryPrefix(country), reversed: true, limit }
  const rows: string[][] = []
  for await (const result of database.table(citiesTable).scan(scan)) {
    rows.push([
      String(result.row),
      String(result.value('name:name')),
      decodeDegrees(result.value('place:latitude')).toFixed(3),
      decodeDegrees(result.value('place:longitude')).toFixed(3),
    ])
  }
  const ofCountry = loaded.filter((city) => city.country === country).map(rowOf)
  const last = ofCountry.sort().reverse().slice(0, limit)
  expectSame(`last cities of ${country}`, rows.map(([row]) => row).join(), last.join())
  reporter.line(`the last ${rows.length} cities of ${country}, from the end:`)
  reporter.table(['row', 'name', 'latitude', 'longitude'], rows)
}

/** One scan per load whose versions are still kept for all of its cities. */
async function showTimeRanges({ database, rounds, reporter }: TourContext): Promise<void> {
  const table = database.table(citiesTable)
  const rows: (string | number)[][] = []
  for (const round of rounds.all.slice(-populationVersionsMax)) {
    const [min, max] = [round.timestamp, round.timestamp + 1]
    let cellCount = 0
    for await (const result of table.scan({ columns: ['stat'], timeRange: [min, max] })) {
      cellCount += result.size
    }
    expectSame(`populations of round ${round.number}`, cellCount, round.loadedCount)
    rows.push([`round ${round.number}`, new Date(min).toISOString(), cellCount])
  }
  reporter.line('population cells by the load that wrote them:')
  reporter.table(['load', 'timestamp', 'cells'], rows)
}

/** One increment of two columns per city. */
async function showCounters(
  { reporter, rounds, signal }: TourContext,
  table: Table,
  loaded: readonly City[],
  expected: ReadonlyMap<string, CountryTotal>,
): Promise<void> {
  const start = performance.now()
  for (let from = 0; from < loaded.length; from += concurrentIncrementsMax) {
    signal.throwIfAborted()
    const some = loaded.slice(from, from + concurrentIncrementsMax)
    await Promise.all(
      some.map((city, i) => {
        const population = populationAt(city, rounds.withCity(from + i)[0].number)
        const columns = { 'count:cities': 1, 'count:population': population }
        return table.increment({ row: city.country, columns, returnResults: false })
      }),
    )
  }
  const duration = performance.now() - start
  await checkCounters(table, expected)
  reporter.line(
    `${formatCount(loaded.length)} increments of two counters on ${expected.size} rows, ` +
      `${formatRate(loaded.length, duration)}/s; all sums as expected`,
  )
}

async function checkCounters(
  table: Table,
  expected: ReadonlyMap<string, CountryTotal>,
): Promise<void> {
  const countries = [...expected.keys()]
  const results = await table.getList(countries.map((row) => ({ row, columns: ['count'] })))
  countries.forEach((country, i) => {
    const total = expected.get(country)!
    const cityCount = decodeInteger(results[i].value('count:cities'))
    const population = decodeInteger(results[i].value('count:population'))
    expectSame(`counter of cities of ${country}`, cityCount, total.cityCount)
    expectSame(`counter of population of ${country}`, population, total.population)
  })
}

/** Everybody wants the lock at once; returns who has got it. */
async function showCompareAndSet({ reporter }: TourContext, table: Table): Promise<string> {
  const row = 'lock'
  const column = 'lock:owner'
  const attempts = Array.from({ length: attemptCount }, (_, i) =>
    table.checkAndMutate(
      { row, column, notExists: true },
      { put: { cells: { [column]: `attempt ${i}` } } },
    ),
  )
  const outcomes = await Promise.all(attempts)
  const winners = outcomes.flatMap(({ success }, i) => (success ? [`attempt ${i}`] : []))
  expectSame('winners of the compare-and-set', winners.length, 1)
  const owner = String((await table.get({ row })).value(column))
  expectSame('owner of the lock', owner, winners[0])
  reporter.line(`${formatCount(attemptCount)} concurrent attempts, one winner: ${owner}`)
  return owner
}

/**
 * Reads the same snapshot again and again while every row changes under it. Beside it, people move
 * between two columns of a row, so that any scan, with snapshot or not, must find the same sum there.
 */
async function showSnapshot(
  { database, reporter }: TourContext,
  table: Table,
  loaded: readonly City[],
  country: string,
): Promise<void> {
  const cities = loaded.filter((city) => city.country === country)
  const columns = ['account:grown', 'account:in', 'account:out']
  const [grown, inside, outside] = columns
  await table.putList(
    cities.map((city) => {
      const value = encodeInteger(city.population)
      return { row: rowOf(city), cells: { [grown]: value, [inside]: value, [outside]: value } }
    }),
  )
  const sums = async (snapshot?: ReturnType<Database['snapshot']>): Promise<number[]> => {
    const totals = [0, 0]
    const scan = { prefix: countryPrefix(country), columns, snapshot }
    for await (const result of table.scan(scan)) {
      totals[0] += decodeInteger(result.value(grown))
      totals[1] += decodeInteger(result.value(inside)) + decodeInteger(result.value(outside))
    }
    return totals
  }
  const [before, both] = await sums()
  const snapshot = database.snapshot()
  let written = 0
  const writing = (async () => {
    for (let pass = 0; pass < snapshotReads; pass++) {
      for (const city of cities) {
        const moved = 1 + (city.cityId % 7)
        await table.increment({
          row: rowOf(city),
          columns: { [grown]: 1, [inside]: moved, [outside]: -moved },
        })
        written++
      }
    }
  })()
  const rows: [string, number, number, number][] = []
  for (let read = 1; read <= snapshotReads; read++) {
    const [frozenSum, frozenBoth] = await sums(snapshot)
    const [newestSum, newestBoth] = await sums()
    expectSame(`sum of the snapshot, read ${read}`, frozenSum, before)
    expectSame(`sum of both columns in the snapshot, read ${read}`, frozenBoth, both)
    expectSame(`sum of both columns, read ${read}`, newestBoth, both)
    rows.push([`read ${read}`, written, frozenSum, newestSum])
  }
  await writing
  const [frozenSum] = await sums(snapshot)
  const [newestSum] = await sums()
  snapshot.close()
  expectSame('sum of the snapshot at the end', frozenSum, before)
  expectSame('newest sum at the end', newestSum, before + written)
  rows.push(['end', written, frozenSum, newestSum])
  reporter.line(`sums over the ${formatCount(cities.length)} cities of ${country} during writes:`)
  reporter.table(['', 'writes so far', 'in the snapshot', 'newest'], rows)
}

/** What the tour has written is still there after a reopening. */
async function checkTour(
  database: Database,
  expected: ReadonlyMap<string, CountryTotal>,
  winner: string,
): Promise<void> {
  const table = database.table(demonstrationTable)
  await checkCounters(table, expected)
  const owner = String((await table.get({ row: 'lock' })).value('lock:owner'))
  expectSame('owner of the lock after the reopening', owner, winner)
}
