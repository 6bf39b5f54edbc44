/** A source of a move that is written to meanwhile, beside a plain map. */
import type { Database } from '../../src/api/index.js'
import { openMemoryDatabase } from '../../src/entries/memory.js'

type Embedded = Awaited<ReturnType<typeof openMemoryDatabase>>

/** The tables of the source. */
export const tables: readonly string[] = ['one', 'two']

/** Numbers below `bound`, the same for each seed. */
function randomFrom(start: number): (bound: number) => number {
  let state = start + 1
  return (bound) => {
    state = (state * 48_271) % 2_147_483_647
    return state % bound
  }
}

/** A source with its writer, and the newest values in a plain map. */
export class MovingSource {
  readonly database: Embedded
  readonly model = new Map<string, string>()
  readonly #random: (bound: number) => number
  #writes = 0
  stopped = false

  private constructor(database: Embedded, random: (bound: number) => number) {
    this.database = database
    this.#random = random
  }

  static async open(start: number): Promise<MovingSource> {
    const source = new MovingSource(await openMemoryDatabase(), randomFrom(start))
    const families = { f: {}, g: { versions: 3 } }
    for (const name of tables) await source.database.createTable(name, { families })
    for (let i = 0; i < 40; i++) source.write()
    return source
  }

  write(): void {
    if (this.stopped) return
    const pick = (bound: number): number => this.#random(bound)
    const name = tables[pick(2)]
    const table = this.database.table(name)
    const row = `row${pick(8)}`
    const column = `${'fg'[pick(2)]}:${'ab'[pick(2)]}`
    const key = `${name}/${row}/${column}`
    const kind = pick(8)
    if (kind < 5) {
      const value = `${++this.#writes}`.padEnd(kind === 0 ? 90_000 : 8, '.')
      const ttlMilliseconds = kind === 1 ? 3_600_000 : undefined
      table.putSync({ row, cells: { [column]: value }, ttlMilliseconds })
      this.model.set(key, value)
    } else if (kind === 5) {
      table.deleteSync({ row, columns: [column] })
      this.model.delete(key)
    } else if (kind === 6) {
      table.deleteSync({ row })
      for (const each of this.model.keys()) {
        if (each.startsWith(`${name}/${row}/`)) this.model.delete(each)
      }
    } else {
      table.appendSync({ row, columns: { [column]: 'x' } })
      this.model.set(key, `${this.model.get(key) ?? ''}x`)
    }
  }
}

/** All versions of all cells, as texts. */
export async function cellsOf(database: Database): Promise<string[]> {
  const lines: string[] = []
  for (const name of tables) {
    for await (const result of database.table(name).scan({ versions: 'all' })) {
      for (const { row, family, qualifier, timestamp, value } of result.cells()) {
        const what = [name, row, family, qualifier, timestamp, value.length, value.subarray(0, 20)]
        lines.push(what.map(String).join('/'))
      }
    }
  }
  return lines
}

/** The newest values by table, row and column. */
export async function newest(database: Database): Promise<Record<string, string>> {
  const values: Record<string, string> = {}
  for (const name of tables) {
    for await (const result of database.table(name).scan()) {
      for (const { row, family, qualifier, value } of result.cells()) {
        values[`${name}/${String(row)}/${family}:${String(qualifier)}`] = value.toString()
      }
    }
  }
  return values
}
