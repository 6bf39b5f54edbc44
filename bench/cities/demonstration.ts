/**
 * The parts of the tour that write: counters, compare-and-set, and a snapshot that stands still.
 *
 * They use a table of their own, made anew by each run, so that a run that was killed leaves
 * nothing behind that the next one would have to reckon with.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Snapshot, Table } from '../../src/entries/index.js'
import { expectSame } from './mismatch.js'
import { pause } from './pause.js'
import { formatCount, formatRate, type Reporter } from './report.js'
import { countryPrefix, decodeInteger, encodeInteger, populationAt, rowOf } from './schema.js'
import type { City } from './source.js'
import type { Rounds } from './rounds.js'

const demonstrationTable = 'demonstration'
const families = { count: {}, lock: {}, account: {} }
const lockRow = 'lock'
const lockColumn = 'lock:owner'
const grownColumn = 'account:grown'
const insideColumn = 'account:inside'
const outsideColumn = 'account:outside'

const attemptCount = 1000
const concurrentIncrementsMax = 1000
const concurrentMovesMax = 100
const snapshotReads = 5
const pauseMilliseconds = 20

/** What all parts of the tour need. */
export interface TourContext {
  readonly database: Database
  readonly rounds: Rounds
  /** The cities that the store has, in the order of the source. */
  readonly loaded: readonly City[]
  readonly reporter: Reporter
  readonly signal: AbortSignal
}

/** Number of cities of a country and of the people in them. */
export interface CountryTotal {
  cityCount: number
  population: number
}

/** Sums over the accounts of a country. */
interface AccountSums {
  /** Of the column that writers only add to. */
  readonly grown: number
  /** Of the two columns that writers move people between. */
  readonly people: number
}

export class Demonstration {
  private readonly context: TourContext
  private readonly table: Table
  private readonly totals: ReadonlyMap<string, CountryTotal>
  private lockOwner = ''
  private accounts: readonly City[] = []
  private accountSums: AccountSums = { grown: 0, people: 0 }

  private constructor(
    context: TourContext,
    table: Table,
    totals: ReadonlyMap<string, CountryTotal>,
  ) {
    this.context = context
    this.table = table
    this.totals = totals
  }

  /** Makes an empty table; `totals` is what the counters of the countries must come to. */
  static async create(
    context: TourContext,
    totals: ReadonlyMap<string, CountryTotal>,
  ): Promise<Demonstration> {
    const { database } = context
    if (database.hasTable(demonstrationTable)) await database.dropTable(demonstrationTable)
    const table = await database.createTable(demonstrationTable, { families })
    return new Demonstration(context, table, totals)
  }

  /** One increment of two columns per city, a thousand at a time. */
  async showCounters(): Promise<void> {
    const { loaded, rounds, reporter, signal } = this.context
    const start = performance.now()
    for (let from = 0; from < loaded.length; from += concurrentIncrementsMax) {
      await pause(signal)
      const some = loaded.slice(from, from + concurrentIncrementsMax)
      await Promise.all(
        some.map((city, i) => {
          const population = populationAt(city, rounds.withCity(from + i)[0].number)
          const columns = { 'count:cities': 1, 'count:population': population }
          return this.table.increment({ row: city.country, columns, returnResults: false })
        }),
      )
    }
    const duration = performance.now() - start
    await checkCounters(this.table, this.totals)
    reporter.line(
      `${formatCount(loaded.length)} increments of two counters each on ${this.totals.size} rows, ` +
        `${formatRate(loaded.length, duration)}/s; all counters as expected`,
    )
  }

  /** A thousand want the lock at once, and one gets it. */
  async showCompareAndSet(): Promise<void> {
    const check = { row: lockRow, column: lockColumn, notExists: true } as const
    const start = performance.now()
    const outcomes = await Promise.all(
      Array.from({ length: attemptCount }, (_, i) =>
        this.table.checkAndMutate(check, { put: { cells: { [lockColumn]: `attempt ${i}` } } }),
      ),
    )
    const duration = performance.now() - start
    const winners = outcomes.flatMap(({ success }, i) => (success ? [`attempt ${i}`] : []))
    expectSame('winners of the compare-and-set', winners.length, 1)
    const result = await this.table.get({ row: lockRow })
    this.lockOwner = String(result.value(lockColumn))
    expectSame('owner of the lock', this.lockOwner, winners[0])
    this.context.reporter.line(
      `${formatCount(attemptCount)} concurrent attempts, ` +
        `${formatRate(attemptCount, duration)}/s; exactly one winner: ${this.lockOwner}`,
    )
  }

  /**
   * Reads one snapshot again and again while every row changes under it. In the same writes people
   * move between two columns of a row, so that every scan must find the same number of people.
   */
  async showSnapshot(country: string): Promise<void> {
    const { database, loaded, reporter, signal } = this.context
    this.accounts = loaded.filter((city) => city.country === country)
    await this.openAccounts()
    const before = await sumAccounts(this.table, country)
    const snapshot = database.snapshot()
    const rows: [string, number, number, number, number][] = []
    let writeCount = 0
    let reading = true
    const write = async (): Promise<void> => {
      while (reading) {
        const from = writeCount % this.accounts.length
        const some = this.accounts.slice(from, from + concurrentMovesMax)
        await Promise.all(some.map((city) => this.move(city)))
        writeCount += some.length
        await pause(signal)
      }
    }
    const read = async (): Promise<void> => {
      try {
        for (let i = 1; i <= snapshotReads; i++) {
          await sleep(pauseMilliseconds)
          const frozen = await sumAccounts(this.table, country, snapshot)
          const newest = await sumAccounts(this.table, country)
          expectSame(`sum of the snapshot, read ${i}`, frozen.grown, before.grown)
          expectSame(`people in the snapshot, read ${i}`, frozen.people, before.people)
          expectSame(`people at the moment, read ${i}`, newest.people, before.people)
          rows.push([`read ${i}`, writeCount, frozen.grown, newest.grown, newest.people])
        }
      } finally {
        reading = false
      }
    }
    await Promise.all([write(), read()])
    const frozen = await sumAccounts(this.table, country, snapshot)
    snapshot.close()
    expectSame('sum of the snapshot at the end', frozen.grown, before.grown)
    this.accountSums = { grown: before.grown + writeCount, people: before.people }
    await this.checkAccounts(this.table)
    reporter.line(
      `sums over ${formatCount(this.accounts.length)} rows of ${country} during ` +
        `${formatCount(writeCount)} writes; people moved inside the rows stay the same:`,
    )
    reporter.table(['', 'writes', 'sum in the snapshot', 'newest sum', 'people moved'], rows)
  }

  /** Throws a `Mismatch` unless the table of a database opened again has what was written. */
  async check(database: Database): Promise<void> {
    const table = database.table(demonstrationTable)
    await checkCounters(table, this.totals)
    const result = await table.get({ row: lockRow })
    expectSame('owner of the lock', String(result.value(lockColumn)), this.lockOwner)
    await this.checkAccounts(table)
  }

  private openAccounts(): Promise<void> {
    const puts = this.accounts.map((city) => {
      const value = encodeInteger(city.population)
      const cells = { [grownColumn]: value, [insideColumn]: value, [outsideColumn]: value }
      return { row: rowOf(city), cells }
    })
    return this.table.putList(puts)
  }

  private async move(city: City): Promise<void> {
    const moved = 1 + (city.cityId % 7)
    const columns = { [grownColumn]: 1, [insideColumn]: moved, [outsideColumn]: -moved }
    await this.table.increment({ row: rowOf(city), columns, returnResults: false })
  }

  private async checkAccounts(table: Table): Promise<void> {
    const sums = await sumAccounts(table, this.accounts[0].country)
    expectSame('sum of the accounts', sums.grown, this.accountSums.grown)
    expectSame('people of the accounts', sums.people, this.accountSums.people)
  }
}

async function checkCounters(
  table: Table,
  totals: ReadonlyMap<string, CountryTotal>,
): Promise<void> {
  const countries = [...totals.keys()]
  const results = await table.getList(countries.map((row) => ({ row, columns: ['count'] })))
  countries.forEach((country, i) => {
    const { cityCount, population } = totals.get(country)!
    const citiesFound = decodeInteger(results[i].value('count:cities'))
    const populationFound = decodeInteger(results[i].value('count:population'))
    expectSame(`counter of the cities of ${country}`, citiesFound, cityCount)
    expectSame(`counter of the population of ${country}`, populationFound, population)
  })
}

async function sumAccounts(
  table: Table,
  country: string,
  snapshot?: Snapshot,
): Promise<AccountSums> {
  let grown = 0
  let people = 0
  const prefix = countryPrefix(country)
  for await (const result of table.scan({ prefix, columns: ['account'], snapshot })) {
    grown += decodeInteger(result.value(grownColumn))
    people += decodeInteger(result.value(insideColumn))
    people += decodeInteger(result.value(outsideColumn))
  }
  return { grown, people }
}
