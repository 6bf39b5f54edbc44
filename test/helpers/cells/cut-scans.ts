/** A database whose scans fail half-way. */
import {
  CellarError,
  ErrorCode,
  ResultScanner,
  type Result,
  type ScanMetrics,
} from '../../../src/api/index.js'
import type { Database } from '../../../src/entries/index.js'
import { withMembers } from '../planted.js'

type Table = ReturnType<Database['table']>

/** Rows after which a scan fails; Infinity = never. How often one has failed is counted. */
export interface Cut {
  rows: number
  failures: number
}

/** Gives some rows, fewer than were asked for, and fails with the next call. */
class CutScanner extends ResultScanner {
  readonly #inner: ResultScanner
  readonly #cut: Cut
  #left: number

  constructor(inner: ResultScanner, cut: Cut) {
    super()
    this.#inner = inner
    this.#cut = cut
    this.#left = cut.rows
  }

  get metrics(): ScanMetrics {
    return this.#inner.metrics
  }

  async nextBatch(count: number): Promise<Result[]> {
    if (this.#left === 0) {
      this.#cut.failures++
      throw new CellarError(ErrorCode.io, 'the scan fails here')
    }
    const results = await this.#inner.nextBatch(Math.min(count, this.#left))
    this.#left -= results.length
    return results
  }

  async next(): Promise<IteratorResult<Result, undefined>> {
    const [result] = await this.nextBatch(1)
    return result === undefined ? { done: true, value: undefined } : { done: false, value: result }
  }

  close(): void {
    this.#inner.close()
  }
}

/** The database with scans that fail as `cut` says at their start. */
export function withCutScans(database: Database, cut: Cut): Database {
  const cutTable = (table: Table): Table =>
    withMembers(table, {
      scan: (options: never) => new CutScanner(table.scan(options), cut),
    })
  return withMembers(database, {
    table: (name: string) => cutTable(database.table(name)),
    createTable: async (...values: Parameters<Database['createTable']>) =>
      cutTable(await database.createTable(...values)),
  })
}
