/**
 * The tour: what a wide-column store does, shown on the loaded cities. Here are its course and the
 * parts that read; those that write are in demonstration.ts. Every part checks its outcome against
 * the source and throws a `Mismatch` if it does not hold.
 */
import { Demonstration, type CountryTotal, type TourContext } from './demonstration.js'
import { expectSame } from './mismatch.js'
import { pause } from './pause.js'
import { formatCount, formatDuration, formatMoment } from './report.js'
import type { Rounds } from './rounds.js'
import {
  citiesTable,
  countryPrefix,
  decodeDegrees,
  decodeInteger,
  populationAt,
  populationColumn,
  populationVersionsMax,
  rowOf,
} from './schema.js'
import { countByCountry, type City } from './source.js'

const rowsPerRead = 1000
const countriesShown = 10
const lastCitiesShown = 5

/** Runs all parts. REQUIRES at least one loaded city. */
export async function runTour(context: TourContext): Promise<Demonstration> {
  const { loaded, rounds, reporter, signal } = context
  const totals = expectedTotals(loaded, rounds)
  const country = [...countByCountry(loaded)].sort((a, b) => b[1] - a[1])[0][0]
  const part = async (title: string, run: () => Promise<void>): Promise<void> => {
    await pause(signal)
    reporter.title(title)
    await reporter.time(title, run)
  }
  await part('prefix scans by country', () => showPrefixScans(context, totals))
  await part('reverse scan', () => showReverseScan(context, country))
  await part('scans by time range', () => showTimeRanges(context))
  const demonstration = await Demonstration.create(context, totals)
  await part('counters', () => demonstration.showCounters())
  await part('compare-and-set', () => demonstration.showCompareAndSet())
  await part('snapshot', () => demonstration.showSnapshot(country))
  return demonstration
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
  totals: ReadonlyMap<string, CountryTotal>,
): Promise<void> {
  const table = database.table(citiesTable)
  const rows: [string, number, number, string][] = []
  for (const [country, expected] of totals) {
    const start = performance.now()
    let cityCount = 0
    let population = 0
    const scanner = table.scan({ prefix: countryPrefix(country), columns: [populationColumn] })
    for (;;) {
      const results = await scanner.nextBatch(rowsPerRead)
      if (results.length === 0) break
      cityCount += results.length
      for (const result of results) population += decodeInteger(result.value(populationColumn))
    }
    expectSame(`cities of ${country}`, cityCount, expected.cityCount)
    expectSame(`population of ${country}`, population, expected.population)
    rows.push([country, cityCount, population, formatDuration(performance.now() - start)])
  }
  rows.sort((a, b) => b[2] - a[2])
  const populationSum = rows.reduce((sum, [, , population]) => sum + population, 0)
  reporter.line(
    `${rows.length} countries with ${formatCount(populationSum)} people in their cities, ` +
      'all counts and sums as in the source; the largest:',
  )
  reporter.table(['country', 'cities', 'population', 'scan'], rows.slice(0, countriesShown))
}

async function showReverseScan(
  { database, loaded, reporter }: TourContext,
  country: string,
): Promise<void> {
  const prefix = countryPrefix(country)
  const rows: string[][] = []
  const scan = { prefix, reversed: true, limit: lastCitiesShown }
  for await (const result of database.table(citiesTable).scan(scan)) {
    rows.push([
      String(result.row),
      String(result.value('name:name')),
      decodeDegrees(result.value('place:latitude')).toFixed(3),
      decodeDegrees(result.value('place:longitude')).toFixed(3),
    ])
  }
  const ofCountry = loaded.filter((city) => city.country === country).map(rowOf)
  const expected = ofCountry.sort().reverse().slice(0, lastCitiesShown)
  expectSame(`last cities of ${country}`, rows.map(([row]) => row).join(), expected.join())
  reporter.line(`the last ${rows.length} cities of ${country}, from the end:`)
  reporter.table(['row', 'name', 'latitude', 'longitude'], rows)
}

/** One scan for each load whose versions are still kept. */
async function showTimeRanges({ database, rounds, reporter }: TourContext): Promise<void> {
  const table = database.table(citiesTable)
  const rows: (string | number)[][] = []
  for (const { number, timestamp, loadedCount } of rounds.all.slice(-populationVersionsMax)) {
    let cellCount = 0
    let population = 0
    const scan = { columns: ['stat'], timeRange: [timestamp, timestamp + 1] as const }
    for await (const result of table.scan(scan)) {
      cellCount += result.size
      population += decodeInteger(result.value(populationColumn))
    }
    expectSame(`populations of round ${number}`, cellCount, loadedCount)
    rows.push([`round ${number}`, formatMoment(timestamp), cellCount, population])
  }
  reporter.line('population cells by the load that wrote them:')
  reporter.table(['load', 'timestamp', 'cells', 'population'], rows)
}
