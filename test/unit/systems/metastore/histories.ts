/** Random concurrent histories of puts, gets and removes on a few rows. */
import { CellarError } from '../../../../src/api/index.js'
import {
  LongVersion,
  Value,
  Version,
  type MetastoreTable,
} from '../../../../src/systems/metastore/index.js'
import type { Operation } from './linearizability.js'

const outcomes: Readonly<Record<string, string>> = {
  ERR_METASTORE_NO_KEY: 'NoKey',
  ERR_METASTORE_KEY_EXISTS: 'KeyExists',
  ERR_METASTORE_BAD_VERSION: 'BadVersion',
}

/** The shape of a history. */
export interface HistoryShape {
  readonly clients: number
  readonly operationsPerClient: number
  readonly rows: number
}

/** One history. */
export class History {
  readonly byRow = new Map<string, Operation[]>()
  readonly #random: () => number
  #time = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Lets clients work on the tables side by side; rows are named by `prefix`. */
  async run(
    tables: readonly MetastoreTable[],
    prefix: string,
    { clients, operationsPerClient, rows }: HistoryShape,
  ): Promise<void> {
    const names = Array.from({ length: rows }, (_, i) => `${prefix} ${i}`)
    for (const name of names) this.byRow.set(name, [])
    const run = async (client: number): Promise<void> => {
      const known = new Map<string, string>()
      for (let i = 0; i < operationsPerClient; i++) {
        const row = names[Math.floor(this.#random() * rows)]
        const table = tables[client % tables.length]
        await this.#operate(table, row, known, `${client}.${i}`)
        if (this.#random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, client) => run(client)))
  }

  async #operate(
    table: MetastoreTable,
    row: string,
    known: Map<string, string>,
    written: string,
  ): Promise<void> {
    const draw = this.#random()
    const kind = draw < 0.3 ? 'get' : draw < 0.85 ? 'put' : 'remove'
    const expected = kind === 'get' ? undefined : this.#expectation(known.get(row))
    const start = ++this.#time
    const seen: { version?: string; read?: string } = {}
    let outcome = 'OK'
    try {
      if (kind === 'get') {
        const { value, version } = await table.get(row)
        seen.version = version.toString()
        seen.read = value.getField('v')!.toString()
      } else if (kind === 'put') {
        const version = await table.put(row, new Value({ v: written }), versionOf(expected!))
        seen.version = version.toString()
      } else await table.remove(row, versionOf(expected!))
    } catch (error) {
      if (!(error instanceof CellarError) || !Object.hasOwn(outcomes, error.code)) throw error
      outcome = outcomes[error.code]
    }
    const end = ++this.#time
    if (seen.version !== undefined) known.set(row, seen.version)
    this.byRow.get(row)!.push({ kind, expected, written, start, end, outcome, ...seen })
  }

  /** What a client expects: mostly the version that it saw last. */
  #expectation(known: string | undefined): string {
    const draw = this.#random()
    if (draw < 0.15) return 'ANY'
    return draw < 0.4 || known === undefined ? 'NEW' : known
  }
}

function versionOf(expected: string): Version {
  if (expected === 'NEW') return Version.NEW
  if (expected === 'ANY') return Version.ANY
  return new LongVersion(BigInt(expected))
}
