/** The calls of a history on the tables of a database. */
import type { Database, Result, Table } from '../../../src/entries/index.js'
import type { RowName, Shown } from './history-model.js'
import type { HistoryStore } from './history.js'

const families = ['f', 'g'] as const

/** A value that names its step; some are long enough to be apart in value files. */
function valueOf(id: string): string {
  const seventh = [...id].reduce((sum, char) => sum + char.charCodeAt(0), 0) % 7 === 0
  return seventh ? `${id}|`.padEnd(3000, id) : `${id}|`.padEnd(100, id)
}

const idOf = (value: string): string => value.slice(0, value.indexOf('|'))

/** Rows with one value in two families, and a counter. */
export class TableStore implements HistoryStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes the tables. Deletes mask what was written before them alone, however fast it is. */
  static async create(database: Database, durability: 'SYNC_WAL' | 'FSYNC_WAL'): Promise<void> {
    const family = { newVersionBehavior: true, mob: true, mobThreshold: 1000 }
    for (const name of ['a', 'b']) {
      if (database.hasTable(name)) continue
      await database.createTable(name, { families: { f: family, g: family }, durability })
    }
  }

  async get(row: RowName): Promise<Shown> {
    return shownOf(await this.#table(row).get({ row }))
  }

  async put(row: RowName, value: string): Promise<void> {
    await this.#table(row).put({ row, cells: cellsOf(value) })
  }

  async compareAndSet(row: RowName, expected: string | undefined, value: string): Promise<boolean> {
    const check = { row, ...conditionOf(expected) }
    const put = { cells: cellsOf(value) }
    return (await this.#table(row).checkAndMutate(check, { put })).success
  }

  async increment(row: RowName, amount: number): Promise<number> {
    const result = await this.#table(row).increment({ row, columns: { 'f:count': amount } })
    return Number(result.value('f:count')!.readBigInt64BE(0))
  }

  async delete(row: RowName): Promise<void> {
    await this.#table(row).delete({ row })
  }

  async batch(
    rows: readonly RowName[],
    expected: string | undefined,
    value: string,
  ): Promise<boolean> {
    const checks = [{ table: rows[0][0], row: rows[0], ...conditionOf(expected) }]
    const mutations = rows.map((row) => {
      return { table: row[0], row, mutations: [{ put: { cells: cellsOf(value) } }] }
    })
    return (await this.#database.atomic({ checks, mutations })).success
  }

  /** One table by a scan alone, several by scans of one snapshot. */
  async scan(rows: readonly RowName[]): Promise<readonly Shown[]> {
    const names = new Set(rows.map(([table]) => table))
    const snapshot = names.size > 1 ? this.#database.snapshot() : undefined
    const found = new Map<string, Shown>()
    try {
      for (const name of names) {
        for await (const result of this.#database.table(name).scan({ snapshot })) {
          found.set(result.row!.toString(), shownOf(result))
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
    } finally {
      snapshot?.close()
    }
    return rows.map((row) => found.get(row) ?? { value: undefined, count: 0 })
  }

  #table(row: RowName): Table {
    return this.#database.table(row[0])
  }
}

function cellsOf(id: string): Record<string, string> {
  return Object.fromEntries(families.map((family) => [`${family}:v`, valueOf(id)]))
}

type Condition = { readonly column: string } & (
  | { readonly notExists: true }
  | { readonly equals: string }
)

function conditionOf(expected: string | undefined): Condition {
  const column = 'f:v'
  return expected === undefined
    ? { column, notExists: true }
    : { column, equals: valueOf(expected) }
}

function shownOf(result: Result): Shown {
  const [value, other] = families.map((family) => result.value(`${family}:v`)?.toString())
  const count = Number(result.value('f:count')?.readBigInt64BE(0) ?? 0)
  if (value === undefined && other === undefined) return { value, count }
  const id = idOf(value ?? '')
  const isWhole = value === other && value === valueOf(id)
  return { value: isWhole ? id : `torn: ${value?.slice(0, 20)}, ${other?.slice(0, 20)}`, count }
}
