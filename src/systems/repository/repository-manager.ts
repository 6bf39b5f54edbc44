/** The entry to the content repository: repositories, their record tables, and the schema. */
import { CellarError, checkDatabase, requireCapability, shown } from '../../api/index.js'
import type { Clock, Database, SyncTable, Table } from '../../api/index.js'
import { BlobLedger } from './blobs/blob-ledger.js'
import { blobFamily } from './blobs/blob-state.js'
import { Blobs } from './blobs/blobs.js'
import { TableBlobStore } from './blobs/table-store.js'
import {
  checkSubscriptionName,
  Subscription,
  type EventHandler,
  type SubscriptionOptions,
} from './events/subscription.js'
import {
  storedSubscriptions,
  SubscriptionState,
  type StoredSubscription,
} from './events/subscription-state.js'
import { FieldIndexes } from './fields/field-indexes.js'
import { LinkIndex } from './links/link-index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from './errors.js'
import { repositorySettings, type RepositoryOptions, type RepositorySettings } from './options.js'
import { eventPlace, type CommitPart } from './records/writes/commit.js'
import { LinkTargets } from './records/link-targets.js'
import { rowKinds, terminated } from './records/ordered-row.js'
import { recordFamily } from './records/record-state.js'
import { RecordTable } from './records/record-table.js'
import { scannerFamily, Scanners } from './records/reads/scanners.js'
import { RecordViews } from './records/reads/record-view.js'
import type { TableContext } from './records/table-context.js'
import { UniqueClaims } from './records/unique/unique-claims.js'
import { UniqueValues } from './records/unique/unique-values.js'
import { lastTag } from './qualified-name.js'
import { RecordId } from './record-id.js'
import { Repository } from './repository.js'
import { RepositoryModel } from './repository-model.js'
import {
  checkNewRepositoryName,
  checkRepositoryName,
  checkTableName,
  defaultRepository,
  defaultTable,
  RepositoryRows,
} from './repository-rows.js'
import type { FieldType } from './schema/field-type.js'
import { SchemaRows } from './schema/schema-rows.js'
import { TypeManager } from './schema/type-manager.js'
import { ValueTypes } from './values/value-types.js'

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
  readonly #fieldIndexes: FieldIndexes
  readonly #parts: readonly CommitPart[]
  /** Record tables by repository and name. */
  readonly #tables = new Map<string, Map<string, RecordTable>>()
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #dropObservers = new Set<DropObserver>()
  readonly #model: RepositoryModel
  #unfollow = (): void => undefined
  #isClosed = false

  private constructor(
    database: Database,
    settings: RepositorySettings,
    rows: RepositoryRows,
    types: TypeManager,
  ) {
    this.#database = database
    this.#settings = settings
    this.#rows = rows
    this.types = types
    const { tablePrefix, clock, randomBytes, durability, blobStores, inlineBlobBytesMax } = settings
    const table = database.table(`${tablePrefix}.blobs`)
    const inTable = new TableBlobStore(database.table(`${tablePrefix}.blobdata`), durability)
    const routes = [...blobStores]
    if (routes.length === 0) routes.push({ store: inTable, bytesMax: Infinity })
    const places = { database, table, routes, inlineBytesMax: inlineBlobBytesMax }
    this.blobs = new Blobs({ ...places, clock, durability, randomBytes })
    this.links = new LinkIndex({
      database,
      table: `${tablePrefix}.links`,
      schema: types.schema,
      findTable: (repository, name) => this.#tables.get(repository)?.get(name),
      allTables: () => this.#allTables(),
    })
    this.scanners = new Scanners({
      table: database.table(`${tablePrefix}.scanners`),
      clock,
      durability,
      randomBytes,
      leaseMilliseconds: settings.scannerLeaseMilliseconds,
      scannersMax: settings.scannersMax,
      schema: types.schema,
      findTable: (repository, name) => this.repository(repository).table(name),
    })
    const ledger = new BlobLedger(table, clock, (key) => this.blobs.remove(key))
    this.#model = RepositoryModel.of(database, tablePrefix)
    this.#fieldIndexes = FieldIndexes.of(database, `${tablePrefix}.index`)
    this.#parts = [new UniqueValues(), new LinkTargets(), ledger, this.#fieldIndexes]
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
    const index = { families: { i: { newVersionBehavior: true } } }
    await database.admin.ensureTable(`${tablePrefix}.index`, index)
    const links = { families: { l: { newVersionBehavior: true } } }
    await database.admin.ensureTable(`${tablePrefix}.links`, links)
    const subscriptions = { families: { s: { newVersionBehavior: true } } }
    await database.admin.ensureTable(`${tablePrefix}.subscriptions`, subscriptions)
    const blobs = { families: { [blobFamily]: {} } }
    await database.admin.ensureTable(`${tablePrefix}.blobs`, blobs)
    await database.admin.ensureTable(`${tablePrefix}.blobdata`, blobs)
    const scanners = { families: { [scannerFamily]: { newVersionBehavior: true } } }
    await database.admin.ensureTable(`${tablePrefix}.scanners`, scanners)
    const newUuid = (): string => RecordId.random(randomBytes).text.slice('UUID.'.length)
    const claims = UniqueClaims.of(database, `${tablePrefix}.index`)
    const manager: { current?: RepositoryManager } = {}
    const uniqueFields = {
      add: (ordinal: number, fields: readonly FieldType[]): Promise<void> => {
        return claims.add(ordinal, fields, () => {
          const { current } = manager
          return current === undefined ? [] : current.#allTables().map(({ context }) => context)
        })
      },
      withdraw: (ordinal: number, fields: readonly FieldType[]): void => {
        claims.withdraw(ordinal, fields)
      },
      remove: (ordinal: number, fields: readonly FieldType[]): void => {
        claims.remove(ordinal, fields)
      },
    }
    const types = new TypeManager({ database, rows: schemaRows, valueTypes, newUuid, uniqueFields })
    await types.refresh()
    await types.createOrUpdateFieldType({ name: lastTag, valueType: 'LONG' })
    manager.current = new RepositoryManager(database, settings, rows, types)
    try {
      await manager.current.#load()
    } catch (error) {
      // Removes the followers that the failed manager has registered.
      await manager.current.close()
      throw error
    }
    return manager.current
  }

  /** A repository; default 'default'. `ERR_REPOSITORY_NOT_FOUND`. */
  repository(name: string = defaultRepository): Repository {
    this.#checkOpen()
    checkRepositoryName(name)
    if (this.#tables.has(name)) return new Repository(this, name)
    throw repositoryNotFound(name)
  }

  /** Names of the repositories, sorted. */
  listRepositories(): string[] {
    this.#checkOpen()
    return [...this.#tables.keys()].sort()
  }

  /**
   * Creates a repository with the table 'record'. `ERR_REPOSITORY_EXISTS`; `ERR_INVALID_ARGUMENT`
   * for a name that starts addresses of the server, such as 'record' and 'table'.
   */
  async createRepository(name: string): Promise<Repository> {
    this.#checkOpen()
    checkNewRepositoryName(name)
    if (!(await this.#rows.add(name, undefined))) {
      const message = `there is a repository ${name} already`
      throw new RepositoryError(RepositoryErrorCode.repositoryExists, message)
    }
    await this.#tellMade(name, defaultTable)
    return new Repository(this, name)
  }

  /** Deletes a repository with all its tables; 'default' stays. `ERR_REPOSITORY_NOT_FOUND`. */
  async deleteRepository(name: string): Promise<void> {
    this.#checkOpen()
    checkRepositoryName(name)
    if (name === defaultRepository) throw invalidArgument(`the repository ${name} stays`)
    if (!this.#tables.has(name)) throw repositoryNotFound(name)
    const tables = this.tablesOf(name)
    // A deletion must not start if its blobs cannot be removed.
    await this.blobs.checkStoresOf(tables.map((table) => `${name}/${table}`))
    await this.#rows.requestDelete(name, undefined)
    await this.#endRepository(name)
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
        if (table === undefined) await this.#endRepository(repository)
        else await this.#endTable(repository, table)
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
    const { tablePrefix, clock } = this.#settings
    const prefix = `${tablePrefix}.r.`
    const parts = {
      database: this.#database,
      state: new SubscriptionState(this.#database.table(`${tablePrefix}.subscriptions`), name),
      clock,
      tables: () => this.#allTables().map((table) => table.context.table.name),
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
    return [...(this.#tables.get(repository)?.keys() ?? [])].sort()
  }

  /** @internal */
  findTable(repository: string, name: string): RecordTable | undefined {
    this.#checkOpen()
    return this.#tables.get(repository)?.get(name)
  }

  /** @internal */
  async createTable(repository: string, name: string): Promise<RecordTable> {
    this.#checkOpen()
    checkTableName(name)
    if (!this.#tables.has(repository)) throw repositoryNotFound(repository)
    if (!(await this.#rows.add(repository, name))) {
      const message = `the repository ${repository} has a table ${name} already`
      throw new RepositoryError(RepositoryErrorCode.recordTableExists, message)
    }
    await this.#tellMade(repository, name)
    return new Repository(this, repository).table(name)
  }

  /** @internal */
  async dropTable(repository: string, name: string): Promise<void> {
    this.#checkOpen()
    checkTableName(name)
    if (name === defaultTable) throw invalidArgument(`the table ${name} stays`)
    new Repository(this, repository).table(name)
    await this.blobs.checkStoresOf([`${repository}/${name}`])
    await this.#rows.requestDelete(repository, name)
    await this.#endTable(repository, name)
  }

  #allTables(): RecordTable[] {
    return [...this.#tables.values()].flatMap((tables) => [...tables.values()])
  }

  #tellMade(repository: string, table: string): Promise<void> {
    return this.#model.tell((follower) => follower.tableMade(repository, table))
  }

  async #load(): Promise<void> {
    this.#unfollow = this.#model.follow({
      tableMade: (repository, table) => this.#openTable(repository, table),
      tableDropped: async (repository, table) => {
        this.#tables.get(repository)?.delete(table)
        for (const observer of this.#dropObservers) await observer.tableDropped(repository, table)
      },
      repositoryDeleted: async (repository) => {
        for (const observer of this.#dropObservers) await observer.repositoryDeleted(repository)
        this.#tables.delete(repository)
      },
    })
    await this.#rows.add(defaultRepository, undefined)
    // An unavailable blob store must not prevent the open; `finishDrops` tries again.
    await this.finishDrops().catch((error: unknown) => {
      if (error instanceof CellarError && !(error instanceof RepositoryError)) throw error
    })
    const rows = await this.#rows.list()
    const dropped = new Set(
      rows.flatMap(({ repository, table, state }) => {
        return table === undefined && state !== 'ACTIVE' ? repository : []
      }),
    )
    for (const { repository, table, state } of rows) {
      if (table === undefined || state !== 'ACTIVE' || dropped.has(repository)) continue
      await this.#openTable(repository, table)
    }
  }

  async #openTable(repository: string, name: string): Promise<void> {
    const physical = this.#physicalName(repository, name)
    await this.#database.admin.ensureTable(physical, { families: { [recordFamily]: {} } })
    const { schema } = this.types
    const { tablePrefix, clock, durability, randomBytes, undeleteMilliseconds, hooks } =
      this.#settings
    const table = this.#database.table(physical)
    const hasSync = this.#database.capabilities.sync
    const context: TableContext = {
      database: this.#database,
      table,
      syncTable: hasSync ? (table as Table & SyncTable) : undefined,
      indexTable: `${tablePrefix}.index`,
      repository,
      name,
      eventPlace: eventPlace(repository, name),
      key: Buffer.from(`${repository}/${name}`),
      keyText: `${repository}/${name}`,
      schema,
      views: new RecordViews(schema, name),
      clock,
      durability,
      randomBytes,
      undeleteMilliseconds,
      hooks,
      fieldIndexes: this.#fieldIndexes,
      uniqueClaims: UniqueClaims.of(this.#database, `${tablePrefix}.index`),
      parts: this.#parts,
      blobs: this.blobs,
      checkOpen: () => this.#checkOpen(),
      tableOf: (other): Table => new Repository(this, repository).table(other).context.table,
    }
    await this.#fieldIndexes.load(context)
    const tables = this.#tables.get(repository) ?? new Map<string, RecordTable>()
    if (!tables.has(name)) tables.set(name, new RecordTable(context))
    this.#tables.set(repository, tables)
  }

  #endRepository(repository: string): Promise<void> {
    return this.#model.drop(async () => {
      if (!(await this.#isRequested(repository, undefined))) return
      await this.#model.tell((follower) => follower.repositoryDeleted(repository))
      for (const row of await this.#rows.list()) {
        if (row.repository === repository && row.table !== undefined) {
          await this.#removeTable(repository, row.table)
        }
      }
      await this.#rows.remove(repository, undefined)
    })
  }

  #endTable(repository: string, name: string): Promise<void> {
    return this.#model.drop(async () => {
      if (await this.#isRequested(repository, name)) await this.#removeTable(repository, name)
    })
  }

  /** Whether a drop is still pending: another manager may have completed it. */
  async #isRequested(repository: string, table: string | undefined): Promise<boolean> {
    const rows = await this.#rows.list()
    const own = rows.find((row) => row.repository === repository && row.table === table)
    return own?.state === 'DELETE_REQUESTED'
  }

  /**
   * Removes all data of a record table. The row with the request goes last, so a crash before that
   * repeats the drop.
   */
  async #removeTable(repository: string, name: string): Promise<void> {
    await this.#model.tell((follower) => follower.tableDropped(repository, name))
    const physical = this.#physicalName(repository, name)
    const key = Buffer.from(`${repository}/${name}`)
    this.#fieldIndexes.forget(key)
    await this.#removeIndexRows(key)
    await this.blobs.removeOf(`${repository}/${name}`)
    await this.links.removeTable(`${repository}/${name}`)
    if (await this.#database.admin.tableExists(physical)) {
      await this.#database.admin.deleteTable(physical)
    }
    await this.#rows.remove(repository, name)
  }

  async #removeIndexRows(key: Buffer): Promise<void> {
    const index = this.#database.table(`${this.#settings.tablePrefix}.index`)
    for (const kind of Object.values(rowKinds)) {
      const prefix = Buffer.concat([Buffer.of(kind), terminated(key)])
      for await (const { row } of index.scan({ prefix })) {
        await index.delete({ row: row!, families: [{ family: 'i', timestamp: 1 }] })
      }
    }
  }

  #physicalName(repository: string, name: string): string {
    // Names of tables have no dots, so no two pairs share a name.
    return `${this.#settings.tablePrefix}.r.${repository}..${name}`
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw new RepositoryError(RepositoryErrorCode.closed, 'the repository is closed')
  }
}

function repositoryNotFound(name: string): RepositoryError {
  const message = `there is no repository ${shown(name)}`
  return new RepositoryError(RepositoryErrorCode.repositoryNotFound, message)
}
