/**
 * Reads with filters that a store cannot evaluate: the rows are read without the filter, and the
 * engine in memory reads them again with it.
 *
 * A copy of a table holds rows as they were read. A row that is read once more begins a new copy,
 * because nothing in a copy may be newer or older than the read.
 */
import { textOfFilter } from '../../storage/filter/parse/parse-filter.js'
import type { Clock } from '../../base/clock.js'
import type { BytesLike, Database as Store, Get, Result, Scan } from '../../api/index.js'
import { CallOrder } from '../../comfort/call-order.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import { fill, Mirror } from './mirror.js'

/** Number of cells after which a copy begins anew. */
const copyCellsMax = 10_000

interface Copy {
  readonly table: EmbeddedTable
  readonly rows: Set<string>
  cells: number
}

/** The reads of one owned database that are filtered here. */
export class LocalFilters {
  readonly #store: Store
  readonly #clock: Clock
  readonly #copies = new Map<string, Copy>()
  #mirror: Promise<Mirror> | undefined = undefined
  /** One read at a time. */
  readonly #order = new CallOrder()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Whether the store refuses the filter of a read. Filters of `parseFilter` have a text. */
  isNeeded({ filter }: Pick<Get, 'filter'>): boolean {
    if (filter === undefined || this.#store.capabilities.filters) return false
    return textOfFilter(filter) === undefined
  }

  /** Runs a read on a copy of the table that has a row as the store returned it, or lacks it. */
  read<T>(
    table: string,
    row: BytesLike,
    found: Result,
    run: (copy: EmbeddedTable) => T,
  ): Promise<T> {
    return this.#order.run(async () => {
      const copy = await this.#copyFor(table, Buffer.from(row as Buffer).toString('latin1'))
      fill(copy.table, found)
      copy.cells += found.size
      return run(copy.table)
    })
  }

  /** Drops the copy of a table whose families have changed. */
  forget(table: string): void {
    this.#order.run(() => this.#drop(table)).catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#order.run(() => undefined)
    await (await this.#mirror)?.database.close()
  }

  async #copyFor(table: string, row: string): Promise<Copy> {
    const known = this.#copies.get(table)
    const isFull = known !== undefined && known.cells >= copyCellsMax
    if (isFull || known?.rows.has(row) === true) await this.#drop(table)
    let copy = this.#copies.get(table)
    if (copy === undefined) {
      this.#mirror ??= Mirror.open(this.#store, this.#clock)
      copy = { table: await (await this.#mirror).make(table), rows: new Set(), cells: 0 }
      this.#copies.set(table, copy)
    }
    copy.rows.add(row)
    return copy
  }

  async #drop(table: string): Promise<void> {
    const copy = this.#copies.get(table)
    this.#copies.delete(table)
    if (copy !== undefined) await (await this.#mirror)!.database.dropTable(copy.table.name)
  }
}

/** A get of all that the filter of a get may see. */
export function unfilteredGet({ row, columns, timeRange, timestamp }: Get): Get {
  return { row, columns, timeRange, timestamp, versions: 'all' }
}

/** A scan of all that the filter of a scan may see. */
export function unfilteredScan(scan: Scan): Scan {
  const whole = { filter: undefined, limit: undefined, batch: undefined, maxResultBytes: undefined }
  const cells = { cellsPerFamilyMax: undefined, cellsPerFamilyOffset: undefined }
  const rest = { familyTimeRanges: undefined, needCursorResult: undefined }
  return { ...scan, ...whole, ...cells, ...rest, versions: 'all' }
}
