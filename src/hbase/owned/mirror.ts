/**
 * Tables of the engine in memory, with the families of tables of a store: a place in which the
 * engine carries out what the store cannot. Their names are those of the store's tables.
 */
import type { Clock } from '../../base/clock.js'
import type { Cell, FamilyOptions, Result, Database as Store } from '../../api/index.js'
import { MemoryFileSystem } from '../../storage/fs/memory-fs.js'
import { Database } from '../../table/database.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import { masks, type Maskable } from './log/apply.js'

export class Mirror {
  readonly database: Database
  readonly #store: Store
  readonly #tables = new Map<string, Promise<EmbeddedTable>>()
  #made = 0

  private constructor(database: Database, store: Store) {
    this.database = database
    this.#store = store
  }

  /** Opens a mirror without tables. */
  static async open(
    store: Store,
    clock: Clock,
    timestampSlopMilliseconds = Infinity,
  ): Promise<Mirror> {
    const database = await Database.open('/mirror', {
      fileSystem: new MemoryFileSystem(),
      executor: 'inline',
      clock,
      timestampSlopMilliseconds,
      cellBytesMax: Number.isFinite(store.cellBytesMax) ? store.cellBytesMax : 0,
      blockCacheBytesMax: 4 * 1024 * 1024,
    })
    return new Mirror(database, store)
  }

  /** The mirror of a table, made at the first call. `ERR_TABLE_NOT_FOUND`. */
  table(name: string): Promise<EmbeddedTable> {
    let table = this.#tables.get(name)
    if (table === undefined) {
      table = this.make(name, 'as the table')
      this.#tables.set(name, table)
      table.catch(() => this.#tables.delete(name))
    }
    return table
  }

  /** Makes another table with the families of a table. Writable: for cells of reads. */
  async make(
    name: string,
    access: 'writable' | 'as the table' = 'writable',
  ): Promise<EmbeddedTable> {
    const { families, ...described } = await this.#store.admin.getDescriptor(name)
    const readOnly = access === 'as the table' && described.readOnly
    const own: Record<string, FamilyOptions> = {}
    for (const [family, options] of Object.entries(families)) {
      const { versions, minVersions, ttlMilliseconds, keepDeletedCells, newVersionBehavior } =
        options
      own[family] = { versions, minVersions, ttlMilliseconds, keepDeletedCells, newVersionBehavior }
    }
    const settings = { families: own, durability: 'SYNC_WAL', readOnly } as const
    const isFree = !this.database.hasTable(name) && !name.includes(':')
    return this.database.createTable(isFree ? name : `mirror.${++this.#made}`, settings)
  }

  /** Drops the mirror of a table whose families have changed. */
  async forget(name: string): Promise<void> {
    const table = await this.#tables.get(name)?.catch(() => undefined)
    this.#tables.delete(name)
    if (table !== undefined) await this.database.dropTable(table.name)
  }
}

/**
 * Puts the cells of a result into a mirror, with their timestamps and types, but for those that the
 * mirror has or has deleted: of a column that was written twice with one timestamp, the store may
 * still have the older value. What the mirror has is newer than what it takes from the store.
 */
export function fill(table: EmbeddedTable, result: Result): void {
  const { row } = result
  if (row === undefined) return
  const rows = { startRow: row, stopRow: row, stopInclusive: true }
  const [own] = table.scanSync({ ...rows, raw: true, versions: 'all' }).toArray()
  const known = own?.cells() ?? []
  const names = new Set(known.map(nameOf))
  const markers = known.filter(({ type }) => type !== 'Put').map(maskable)
  const missing = result.cells().filter((cell) => {
    return !names.has(nameOf(cell)) && !markers.some((marker) => masks(marker, maskable(cell)))
  })
  if (missing.length === 0) return
  const cells = missing.map(({ family, qualifier, timestampExact, type, value }) => {
    return { column: { family, qualifier }, timestamp: timestampExact, type, value }
  })
  table.putSync({ row, cells })
}

function maskable({ family, qualifier, timestampExact, type }: Cell): Maskable {
  return { family, qualifier, timestamp: timestampExact, type }
}

function nameOf({ family, qualifier, timestampExact, type }: Cell): string {
  return `${family}:${qualifier.toString('latin1')}:${timestampExact}:${type}`
}
