/**
 * Cellar itself, through its public interface, as the package that is published: there the modules
 * of worker threads lie in one file, and a thread starts in half the time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type * as Cellar from '../../src/entries/index.js'
import type { DurabilityOption, EmbeddedTable, Result, Scan } from '../../src/entries/index.js'
import type {
  Durability,
  EngineAdapter,
  OpenedEngine,
  OpenSettings,
  RowPut,
  RowValues,
  RowVisitor,
  ScanRange,
  Store,
} from '../harness/engine.js'

const published = new URL('../../package/index.js', import.meta.url).href
const { Database, SingleColumnValueFilter } = (await import(published)) as typeof Cellar

const family = 'f'

const durabilityOptions: Readonly<Record<Durability, Exclude<DurabilityOption, 'USE_DEFAULT'>>> = {
  none: 'SKIP_WAL',
  buffered: 'SYNC_WAL',
  sync: 'FSYNC_WAL',
}

/** What both forms need of a table. */
abstract class Rows {
  protected readonly table: EmbeddedTable
  /** `family:qualifier` by position. */
  protected readonly columns: readonly string[]

  constructor(table: EmbeddedTable, columns: readonly string[]) {
    this.table = table
    this.columns = columns
  }

  protected fill(result: Result, values: RowValues): boolean {
    if (result.isEmpty) return false
    for (let at = 0; at < this.columns.length; at++) values[at] = result.value(this.columns[at])
    return true
  }

  protected cells(columns: readonly number[], values: readonly Buffer[]): Record<string, Buffer> {
    const cells: Record<string, Buffer> = {}
    for (let at = 0; at < columns.length; at++) cells[this.columns[columns[at]]] = values[at]
    return cells
  }

  protected puts(rows: readonly RowPut[]) {
    return rows.map(({ row, columns, values }) => ({ row, cells: this.cells(columns, values) }))
  }

  protected scanOf({ start, stop, limit, reversed, valueEquals }: ScanRange): Scan {
    const filter =
      valueEquals === undefined
        ? undefined
        : new SingleColumnValueFilter({
            column: this.columns[0],
            operator: 'EQUAL',
            value: valueEquals,
            filterIfMissing: true,
          })
    return { startRow: start, stopRow: stop, limit: limit || undefined, reversed, filter }
  }
}

class SyncRows extends Rows implements Store {
  get(row: Buffer, values: RowValues): boolean {
    return this.fill(this.table.getSync({ row }), values)
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): void {
    this.table.putSync({ row, cells: this.cells(columns, values) })
  }

  putMany(rows: readonly RowPut[]): void {
    this.table.putListSync(this.puts(rows))
  }

  delete(row: Buffer): void {
    this.table.deleteSync({ row })
  }

  scan(range: ScanRange, visit: RowVisitor): number {
    const values = this.columns.map(() => undefined)
    let visited = 0
    for (const result of this.table.scanSync(this.scanOf(range))) {
      this.fill(result, values)
      visit(result.row!, values)
      visited++
    }
    return visited
  }

  checkAndPut(row: Buffer, column: number, expected: Buffer, value: Buffer | undefined): boolean {
    const name = this.columns[column]
    const check = { row, column: name, equals: expected }
    const action =
      value === undefined ? { delete: { columns: [name] } } : { put: { cells: { [name]: value } } }
    return this.table.checkAndMutateSync(check, action).success
  }

  increment(row: Buffer, column: number, amount: number): number {
    return Number(this.table.incrementColumnValueSync(row, this.columns[column], amount))
  }

  append(row: Buffer, column: number, value: Buffer): void {
    this.table.appendSync({ row, columns: { [this.columns[column]]: value }, returnResults: false })
  }
}

class AwaitedRows extends Rows implements Store {
  async get(row: Buffer, values: RowValues): Promise<boolean> {
    return this.fill(await this.table.get({ row }), values)
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): Promise<void> {
    // The promise of the table itself: a second one around it would be measured too.
    const written: Promise<unknown> = this.table.put({ row, cells: this.cells(columns, values) })
    return written as Promise<void>
  }

  putMany(rows: readonly RowPut[]): Promise<void> {
    return this.table.putList(this.puts(rows))
  }

  delete(row: Buffer): Promise<void> {
    return this.table.delete({ row })
  }

  async scan(range: ScanRange, visit: RowVisitor): Promise<number> {
    const values = this.columns.map(() => undefined)
    const scanner = this.table.scan(this.scanOf(range))
    let visited = 0
    for (;;) {
      const results = await scanner.nextBatch(1000)
      if (results.length === 0) return visited
      for (const result of results) {
        this.fill(result, values)
        visit(result.row!, values)
      }
      visited += results.length
    }
  }

  async checkAndPut(
    row: Buffer,
    column: number,
    expected: Buffer,
    value: Buffer | undefined,
  ): Promise<boolean> {
    const name = this.columns[column]
    const check = { row, column: name, equals: expected }
    const action =
      value === undefined ? { delete: { columns: [name] } } : { put: { cells: { [name]: value } } }
    return (await this.table.checkAndMutate(check, action)).success
  }

  async increment(row: Buffer, column: number, amount: number): Promise<number> {
    return Number(await this.table.incrementColumnValue(row, this.columns[column], amount))
  }

  async append(row: Buffer, column: number, value: Buffer): Promise<void> {
    const columns = { [this.columns[column]]: value }
    await this.table.append({ row, columns, returnResults: false })
  }
}

async function open(settings: OpenSettings): Promise<OpenedEngine> {
  const { directory, durability, columns, cacheBytes } = settings
  const database = await Database.open(directory, { blockCacheBytesMax: cacheBytes })
  const table = database.hasTable('rows')
    ? database.table('rows')
    : await database.createTable('rows', {
        families: { [family]: {} },
        durability: durabilityOptions[durability],
      })
  const names = columns.map((name) => `${family}:${name}`)
  return {
    fastest: new SyncRows(table, names),
    awaited: new AwaitedRows(table, names),
    flush: () => database.flush(),
    settle: async () => {
      while (database.statistics().compactionQueue > 0) await sleep(20)
    },
    compact: () => database.compact(),
    close: () => database.close(),
  }
}

/** Cellar in one process, one family. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'cellar',
  layouts: ['native'],
  durabilities: ['none', 'buffered', 'sync'],
  version: () => 'this tree',
  open,
}
