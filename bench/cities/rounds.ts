/**
 * What the database itself remembers about its loads, so that a killed run can be picked up.
 *
 * Table `progress`, one row per load (a "round"): its timestamp, how many cities it is to load, and
 * how many are in the store for sure. The row is written before the first city of the round, the
 * count after each batch. The log keeps the order, so whatever of the count survives a kill, the
 * cities it counts have survived too; those of a batch that was not counted are written again with
 * the same timestamp and value.
 *
 * The table also says whether table `cities` is whole: it is created after it and dropped before
 * it.
 */
import type { BackendDatabase, Table } from '../../src/entries/index.js'
import { citiesOptions, citiesTable, type Round } from './schema.js'

const progressTable = 'progress'
const timestampColumn = 'round:timestamp'
const cityCountColumn = 'round:cities'
const loadedCountColumn = 'round:loaded'

export class Rounds {
  readonly all: Round[]
  private readonly table: Table

  private constructor(table: Table, all: Round[]) {
    this.table = table
    this.all = all
  }

  /** Reads what is there, or creates the tables. */
  static async open(database: BackendDatabase): Promise<Rounds> {
    const { admin } = database
    if (await admin.tableExists(progressTable)) {
      const table = database.table(progressTable)
      const all: Round[] = []
      for await (const result of table.scan()) {
        const numberIn = (column: string): number => Number(result.value(column)?.toString() ?? 0)
        all.push({
          number: Number(result.row?.toString()),
          timestamp: numberIn(timestampColumn),
          cityCount: numberIn(cityCountColumn),
          loadedCount: numberIn(loadedCountColumn),
        })
      }
      return new Rounds(table, all)
    }
    // Cities without progress are what an interrupted reset has left.
    if (await admin.tableExists(citiesTable)) await admin.deleteTable(citiesTable)
    await database.createTable(citiesTable, citiesOptions)
    return new Rounds(await database.createTable(progressTable, { families: { round: {} } }), [])
  }

  /** Removes cities and progress. */
  static async reset(database: BackendDatabase): Promise<void> {
    for (const name of [progressTable, citiesTable]) {
      if (await database.admin.tableExists(name)) await database.admin.deleteTable(name)
    }
  }

  /** The newest round if it is not complete. */
  get unfinished(): Round | undefined {
    const round = this.all.at(-1)
    return round !== undefined && round.loadedCount < round.cityCount ? round : undefined
  }

  /** Starts the next round; `now` is its timestamp unless the clock has gone back. */
  async begin(cityCount: number, now: number): Promise<Round> {
    const last = this.all.at(-1)
    const round: Round = {
      number: (last?.number ?? 0) + 1,
      timestamp: Math.max(now, (last?.timestamp ?? 0) + 1),
      cityCount,
      loadedCount: 0,
    }
    await this.table.put({
      row: rowOfRound(round),
      cells: {
        [timestampColumn]: String(round.timestamp),
        [cityCountColumn]: String(cityCount),
      },
    })
    this.all.push(round)
    return round
  }

  /** Remembers that the first `loadedCount` cities of a round are in the store. */
  async advance(round: Round, loadedCount: number): Promise<void> {
    await this.table.put({
      row: rowOfRound(round),
      cells: { [loadedCountColumn]: String(loadedCount) },
      // Not the clock's time: a clock that goes back between two runs would hide the newer count.
      timestamp: loadedCount,
    })
    round.loadedCount = loadedCount
  }

  /** Rounds that have loaded the city at `index` of the source, newest first. */
  withCity(index: number): Round[] {
    return this.all.filter((round) => index < round.loadedCount).reverse()
  }

  /** How many cities of the source the store has. */
  get cityCount(): number {
    return Math.max(0, ...this.all.map((round) => round.loadedCount))
  }
}

function rowOfRound(round: Round): string {
  return String(round.number).padStart(8, '0')
}
