/** The way of the demonstration's data to a cluster and back; see `main.ts`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Demonstration } from '../brokers/demonstration.js'
import { Coordinator } from '../brokers/processes.js'
import { loadRound } from '../cities/load.js'
import { expectSame, Mismatch } from '../cities/mismatch.js'
import { formatCount, type Reporter } from '../cities/report.js'
import { Rounds } from '../cities/rounds.js'
import { readCities, type City } from '../cities/source.js'
import { verifyCities } from '../cities/verify.js'
import { openShop, openShopOn } from '../orders/program.js'
import { checkShop, runAndKill, type ShopReport } from '../orders/rounds.js'
import { Database, type BackendDatabase } from '../../src/entries/index.js'
import { connectHBase, inspectMove, moveDatabase } from '../../src/entries/hbase.js'
import { metadataStoreOf } from '../../src/systems/metastore/pulsar/index.js'
import { openOwned } from './place.js'

const cityTables = ['cities', 'progress']
const batchCities = 500
/** Longer than a takeover, so that the sessions of brokers survive the kill of the owner. */
const sessionMilliseconds = 6_000

/** How much is done. */
export interface JourneySettings {
  readonly cities: number
  readonly kills: number
  readonly seed: number
}

/** One run; see the file header. */
export class Journey {
  readonly #port: number
  readonly #settings: JourneySettings
  readonly #reporter: Reporter
  readonly #cities: readonly City[]
  readonly #signal = new AbortController().signal
  #movedCells = 0
  #verifiedCells = 0
  #orders = 0

  constructor(port: number, settings: JourneySettings, reporter: Reporter) {
    this.#port = port
    this.#settings = settings
    this.#reporter = reporter
    this.#cities = readCities(settings.cities)
  }

  /** The figures of the run, in one sentence. */
  summary(): string {
    return (
      `${formatCount(this.#movedCells)} cells moved and compared, ` +
      `${formatCount(this.#verifiedCells)} cells of cities verified against their source, ` +
      `${formatCount(this.#orders)} orders counted exactly once: OK`
    )
  }

  /** Does everything. Throws at the first difference. */
  async run(): Promise<void> {
    const home = mkdtempSync(join(tmpdir(), 'cellar-cluster-'))
    try {
      await this.#there(join(home, 'before'))
      const orderTables = await this.#tablesMadeBy(() => this.#runOrders())
      const metadataTables = await this.#tablesMadeBy(() => this.#runBrokers())
      await this.#back(join(home, 'after'), orderTables, metadataTables)
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  }

  #address(name: string): string {
    return `hbase://127.0.0.1:${this.#port}/${name}`
  }

  async #withHBase<T>(run: (hbase: BackendDatabase) => Promise<T>): Promise<T> {
    const hbase = await connectHBase({ host: '127.0.0.1', port: this.#port })
    try {
      return await run(hbase)
    } finally {
      await hbase.close()
    }
  }

  async #there(directory: string): Promise<void> {
    const reporter = this.#reporter
    reporter.title('cities in a directory')
    const database = await Database.open(directory)
    try {
      const rounds = await Rounds.open(database)
      await this.#load(database, rounds)
      await this.#withHBase(async (hbase) => {
        reporter.title('move to HBase, while the second round is loaded')
        const { obstacles, notes } = await inspectMove(database, hbase)
        for (const note of notes) reporter.line(`note: ${note}`)
        expectSame('obstacles', obstacles.join('; '), '')
        await this.#move('move to HBase', database, hbase, cityTables, this.#load(database, rounds))
        await this.#verify(hbase)
      })
    } finally {
      await database.close()
    }
  }

  /** Kills the owner again and again while it takes orders, and counts them. */
  async #runOrders(): Promise<void> {
    const { kills, seed } = this.#settings
    this.#reporter.title('orders on HBase: transactions and messages, the owner is killed')
    const address = this.#address('shop')
    await this.#reporter.time('orders with kills', async () => {
      for (let round = 1; round <= kills; round++) {
        const milliseconds = 1_500 + ((round * 7_919 + seed * 104_729) % 2_000)
        await runAndKill(address, milliseconds)
        this.#reporter.line(`owner ${round} was killed after ${milliseconds} ms`)
      }
    })
    const { database, close } = await openOwned(address)
    const shop = await openShopOn(database)
    this.#orders = agreeing(await checkShop(shop)).last
    await shop.close()
    await close()
  }

  async #runBrokers(): Promise<void> {
    this.#reporter.title('brokers on HBase: metadata, locks, elections, the owner is killed')
    await this.#reporter.time('brokers with kills', async () => {
      const coordinator = new Coordinator(this.#address('metadata'))
      try {
        await coordinator.start()
        const shown = await Demonstration.of(`coordinator:${coordinator.port}`, sessionMilliseconds)
        try {
          await shown.run()
          await shown.restart(coordinator)
        } finally {
          await shown.end()
        }
      } finally {
        await coordinator.kill()
      }
    })
  }

  /** Names of the tables of HBase that a step has made, without logs and states. */
  async #tablesMadeBy(step: () => Promise<void>): Promise<string[]> {
    const names = (): Promise<string[]> =>
      this.#withHBase(async ({ admin }) => admin.listTableNames())
    const before = new Set([...(await names()), 'cellar_owned'])
    await step()
    return (await names()).filter((name) => !before.has(name))
  }

  async #back(
    directory: string,
    orderTables: readonly string[],
    metadataTables: readonly string[],
  ): Promise<void> {
    const reporter = this.#reporter
    reporter.title('move back, while the third round is loaded into HBase')
    const database = await Database.open(directory)
    try {
      await this.#fromOwned('cities', async (owned) => {
        // The switch of the first move left the target writable.
        const loading = this.#load(owned, await Rounds.open(owned))
        await this.#move('move of the cities back', owned, database, cityTables, loading)
      })
      for (const [name, tables] of [
        ['shop', orderTables],
        ['metadata', metadataTables],
      ] as const) {
        await this.#fromOwned(name, (owned) =>
          this.#move(`move of the ${name} back`, owned, database, tables),
        )
      }
      await this.#verify(database)
      await this.#checkMetadata(database)
    } finally {
      await database.close()
    }
    const shop = await openShop(directory)
    const { last } = agreeing(await checkShop(shop))
    await shop.close()
    expectSame('orders in the directory', last, this.#orders)
  }

  async #fromOwned(name: string, run: (owned: BackendDatabase) => Promise<void>): Promise<void> {
    const { database, close } = await openOwned(this.#address(name))
    try {
      await run(database)
    } finally {
      await close()
    }
  }

  /** Moves tables; the source is written to until `writing` ends. */
  async #move(
    what: string,
    source: BackendDatabase,
    target: BackendDatabase,
    tables: readonly string[],
    writing?: Promise<void>,
  ): Promise<void> {
    const stateTable = `state of the ${what}`.replaceAll(' ', '_')
    const stopWrites = writing && { stopWrites: () => writing }
    const report = await this.#reporter.time(what, () =>
      moveDatabase(source, target, { tables, stateTable, ...stopWrites }),
    )
    const { comparedRows, comparedCells, writtenCells, repairedRows } = report
    this.#movedCells += writtenCells
    this.#reporter.line(
      `${what}: ${formatCount(writtenCells)} cells written, ${repairedRows} rows copied again; ` +
        `${formatCount(comparedRows)} rows with ${formatCount(comparedCells)} cells are equal`,
    )
  }

  async #load(database: BackendDatabase, rounds: Rounds): Promise<void> {
    const round = await rounds.begin(this.#cities.length, Date.now())
    const settings = { batchCities, signal: this.#signal }
    const quiet = { progress: () => ({ update: () => undefined, stop: () => undefined }) }
    await loadRound(database, rounds, round, this.#cities, settings, quiet)
    this.#reporter.line(`round ${round.number} is loaded: ${formatCount(round.cityCount)} cities`)
  }

  async #verify(database: BackendDatabase): Promise<void> {
    const reporter = this.#reporter
    const rounds = await Rounds.open(database)
    expectSame('cities', rounds.cityCount, this.#cities.length)
    const { cellCount, differences } = await reporter.time('verification', () =>
      verifyCities(database, rounds, this.#cities, reporter, this.#signal),
    )
    if (differences.length > 0) throw new Mismatch(['cells differ:', ...differences].join('\n  '))
    this.#verifiedCells += cellCount
    const found = `${rounds.all.length} rounds, ${formatCount(cellCount)} cells`
    reporter.line(`every cell is as its source says: ${found}`)
  }

  /** The metadata are a store in the directory too. */
  async #checkMetadata(database: Database): Promise<void> {
    const store = await metadataStoreOf(database)
    const found = await store.get('/admin/policies/acme/orders')
    await store.close()
    expectSame('the configuration', found?.value.toString() ?? '', '{"ttl":20}')
    this.#reporter.line('the metadata are there: the configuration is the last one, {"ttl":20}')
  }
}

function agreeing(report: ShopReport): ShopReport {
  if (!report.agree || report.last === 0) throw new Mismatch('the orders differ')
  return report
}
