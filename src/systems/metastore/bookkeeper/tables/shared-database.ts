/**
 * The parts that all store objects on a database share: tables, the source of versions, open views.
 *
 * A store object is configured with an open database, or with a function that opens one. Of the
 * store objects with the same function the first one opens the database and the last one closes it.
 */
import type { Database, Snapshot, TableOptions } from '../../../../api/index.js'
import { SharedDatabases } from '../../kernel/shared-databases.js'
import { CellarRows, type SharedParts } from './cellar-rows.js'
import { OpenViews, type ViewedTable } from './cellar-view.js'
import { MetastoreException } from '../errors.js'
import { rowFamilies } from './row-format.js'
import { VersionSource } from './version-source.js'

/** A database of any backend with snapshots. */
export type MetastoreDatabase = Database<ViewedTable>

/** Opens a database; store objects with the same function share the database. */
export type OpenMetastoreDatabase = () => Promise<MetastoreDatabase>

/** Durability of a write before its acknowledgement. */
export type MetastoreDurability = NonNullable<TableOptions['durability']>

/** The table of internal rows: the counter of versions and the version of the layout. */
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

  /** The shared object of a database. */
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

  /** The rows of a table; creates the table if it does not exist. */
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
    await this.#database.admin.modifyTable(name, { durability })
  }

  /** Resolves when all earlier operations have ended. */
  async drain(): Promise<void> {
    for (const opened of [...this.#tables.values()]) await (await opened).drain()
  }
}

async function openTable(
  database: MetastoreDatabase,
  name: string,
  durability: MetastoreDurability | undefined,
): Promise<ViewedTable> {
  if (await database.admin.tableExists(name)) return database.table(name)
  return database.createTable(name, {
    families: rowFamilies,
    durability: durability ?? 'FSYNC_WAL',
  })
}

const openByFunction = new SharedDatabases<OpenMetastoreDatabase, MetastoreDatabase>(
  async (database) => (await sharedByDatabase.get(database))?.drain(),
)

/** Opens a database, or joins the users of the database that the function has opened. */
export function openShared(open: OpenMetastoreDatabase): Promise<MetastoreDatabase> {
  return openByFunction.open(open, open)
}

/** Reverts one {@link openShared}; the last call closes the database. */
export function closeShared(open: OpenMetastoreDatabase): Promise<void> {
  return openByFunction.close(open)
}
