/**
 * The MetaStore over Cellar: durable, with versions that are never reused and cursors over
 * snapshots.
 */
import { OptionNames, shown } from '../../../../api/index.js'
import { warnOfListener } from '../../kernel/listener-errors.js'
import { copyOfConfiguration } from '../arguments.js'
import { MetastoreException } from '../errors.js'
import {
  closeShared,
  openShared,
  SharedDatabase,
  type MetastoreDatabase,
  type MetastoreDurability,
  type OpenMetastoreDatabase,
} from './shared-database.js'
import { TableHandle } from './table-handle.js'
import type { MetaStore, MetastoreScannableTable, MetastoreTable } from '../types.js'

/** Settings of a {@link CellarMetaStore}: either `database` or `openDatabase`. */
export interface CellarMetastoreConfiguration {
  /**
   * An open database, closed by the caller. Store objects on the same database share their data.
   */
  readonly database?: MetastoreDatabase | undefined
  /**
   * Opens the database, such as `() => Database.open(directory)`. Store objects with the same
   * function share the database: the first one opens it, the last one closes it.
   */
  readonly openDatabase?: OpenMetastoreDatabase | undefined
  /**
   * Durability of a write before its acknowledgement. Default: the durability of the table, which
   * is created with `FSYNC_WAL`.
   */
  readonly durability?: MetastoreDurability | undefined
  /** Names of tables that `createScannableTable` refuses. Default: none. */
  readonly unorderedTables?: readonly string[] | undefined
  /** Time without use after which a cursor loses its snapshot. Default: ten minutes. */
  readonly cursorIdleMilliseconds?: number | undefined
  /** Receives the errors of watchers. Default: `process.emitWarning`. */
  readonly onListenerError?: (error: unknown) => void
}

const names = new OptionNames<CellarMetastoreConfiguration>('a metastore', {
  database: true,
  openDatabase: true,
  durability: true,
  unorderedTables: true,
  cursorIdleMilliseconds: true,
  onListenerError: true,
})

const cursorIdleDefault = 10 * 60_000
const storeVersion = 1

/** Names that are valid table names in every backend. */
const tableName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

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
      throw new MetastoreException(`the store has version ${storeVersion}, not ${shown(version)}`)
    }
    const own = copyOfConfiguration(configuration, names)
    const { database, openDatabase } = own
    if ((database === undefined) === (openDatabase === undefined)) {
      throw new MetastoreException('the configuration has either database or openDatabase')
    }
    this.#isOpening = true
    try {
      const opened = database ?? (await openShared(openDatabase!))
      this.#shared = await share(opened, openDatabase)
      this.#configuration = own
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
    const { openDatabase } = this.#configuration
    if (openDatabase !== undefined) await closeShared(openDatabase)
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
      throw new MetastoreException(`${message}: ${shown(name)}`)
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

/** Joins the users of a database. After a failure, closes the database if the store opened it. */
async function share(
  database: MetastoreDatabase,
  openDatabase: OpenMetastoreDatabase | undefined,
): Promise<SharedDatabase> {
  try {
    return await SharedDatabase.of(database)
  } catch (error) {
    // The first failure is reported.
    if (openDatabase !== undefined) await closeShared(openDatabase).catch(() => undefined)
    throw error
  }
}

function asException(what: string, cause: unknown): MetastoreException {
  if (cause instanceof MetastoreException) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new MetastoreException(`${what}: ${reason}`, cause)
}
