/**
 * The MetaStore over Cellar: durable, with versions that are never reused and cursors over
 * snapshots.
 */
import {
  callback,
  choice,
  declareOptions,
  implementation,
  list,
  number,
  shown,
  text,
  type CellarError,
  type OptionsOf,
} from '../../../../api/index.js'
import { warnOfListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { MetastoreErrorCode, codeOf, failed } from '../../errors.js'
import {
  closeShared,
  openShared,
  SharedDatabase,
  type MetastoreDatabase,
  type OpenMetastoreDatabase,
} from './shared-database.js'
import { TableHandle } from './table-handle.js'
import type { MetaStore, MetastoreScannableTable, MetastoreTable } from '../types.js'

const metastoreOptions = declareOptions('a metastore', {
  /**
   * An open database, closed by the caller. Store objects on the same database share their data.
   */
  database: implementation<MetastoreDatabase>(['table', 'createTable', 'snapshot']),
  /**
   * Opens the database, such as `() => Database.open(directory)`. Store objects with the same
   * function share the database: the first one opens it, the last one closes it.
   */
  openDatabase: callback<OpenMetastoreDatabase>(),
  /**
   * Durability of a write before its acknowledgement. Default: the durability of the table, which
   * is created with `FSYNC_WAL`.
   */
  durability: choice(['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'], undefined),
  /** Names of tables that `createScannableTable` refuses. Default: none. */
  unorderedTables: list(text('')),
  /** Time without use after which a cursor loses its snapshot. Default: ten minutes. */
  cursorIdleMilliseconds: number({ min: 0, default: 10 * 60_000 }),
  /** Receives the errors of watchers. Default: `process.emitWarning`. */
  onListenerError: callback<ListenerErrorHandler>(warnOfListener),
})

/** Settings of a {@link CellarMetaStore}: either `database` or `openDatabase`. */
export interface CellarMetastoreConfiguration extends OptionsOf<typeof metastoreOptions> {}

const storeVersion = 1

/** Names that are valid table names in every backend. */
const tableName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

/** A store object. Call `init` first. */
export class CellarMetaStore implements MetaStore {
  #shared: SharedDatabase | undefined = undefined
  #opening: Promise<void> | undefined = undefined
  /** The completion of all closes so far. */
  #closing: Promise<unknown> = Promise.resolve()
  #settings = metastoreOptions.read({})
  readonly #handles = new Set<TableHandle>()

  getName(): string {
    return 'cellardb'
  }

  getVersion(): number {
    return storeVersion
  }

  async init(configuration: CellarMetastoreConfiguration, version: number): Promise<void> {
    if (this.#shared !== undefined || this.#opening !== undefined) {
      throw setup('the store is open already')
    }
    this.#opening = this.#openDatabase(configuration, version).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openDatabase(configuration: CellarMetastoreConfiguration, version: number): Promise<void> {
    if (version !== storeVersion) {
      throw setup(`the store has version ${storeVersion}, not ${shown(version)}`)
    }
    try {
      const settings = metastoreOptions.read(configuration)
      const { database, openDatabase } = settings
      if ((database === undefined) === (openDatabase === undefined)) {
        throw setup('the configuration has either database or openDatabase')
      }
      this.#shared = await (database ? SharedDatabase.of(database) : openShared(openDatabase!))
      this.#settings = settings
    } catch (cause) {
      throw asException('the store cannot be opened', cause)
    }
  }

  /** A store that is being opened is closed as soon as it is open. A second call waits as well. */
  async close(): Promise<void> {
    const earlier = this.#closing
    const closing = this.#close()
    this.#closing = Promise.allSettled([earlier, closing])
    await earlier
    await closing
  }

  async #close(): Promise<void> {
    if (this.#opening !== undefined) await this.#opening.catch(() => undefined)
    if (this.#shared === undefined) return
    this.#shared = undefined
    for (const handle of this.#handles) handle.close()
    this.#handles.clear()
    const { openDatabase } = this.#settings
    if (openDatabase !== undefined) await closeShared(openDatabase)
  }

  createTable(name: string): Promise<MetastoreTable> {
    return this.#open(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    if (this.#settings.unorderedTables.includes(name)) {
      throw setup(`table '${name}' is declared to be unordered`)
    }
    return this.#open(name)
  }

  async #open(name: string): Promise<TableHandle> {
    const shared = this.#shared
    if (shared === undefined) throw setup('the store is not open')
    if (typeof name !== 'string' || !tableName.test(name)) {
      const message = 'a table is named by letters, digits, _ . -, the first one no . or -'
      throw setup(`${message}: ${shown(name)}`)
    }
    const settings = this.#settings
    try {
      const rows = await shared.table(name, settings.durability)
      if (this.#shared !== shared) throw setup('the store was closed meanwhile')
      const onClose = (closed: TableHandle): void => void this.#handles.delete(closed)
      const handle = new TableHandle(rows, shared.commits, settings, onClose)
      this.#handles.add(handle)
      return handle
    } catch (cause) {
      throw asException(`table '${name}' cannot be opened`, cause)
    }
  }
}

function setup(message: string, cause?: unknown): CellarError {
  return failed(MetastoreErrorCode.setup, message, cause)
}

function asException(what: string, cause: unknown): CellarError {
  if (codeOf(cause) === MetastoreErrorCode.setup) return cause as CellarError
  const reason = cause instanceof Error ? cause.message : String(cause)
  return setup(`${what}: ${reason}`, cause)
}
