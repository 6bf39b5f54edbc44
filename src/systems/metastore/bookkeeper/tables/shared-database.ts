/**
 * The parts that all store objects on a database share: tables and operations.
 *
 * A store object is configured with an open database, or with a function that opens one. Of the
 * store objects with the same function the first one opens the database and the last one closes it.
 */
import type { Database } from '../../../../api/index.js'
import { openTable } from '../../../../comfort/tables.js'
import { SharedDatabases } from '../../kernel/shared-databases.js'
import { rowFamilies } from './row-format.js'
import { RowCommits } from './row-commits.js'
import { TableRows, type MetastoreDurability, type ViewedTable } from './row-operations.js'

/** A database of any backend with snapshots and atomic batches over tables. */
export type MetastoreDatabase = Database<ViewedTable>

/** Opens a database; store objects with the same function share the database. */
export type OpenMetastoreDatabase = () => Promise<MetastoreDatabase>

/** The table of internal rows: the newest versions and the version of the layout. */
const controlTable = 'metastore_control'
const tablePrefix = 'metastore.'

const sharedByDatabase = new WeakMap<MetastoreDatabase, Promise<SharedDatabase>>()

export class SharedDatabase {
  readonly commits: RowCommits
  readonly #database: MetastoreDatabase
  readonly #tables = new Map<string, Promise<TableRows>>()

  private constructor(database: MetastoreDatabase, commits: RowCommits) {
    this.#database = database
    this.commits = commits
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
    const control = await openRows(database, controlTable)
    return new SharedDatabase(database, await RowCommits.open(database, control))
  }

  /** The rows of a table; creates the table if it does not exist. */
  async table(name: string, durability: MetastoreDurability | undefined): Promise<TableRows> {
    let opened = this.#tables.get(name)
    if (opened === undefined) {
      opened = openRows(this.#database, tablePrefix + name, durability).then(
        (table) => new TableRows(name, table),
      )
      this.#tables.set(name, opened)
      opened.catch(() => this.#tables.delete(name))
    }
    const rows = await opened
    if (durability !== undefined && durability !== rows.durability) {
      await this.#database.admin.modifyTable(tablePrefix + name, { durability })
      rows.durability = durability
    }
    return rows
  }
}

async function openRows(
  database: MetastoreDatabase,
  name: string,
  durability: MetastoreDurability = 'FSYNC_WAL',
): Promise<ViewedTable> {
  return openTable(database, name, { families: rowFamilies, durability })
}

const openByFunction = new SharedDatabases<OpenMetastoreDatabase, MetastoreDatabase>(
  async (database) => (await sharedByDatabase.get(database))?.commits.drain(),
)

/** Opens a database, or joins the users of the database that the function has opened. */
export async function openShared(open: OpenMetastoreDatabase): Promise<SharedDatabase> {
  const database = await openByFunction.open(open, open)
  try {
    return await SharedDatabase.of(database)
  } catch (error) {
    // The first failure is reported.
    await closeShared(open).catch(() => undefined)
    throw error
  }
}

/** Reverts one {@link openShared}; the last call closes the database. */
export function closeShared(open: OpenMetastoreDatabase): Promise<void> {
  return openByFunction.close(open)
}
