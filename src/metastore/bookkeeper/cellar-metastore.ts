/**
 * The MetaStore over Cellar: durable, with versions that are never used again and cursors over
 * snapshots.
 */
import type { Database, DatabaseOptions } from '../../index.js'
import { MetastoreException } from './errors.js'
import {
  closeDirectory,
  openDirectory,
  SharedDatabase,
  type MetastoreDatabase,
  type MetastoreDurability,
} from './shared-database.js'
import { TableHandle } from './table-handle.js'
import type { MetaStore, MetastoreScannableTable, MetastoreTable } from './types.js'

/** Settings of a {@link CellarMetaStore}: either `database` or `directory`. */
export interface CellarMetastoreConfiguration {
  /** An open database, which stays the caller's. Store objects on the same one share their data. */
  readonly database?: MetastoreDatabase | Database
  /**
   * Directory of a database. Store objects of one process share it; the first opens it, the last
   * closes it.
   */
  readonly directory?: string
  /** For the one that opens the directory. */
  readonly databaseOptions?: DatabaseOptions
  /**
   * How durable a write is before it is acknowledged. Default: what the table was created with, at
   * first `FSYNC_WAL`.
   */
  readonly durability?: MetastoreDurability
  /** Names of tables that `createScannableTable` refuses. Default: none. */
  readonly unorderedTables?: readonly string[]
  /** Time without use after which a cursor loses its view. Default: ten minutes. */
  readonly cursorIdleMilliseconds?: number
  /** Told what watchers throw. Default: `process.emitWarning`. */
  readonly onListenerError?: (error: unknown) => void
}

const cursorIdleDefault = 10 * 60_000
const storeVersion = 1

/** Names that are names of tables in every backend. */
const tableName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

/** Hands what a listener threw to Node's warnings. */
export function warnOfListener(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

/** A store object. Call `init` first. */
export class CellarMetaStore implements MetaStore {
  #shared: SharedDatabase | undefined = undefined
  #isOpening = false
  #configuration: CellarMetastoreConfiguration = {}
  readonly #handles = new Set<TableHandle>()

  getName(): string {
    return 'cellardb'
  }

  getVersion(): number {
    return storeVersion
  }

  async init(configuration: CellarMetastoreConfiguration, version: number): Promise<void> {
    if (this.#shared !== undefined || this.#isOpening) {
      throw new MetastoreException('the store is open already')
    }
    if (version !== storeVersion) {
      throw new MetastoreException(`the store has version ${storeVersion}, not ${version}`)
    }
    const { database, directory, databaseOptions } = configuration
    if ((database === undefined) === (directory === undefined)) {
      throw new MetastoreException('the configuration names either a database or a directory')
    }
    this.#isOpening = true
    try {
      const opened = database ?? (await openDirectory(directory!, databaseOptions))
      this.#shared = await share(opened, directory)
      this.#configuration = configuration
    } catch (cause) {
      throw asException('the store cannot be opened', cause)
    } finally {
      this.#isOpening = false
    }
  }

  async close(): Promise<void> {
    if (this.#shared === undefined) return
    this.#shared = undefined
    for (const handle of this.#handles) handle.close()
    this.#handles.clear()
    const { directory } = this.#configuration
    if (directory !== undefined) await closeDirectory(directory)
  }

  createTable(name: string): Promise<MetastoreTable> {
    return this.#open(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    if (this.#configuration.unorderedTables?.includes(name) === true) {
      throw new MetastoreException(`table '${name}' is declared to be unordered`)
    }
    return this.#open(name)
  }

  async #open(name: string): Promise<TableHandle> {
    const shared = this.#shared
    if (shared === undefined) throw new MetastoreException('the store is not open')
    if (typeof name !== 'string' || !tableName.test(name)) {
      const message = 'a table is named by letters, digits, _ . -, the first one no . or -'
      throw new MetastoreException(`${message}: ${JSON.stringify(name)}`)
    }
    const { durability, cursorIdleMilliseconds, onListenerError } = this.#configuration
    try {
      const rows = await shared.table(name, durability)
      if (this.#shared !== shared) throw new MetastoreException('the store was closed meanwhile')
      const handle: TableHandle = new TableHandle(name, rows, {
        cursorIdleMilliseconds: cursorIdleMilliseconds ?? cursorIdleDefault,
        onListenerError: onListenerError ?? warnOfListener,
        onClose: () => this.#handles.delete(handle),
      })
      this.#handles.add(handle)
      return handle
    } catch (cause) {
      throw asException(`table '${name}' cannot be opened`, cause)
    }
  }
}

/** Takes part in a database. Closes the directory, if it was opened, when that fails. */
async function share(
  database: MetastoreDatabase,
  directory: string | undefined,
): Promise<SharedDatabase> {
  try {
    return await SharedDatabase.of(database)
  } catch (error) {
    // The first failure is the one to report.
    if (directory !== undefined) await closeDirectory(directory).catch(() => undefined)
    throw error
  }
}

function asException(what: string, cause: unknown): MetastoreException {
  if (cause instanceof MetastoreException) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new MetastoreException(`${what}: ${reason}`, cause)
}
