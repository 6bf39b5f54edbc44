/**
 * better-sqlite3: SQLite in WAL mode, all calls synchronous. Rows of several columns are rows of a
 * table with one column per field.
 *
 * `buffered` is `synchronous = NORMAL` (a commit survives the process), `sync` is `FULL`.
 */
import { join } from 'node:path'
import type {
  EngineAdapter,
  OpenedEngine,
  OpenSettings,
  RowPut,
  RowValues,
  RowVisitor,
  ScanRange,
  Store,
} from '../harness/engine.js'
import { addToCounter, counterOf } from '../harness/layouts.js'
import { loadPeer, peerVersion } from './peers.js'

type Row = readonly (Buffer | null)[]

interface Statement {
  run(...parameters: unknown[]): { changes: number }
  get(...parameters: unknown[]): Row | undefined
  iterate(...parameters: unknown[]): IterableIterator<Row>
  raw(): this
}

interface Sqlite {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  transaction<A extends unknown[], T>(step: (...values: A) => T): (...values: A) => T
  close(): void
}

type SqliteModule = new (path: string) => Sqlite

/** Rows up to this size are stored in the primary key's tree; larger ones waste its pages. */
const rowBytesInTreeMax = 400

class SqliteRows implements Store {
  readonly #sqlite: Sqlite
  readonly #columns: readonly string[]
  readonly #all: string
  readonly #statements = new Map<string, Statement>()
  readonly #get: Statement
  readonly #inTransaction: (step: () => boolean) => boolean

  constructor(sqlite: Sqlite, columns: readonly string[]) {
    this.#sqlite = sqlite
    this.#columns = columns
    this.#all = columns.join(', ')
    this.#get = sqlite.prepare(`SELECT ${this.#all} FROM rows WHERE k = ?`).raw()
    this.#inTransaction = sqlite.transaction((step: () => boolean) => step())
  }

  #statement(text: string, isQuery = false): Statement {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const made = this.#sqlite.prepare(text)
    if (isQuery) made.raw()
    this.#statements.set(text, made)
    return made
  }

  get(row: Buffer, values: RowValues): boolean {
    const found = this.#get.get(row)
    if (found === undefined) return false
    for (let at = 0; at < found.length; at++) values[at] = found[at] ?? undefined
    return true
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): void {
    this.#upsert(columns).run(row, ...values)
  }

  #upsert(columns: readonly number[]): Statement {
    if (columns.length === this.#columns.length) {
      const places = columns.map(() => '?').join(', ')
      return this.#statement(`INSERT OR REPLACE INTO rows (k, ${this.#all}) VALUES (?, ${places})`)
    }
    const names = columns.map((column) => this.#columns[column])
    const places = names.map(() => '?').join(', ')
    const sets = names.map((name) => `${name} = excluded.${name}`).join(', ')
    return this.#statement(
      `INSERT INTO rows (k, ${names.join(', ')}) VALUES (?, ${places})` +
        ` ON CONFLICT (k) DO UPDATE SET ${sets}`,
    )
  }

  /** A prepared statement for each row; statements of many rows take more time. */
  putMany(rows: readonly RowPut[]): void {
    this.#inTransaction(() => {
      for (const { row, columns, values } of rows) this.put(row, columns, values)
      return true
    })
  }

  delete(row: Buffer): void {
    this.#statement('DELETE FROM rows WHERE k = ?').run(row)
  }

  scan({ start, stop, limit, reversed, valueEquals }: ScanRange, visit: RowVisitor): number {
    const conditions: string[] = []
    const parameters: unknown[] = []
    if (start.length > 0) {
      conditions.push(reversed ? 'k <= ?' : 'k >= ?')
      parameters.push(start)
    }
    if (stop !== undefined) {
      conditions.push('k < ?')
      parameters.push(stop)
    }
    if (valueEquals !== undefined) {
      conditions.push(`${this.#columns[0]} = ?`)
      parameters.push(valueEquals)
    }
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
    const order = reversed ? 'DESC' : 'ASC'
    const select = `SELECT k, ${this.#all} FROM rows${where} ORDER BY k ${order} LIMIT ?`
    parameters.push(limit === 0 ? -1 : limit)
    const values: RowValues = this.#columns.map(() => undefined)
    let visited = 0
    for (const found of this.#statement(select, true).iterate(...parameters)) {
      for (let at = 0; at < values.length; at++) values[at] = found[at + 1] ?? undefined
      visit(found[0]!, values)
      visited++
    }
    return visited
  }

  checkAndPut(row: Buffer, column: number, expected: Buffer, value: Buffer | undefined): boolean {
    const name = this.#columns[column]
    const isOnly = value === undefined && this.#columns.length === 1
    const text = isOnly
      ? `DELETE FROM rows WHERE k = ? AND ${name} = ?`
      : `UPDATE rows SET ${name} = ? WHERE k = ? AND ${name} = ?`
    const parameters = isOnly ? [row, expected] : [value ?? null, row, expected]
    const matched = this.#statement(text).run(...parameters).changes === 1
    if (matched && value === undefined && !isOnly) this.#removeIfEmpty(row)
    return matched
  }

  /** A row whose last value went is not there any more. */
  #removeIfEmpty(row: Buffer): void {
    const empty = this.#columns.map((name) => `${name} IS NULL`).join(' AND ')
    this.#statement(`DELETE FROM rows WHERE k = ? AND ${empty}`).run(row)
  }

  increment(row: Buffer, column: number, amount: number): number {
    let sum = 0
    this.#update(row, column, (current) => {
      const next = addToCounter(current, amount)
      sum = counterOf(next)
      return next
    })
    return sum
  }

  append(row: Buffer, column: number, value: Buffer): void {
    this.#update(row, column, (current) =>
      current === undefined ? value : Buffer.concat([current, value]),
    )
  }

  #update(row: Buffer, column: number, change: (value: Buffer | undefined) => Buffer): void {
    // One connection and no other process: nothing comes between the read and the write.
    const name = this.#columns[column]
    const found = this.#statement(`SELECT ${name} FROM rows WHERE k = ?`, true).get(row)
    this.put(row, [column], [change(found?.[0] ?? undefined)])
  }
}

async function open(settings: OpenSettings): Promise<OpenedEngine> {
  const { directory, durability, columns, cacheBytes } = settings
  const sqlite = new (loadPeer<SqliteModule>('better-sqlite3'))(join(directory, 'data.sqlite'))
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma(`synchronous = ${durability === 'sync' ? 'FULL' : 'NORMAL'}`)
  sqlite.pragma(`cache_size = -${Math.ceil(cacheBytes / 1024)}`)
  const isNarrow = columns.length * 100 <= rowBytesInTreeMax
  // The names of a suite may be anything.
  const names = columns.map((name) => `"${name.replaceAll('"', '""')}"`)
  const fields = names.map((name) => `${name} BLOB`).join(', ')
  sqlite.exec(
    `CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, ${fields})` +
      (isNarrow ? ' WITHOUT ROWID' : ''),
  )
  const rows = new SqliteRows(sqlite, names)
  return {
    fastest: rows,
    awaited: rows,
    flush: () => void sqlite.pragma('wal_checkpoint(TRUNCATE)'),
    compact: () => {
      sqlite.exec('VACUUM')
      sqlite.pragma('wal_checkpoint(TRUNCATE)')
    },
    close: () => sqlite.close(),
  }
}

/** SQLite for Node. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'better-sqlite3',
  layouts: ['native'],
  durabilities: ['buffered', 'sync'],
  version: () => peerVersion('better-sqlite3'),
  open,
}
