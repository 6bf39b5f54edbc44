/**
 * What all store objects on one database share: tables, the source of versions, open views.
 *
 * A store object may be given an open database, or the directory of one; then the first opens it
 * and the last closes it, so that several in one process can work on the same data.
 */
import { resolve } from 'node:path'
import { Database } from '../../index.js'
import type { DatabaseOptions, Snapshot, TableDescription, TableOptions } from '../../index.js'
import { CellarRows, type SharedParts } from './cellar-rows.js'
import { OpenViews, type ViewedTable } from './cellar-view.js'
import { MetastoreException } from './errors.js'
import { rowFamilies } from './row-format.js'
import { VersionSource } from './version-source.js'

/** What the metastore needs of a database; `Database` has it. */
export interface MetastoreDatabase {
  hasTable(name: string): boolean
  table(name: string): ViewedTable
  createTable(name: string, options: TableOptions): Promise<ViewedTable>
  alterTable(
    name: string,
    alteration: { durability: TableOptions['durability'] },
  ): Promise<TableDescription>
  snapshot(): Snapshot
}

/** How durable a write is before it is acknowledged. */
export type MetastoreDurability = NonNullable<TableOptions['durability']>

/** Table of this package's own rows: the counter of versions and the version of the layout. */
const controlTable = 'metastore_control'
const layoutRow = 'layout'
const layoutVersion = '1'
const tablePrefix = 'metastore.'

const sharedByDatabase = new WeakMap<MetastoreDatabase, Promise<SharedDatabase>>()

export class SharedDatabase implements SharedParts {
  readonly versions: VersionSource
  readonly openViews = new OpenViews(() => performance.now())
  readonly #database: MetastoreDatabase
  readonly #tables = new Map<string, Promise<CellarRows>>()

  private constructor(database: MetastoreDatabase, control: ViewedTable) {
    this.#database = database
    this.versions = new VersionSource(control, 'versions')
  }

  /** The one object for a database. */
  static of(database: MetastoreDatabase): Promise<SharedDatabase> {
    let shared = sharedByDatabase.get(database)
    if (shared === undefined) {
      shared = SharedDatabase.#open(database)
      sharedByDatabase.set(database, shared)
      shared.catch(() => sharedByDatabase.delete(database))
    }
    return shared
  }

  static async #open(database: MetastoreDatabase): Promise<SharedDatabase> {
    const control = await openTable(database, controlTable, 'FSYNC_WAL')
    const cell = { row: layoutRow, column: 'r:version' }
    const first = { put: { cells: { 'r:version': layoutVersion } } }
    const { success } = await control.checkAndMutate({ ...cell, notExists: true }, first)
    const found = success
      ? layoutVersion
      : (await control.get({ row: layoutRow })).value(cell.column)
    if (found?.toString() !== layoutVersion) {
      throw new MetastoreException(
        `the layout of the metastore has version ${String(found)}; this one knows ${layoutVersion}`,
      )
    }
    return new SharedDatabase(database, control)
  }

  snapshot(): Snapshot {
    return this.#database.snapshot()
  }

  /** The rows of a table, which is created if it does not exist. */
  async table(name: string, durability: MetastoreDurability | undefined): Promise<CellarRows> {
    let rows = this.#tables.get(name)
    if (rows === undefined) {
      const opened = openTable(this.#database, tablePrefix + name, durability)
      rows = opened.then((table) => new CellarRows(table, this))
      this.#tables.set(name, rows)
      rows.catch(() => this.#tables.delete(name))
    }
    await rows
    if (durability !== undefined) await this.#setDurability(tablePrefix + name, durability)
    return rows
  }

  async #setDurability(name: string, durability: MetastoreDurability): Promise<void> {
    if (this.#database.table(name).describe().durability === durability) return
    await this.#database.alterTable(name, { durability })
  }

  /** Resolves when all operations that were called have ended. */
  async drain(): Promise<void> {
    for (const opened of [...this.#tables.values()]) await (await opened).drain()
  }
}

async function openTable(
  database: MetastoreDatabase,
  name: string,
  durability: MetastoreDurability | undefined,
): Promise<ViewedTable> {
  if (database.hasTable(name)) return database.table(name)
  return database.createTable(name, {
    families: rowFamilies,
    durability: durability ?? 'FSYNC_WAL',
  })
}

/** A database that store objects opened by its directory. */
interface OpenDirectory {
  readonly opened: Promise<Database>
  users: number
  /** Set when the last user has left. */
  closed: Promise<void> | undefined
}

const directories = new Map<string, OpenDirectory>()

/** Opens a directory, or takes part in the database that is open there already. */
export async function openDirectory(
  directory: string,
  options: DatabaseOptions | undefined,
): Promise<Database> {
  const path = resolve(directory)
  for (;;) {
    const open = directories.get(path)
    if (open === undefined) {
      const opened = Database.open(path, options)
      directories.set(path, { opened, users: 1, closed: undefined })
      opened.catch(() => directories.delete(path))
      return opened
    }
    if (open.closed === undefined) {
      open.users++
      return open.opened
    }
    await open.closed.catch(() => undefined)
  }
}

/** Takes back {@link openDirectory}; the last one closes the database. */
export async function closeDirectory(directory: string): Promise<void> {
  const path = resolve(directory)
  const open = directories.get(path)
  if (open === undefined || --open.users > 0) return
  open.closed = closeDatabase(open.opened).finally(() => directories.delete(path))
  return open.closed
}

async function closeDatabase(opened: Promise<Database>): Promise<void> {
  const database = await opened
  try {
    await (await sharedByDatabase.get(database))?.drain()
  } finally {
    await database.close()
  }
}
