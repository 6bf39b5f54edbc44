/** The entry to the content repository: repositories, their record tables, and the schema. */
import {
  assert,
  CellarError,
  checkDatabase,
  requireCapability,
  shown,
  type Clock,
  type Database,
} from '../../../api/index.js'
import { BlobLedger } from '../blobs/blob-ledger.js'
import { blobFamily } from '../blobs/blob-state.js'
import { Blobs } from '../blobs/blobs.js'
import { TableBlobStore } from '../blobs/table-store.js'
import { invalidArgument, RepositoryError, repositoryError } from '../errors.js'
import {
  storedSubscriptions,
  SubscriptionState,
  type StoredSubscription,
} from '../events/subscription-state.js'
import {
  checkSubscriptionName,
  Subscription,
  type EventHandler,
  type SubscriptionOptions,
} from '../events/subscription.js'
import { LinkIndex } from '../links/link-index.js'
import { lastTag } from '../qualified-name.js'
import { RecordId } from '../record-id.js'
import { linkTargetsPart } from '../records/link-targets.js'
import { uniqueValuesPart } from '../records/unique/unique-values.js'
import { SchemaRows } from '../schema/schema-rows.js'
import { TypeManager, type UniqueFields } from '../schema/type-manager.js'
import type { RecordTable } from '../tables/record-table.js'
import { scannerFamily, Scanners } from '../tables/scanners.js'
import { ValueTypes } from '../values/value-types.js'
import { repositorySettings, type RepositoryOptions, type RepositorySettings } from './options.js'
import { allTables, RecordTables, type SharedContext, type TablesByName } from './record-tables.js'
import {
  checkNewRepositoryName,
  checkRepositoryName,
  checkTableName,
  defaultRepository,
  defaultTable,
  RepositoryRows,
} from './repository-rows.js'
import { Repository } from './repository.js'
import { SharedState } from './shared-state.js'

/** Parts of the manager that search indexes use. @internal */
export interface ManagerParts {
  readonly database: Database
  readonly tablePrefix: string
  readonly clock: Clock
  /** The stored state of a subscription. */
  readonly stateOf: (subscription: string) => SubscriptionState
}

/**
 * Observes drops. The records of a dropped table can no longer be read; those of a deleted
 * repository still can during the call. @internal
 */
export interface DropObserver {
  tableDropped(repository: string, table: string): Promise<void>
  repositoryDeleted(repository: string): Promise<void>
}

/** Suffixes of the tables that all record tables share, with their families. */
const sharedTables = {
  index: { i: { newVersionBehavior: true } },
  links: { l: { newVersionBehavior: true } },
  subscriptions: { s: { newVersionBehavior: true } },
  blobs: { [blobFamily]: {} },
  blobdata: { [blobFamily]: {} },
  scanners: { [scannerFamily]: { newVersionBehavior: true } },
}

/** The repositories of one database. After {@link RepositoryManager.close} their methods fail. */
export class RepositoryManager {
  /** Field types and record types, which all repositories share. */
  readonly types: TypeManager
  /** Blobs, which all repositories share. */
  readonly blobs: Blobs
  /** Index of the links between records; maintained while {@link followLinks} runs. */
  readonly links: LinkIndex
  /** Scans that continue call by call, also after a restart. */
  readonly scanners: Scanners
  readonly #database: Database
  readonly #settings: RepositorySettings
  readonly #rows: RepositoryRows
  readonly #tables: RecordTables
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #dropObservers = new Set<DropObserver>()
  readonly #shared: SharedState
  #unfollow = (): void => undefined
  #isClosed = false

  private constructor(
    database: Database,
    settings: RepositorySettings,
    rows: RepositoryRows,
    types: TypeManager,
    byName: TablesByName,
  ) {
    this.#database = database
    this.#settings = settings
    this.#rows = rows
    this.types = types
    this.#shared = SharedState.of(database, settings.tablePrefix)
    const { tablePrefix, clock, randomBytes, durability, undeleteMilliseconds, hooks } = settings
    const { schema } = types
    const common = { database, clock, durability, randomBytes, schema }
    const blobStates = database.table(`${tablePrefix}.blobs`)
    const inTable = new TableBlobStore(database.table(`${tablePrefix}.blobdata`), durability)
    const routes = [...settings.blobStores]
    if (routes.length === 0) routes.push({ store: inTable, bytesMax: Infinity })
    const inlineBytesMax = settings.inlineBlobBytesMax
    this.blobs = new Blobs({ ...common, table: blobStates, routes, inlineBytesMax })
    this.links = new LinkIndex({
      database,
      table: `${tablePrefix}.links`,
      schema,
      findTable: (repository, name) => this.#tables.find(repository, name),
      allTables: () => allTables(byName),
    })
    this.scanners = new Scanners({
      ...common,
      table: database.table(`${tablePrefix}.scanners`),
      leaseMilliseconds: settings.scannerLeaseMilliseconds,
      scannersMax: settings.scannersMax,
      findTable: (repository, name) => this.repository(repository).table(name),
    })
    const { gate, turns, claims, fieldIndexes } = this.#shared
    const ledger = new BlobLedger(blobStates, clock, (key) => this.blobs.remove(key))
    const context: SharedContext = {
      ...common,
      indexTable: `${tablePrefix}.index`,
      undeleteMilliseconds,
      hooks,
      gate,
      turns,
      uniqueClaims: claims,
      parts: [
        uniqueValuesPart,
        linkTargetsPart,
        (changes) => ledger.prepare(changes),
        fieldIndexes.part,
      ],
      checkOpen: () => this.#checkOpen(),
    }
    const { blobs, links } = this
    const parts = { database, tablePrefix, context, fieldIndexes, blobs, links }
    this.#tables = new RecordTables(byName, parts)
  }

  /**
   * Opens the repositories of a database, creates missing tables and completes interrupted
   * deletions. The caller still owns the database. `ERR_UNSUPPORTED` if the backend has no atomic
   * batches, `ERR_INVALID_ARGUMENT`.
   */
  static async open(
    database: Database,
    options: RepositoryOptions = {},
  ): Promise<RepositoryManager> {
    const settings = repositorySettings(options)
    checkDatabase(database, 'the content repository')
    requireCapability(database.capabilities, 'atomicAcrossTables', 'the content repository')
    const { tablePrefix, randomBytes } = settings
    const valueTypes = new ValueTypes()
    for (const [name, factory] of Object.entries(settings.valueTypes)) {
      valueTypes.register(name, factory)
    }
    const rows = new RepositoryRows(database, `${tablePrefix}.tables`)
    const schemaRows = new SchemaRows(database, `${tablePrefix}.schema`)
    await rows.create()
    await schemaRows.create()
    for (const [suffix, families] of Object.entries(sharedTables)) {
      await database.admin.ensureTable(`${tablePrefix}.${suffix}`, { families })
    }
    const { claims, schemaListeners } = SharedState.of(database, tablePrefix)
    const byName: TablesByName = new Map()
    const uniqueFields: UniqueFields = {
      add: (ordinal, fields) => {
        const contexts = allTables(byName).map(({ context }) => context)
        return claims.add(ordinal, fields, contexts)
      },
      withdraw: (ordinal, fields) => claims.withdraw(ordinal, fields),
      remove: (ordinal, fields) => claims.remove(ordinal, fields),
    }
    const types = new TypeManager({
      database,
      rows: schemaRows,
      valueTypes,
      newUuid: () => RecordId.random(randomBytes).text.slice('UUID.'.length),
      uniqueFields,
      listeners: schemaListeners,
    })
    await types.refresh()
    await types.createOrUpdateFieldType({ name: lastTag, valueType: 'LONG' })
    const manager = new RepositoryManager(database, settings, rows, types, byName)
    try {
      await manager.#load()
    } catch (error) {
      // Removes the followers that the failed manager has registered.
      await manager.close()
      throw error
    }
    return manager
  }

  /** A repository; default 'default'. `ERR_REPOSITORY_NOT_FOUND`. */
  repository(name: string = defaultRepository): Repository {
    this.#checkOpen()
    checkRepositoryName(name)
    if (this.#tables.byName.has(name)) return new Repository(this, name)
    throw repositoryNotFound(name)
  }

  /** Names of the repositories, sorted. */
  listRepositories(): string[] {
    this.#checkOpen()
    return [...this.#tables.byName.keys()].sort()
  }

  /**
   * Creates a repository with the table 'record'. `ERR_REPOSITORY_EXISTS`; `ERR_INVALID_ARGUMENT`
   * for a name that starts addresses of the server, such as 'record' and 'table'.
   */
  async createRepository(name: string): Promise<Repository> {
    this.#checkOpen()
    checkNewRepositoryName(name)
    if (!(await this.#rows.add(name, undefined))) {
      throw repositoryError('repositoryExists', `there is a repository ${name} already`)
    }
    await this.#made(name, defaultTable)
    return new Repository(this, name)
  }

  /** Deletes a repository with all its tables; 'default' stays. `ERR_REPOSITORY_NOT_FOUND`. */
  async deleteRepository(name: string): Promise<void> {
    this.#checkOpen()
    checkRepositoryName(name)
    if (name === defaultRepository) throw invalidArgument(`the repository ${name} stays`)
    if (!this.#tables.byName.has(name)) throw repositoryNotFound(name)
    const tables = this.tablesOf(name)
    // A deletion must not start if its blobs cannot be removed.
    await this.blobs.checkStoresOf(tables.map((table) => `${name}/${table}`))
    await this.#rows.requestDelete(name, undefined)
    await this.#end(name, undefined)
  }

  /**
   * Completes drops of tables and repositories that were interrupted, or whose blob store did not
   * answer. Returns the number completed. A failed drop does not stop the others; the first error
   * is thrown at the end.
   */
  async finishDrops(): Promise<number> {
    this.#checkOpen()
    let count = 0
    const failures: unknown[] = []
    for (const { repository, table, state } of await this.#rows.list()) {
      if (state !== 'DELETE_REQUESTED') continue
      try {
        await this.#end(repository, table)
        count++
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return count
  }

  /**
   * Notifies a handler of every record write after the stored position of the subscription. A new
   * subscription first receives every existing record. `ERR_INVALID_ARGUMENT` if it already runs,
   * `ERR_UNSUPPORTED` if the backend has no change feed.
   */
  async subscribe(
    name: string,
    handler: EventHandler,
    options: SubscriptionOptions = {},
  ): Promise<Subscription> {
    this.#checkOpen()
    checkSubscriptionName(name)
    const { capabilities } = this.#database
    requireCapability(capabilities, 'changes', 'a subscription')
    requireCapability(capabilities, 'snapshots', 'a subscription')
    if (this.#subscriptions.get(name)?.isRunning === true) {
      throw invalidArgument(`the subscription ${name} runs already`)
    }
    const { database, tablePrefix, clock, stateOf } = this.parts
    const prefix = `${tablePrefix}.r.`
    const parts = {
      database,
      state: stateOf(name),
      clock,
      tables: () => allTables(this.#tables.byName).map(({ context }) => context.table.name),
      isRecordTable: (table: string) => table.startsWith(prefix),
    }
    const subscription = Subscription.prepare(name, parts, handler, options)
    this.#subscriptions.set(name, subscription)
    await subscription.start()
    return subscription
  }

  /** The subscriptions made since the open, sorted by name. */
  get subscriptions(): readonly Subscription[] {
    return [...this.#subscriptions.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Removes a subscription with its position and its dead letters, and closes it first if it runs.
   * A later subscription of that name is a new one. The subscription of a search index is removed
   * with the index, not by this call. `ERR_INVALID_ARGUMENT`.
   */
  async removeSubscription(name: string): Promise<void> {
    this.#checkOpen()
    checkSubscriptionName(name)
    await this.#subscriptions.get(name)?.close()
    this.#subscriptions.delete(name)
    await this.parts.stateOf(name).remove()
  }

  /** The subscriptions with stored state, running or not, sorted by name. */
  async storedSubscriptions(): Promise<StoredSubscription[]> {
    this.#checkOpen()
    return storedSubscriptions(this.#database.table(`${this.#settings.tablePrefix}.subscriptions`))
  }

  /** Maintains the link index by the subscription `links`. Throws as {@link subscribe}. */
  followLinks(options: SubscriptionOptions = {}): Promise<Subscription> {
    return this.subscribe('links', ({ event }) => this.links.follow(event), options)
  }

  /** Closes the manager and its subscriptions; the database stays open. */
  async close(): Promise<void> {
    for (const subscription of this.#subscriptions.values()) await subscription.close()
    this.#isClosed = true
    this.#unfollow()
    this.types.close()
    await this.types.settled()
  }

  /** @internal */
  get parts(): ManagerParts {
    this.#checkOpen()
    const { tablePrefix, clock } = this.#settings
    const table = this.#database.table(`${tablePrefix}.subscriptions`)
    const stateOf = (name: string): SubscriptionState => new SubscriptionState(table, name)
    return { database: this.#database, tablePrefix, clock, stateOf }
  }

  /** Registers an observer of drops; the returned function removes the observer. @internal */
  observeDrops(observer: DropObserver): () => void {
    this.#checkOpen()
    this.#dropObservers.add(observer)
    return () => void this.#dropObservers.delete(observer)
  }

  /** @internal */
  tablesOf(repository: string): string[] {
    this.#checkOpen()
    return [...(this.#tables.byName.get(repository)?.keys() ?? [])].sort()
  }

  /** @internal */
  findTable(repository: string, name: string): RecordTable | undefined {
    this.#checkOpen()
    return this.#tables.find(repository, name)
  }

  /** @internal */
  getTable(repository: string, name: string): RecordTable {
    this.#checkOpen()
    return this.#tables.get(repository, name)
  }

  /** @internal */
  async createTable(repository: string, name: string): Promise<RecordTable> {
    this.#checkOpen()
    checkTableName(name)
    if (!this.#tables.byName.has(repository)) throw repositoryNotFound(repository)
    if (!(await this.#rows.add(repository, name))) {
      throw repositoryError('recordTableExists', `${repository} has a table ${name} already`)
    }
    await this.#made(repository, name)
    return this.#tables.get(repository, name)
  }

  /** @internal */
  async dropTable(repository: string, name: string): Promise<void> {
    this.#checkOpen()
    if (name === defaultTable) throw invalidArgument(`the table ${name} stays`)
    this.#tables.get(repository, name)
    await this.blobs.checkStoresOf([`${repository}/${name}`])
    await this.#rows.requestDelete(repository, name)
    await this.#end(repository, name)
  }

  #made(repository: string, table: string): Promise<void> {
    return this.#shared.notify((follower) => follower.tableMade(repository, table))
  }

  async #load(): Promise<void> {
    const { byName } = this.#tables
    this.#unfollow = this.#shared.follow({
      tableMade: (repository, table) => this.#tables.open(repository, table),
      tableDropped: async (repository, table) => {
        byName.get(repository)?.delete(table)
        for (const observer of this.#dropObservers) await observer.tableDropped(repository, table)
      },
      repositoryDeleted: async (repository) => {
        for (const observer of this.#dropObservers) await observer.repositoryDeleted(repository)
        byName.delete(repository)
      },
    })
    await this.#rows.add(defaultRepository, undefined)
    // An unavailable blob store must not prevent the open; `finishDrops` tries again.
    await this.finishDrops().catch((error: unknown) => {
      if (error instanceof CellarError && !(error instanceof RepositoryError)) throw error
    })
    const rows = await this.#rows.list()
    const isDropped = rows.filter(({ table, state }) => table === undefined && state !== 'ACTIVE')
    const dropped = new Set(isDropped.map(({ repository }) => repository))
    for (const { repository, table, state } of rows) {
      if (table === undefined || state !== 'ACTIVE' || dropped.has(repository)) continue
      await this.#tables.open(repository, table)
    }
  }

  /**
   * Completes the requested deletion of a repository, or of one table. Another manager may have
   * completed it already. The row with the request goes last, so a crash before that repeats the
   * drop.
   */
  #end(repository: string, table: string | undefined): Promise<void> {
    return this.#shared.drop(async () => {
      const rows = await this.#rows.list()
      const own = rows.find((row) => row.repository === repository && row.table === table)
      if (own?.state !== 'DELETE_REQUESTED') return
      const isWhole = table === undefined
      if (isWhole) await this.#shared.notify((each) => each.repositoryDeleted(repository))
      for (const row of rows) {
        if (row.repository !== repository || row.table === undefined) continue
        if (isWhole || row.table === table) await this.#removeTable(repository, row.table)
      }
      if (isWhole) await this.#rows.remove(repository, undefined)
    })
  }

  async #removeTable(repository: string, name: string): Promise<void> {
    assert(name !== defaultTable || !this.#tables.byName.has(repository), 'a default table stays')
    await this.#shared.notify((follower) => follower.tableDropped(repository, name))
    await this.#tables.remove(repository, name)
    await this.#rows.remove(repository, name)
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw repositoryError('closed', 'the repository is closed')
  }
}

function repositoryNotFound(name: string): RepositoryError {
  return repositoryError('repositoryNotFound', `there is no repository ${shown(name)}`)
}
