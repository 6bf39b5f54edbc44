/** The entry to the content repository: repositories, their record tables, and the schema. */
import { checkDatabase, requireCapability, type Database, type Table } from '../../../api/index.js'
import { blobFamily } from '../blobs/blob-state.js'
import { invalidArgument } from '../errors.js'
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
import { scannerFamily } from '../tables/scanners.js'
import { repositoryOptions, type RepositoryOptions } from './options.js'
import { RepositoryCatalog } from './repository-catalog.js'

/** Suffixes of the tables that all record tables share, with their families. */
const sharedTables = {
  tables: { s: { newVersionBehavior: true } },
  schema: { s: {} },
  index: { i: { newVersionBehavior: true } },
  links: { l: { newVersionBehavior: true } },
  subscriptions: { s: { newVersionBehavior: true } },
  blobs: { [blobFamily]: {} },
  blobdata: { [blobFamily]: {} },
  scanners: { [scannerFamily]: { newVersionBehavior: true } },
}

/** Whether a database has tables of a repository; an open of a manager makes them. */
export async function hasRepository(database: Database, tablePrefix: string): Promise<boolean> {
  const [first] = Object.keys(sharedTables)
  return database.admin.tableExists(`${tablePrefix}.${first}`)
}

/** The repositories of one database. After {@link RepositoryManager.close} their methods fail. */
export class RepositoryManager extends RepositoryCatalog {
  readonly #subscriptions = new Map<string, Subscription>()

  /**
   * Opens the repositories of a database, creates missing tables and completes interrupted
   * deletions. The caller still owns the database. `ERR_UNSUPPORTED` if the backend has no atomic
   * batches, `ERR_INVALID_ARGUMENT`.
   */
  static async open(
    database: Database,
    options: RepositoryOptions = {},
  ): Promise<RepositoryManager> {
    const settings = repositoryOptions.read(options)
    checkDatabase(database, 'the content repository')
    requireCapability(database.capabilities, 'atomicAcrossTables', 'the content repository')
    for (const [suffix, families] of Object.entries(sharedTables)) {
      await database.admin.ensureTable(`${settings.tablePrefix}.${suffix}`, { families })
    }
    const manager = new RepositoryManager(database, settings)
    try {
      await manager.load()
    } catch (error) {
      // Removes the followers that the failed manager has registered.
      await manager.close()
      throw error
    }
    return manager
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
    this.checkOpen()
    checkSubscriptionName(name)
    const { capabilities } = this.database
    requireCapability(capabilities, 'changes', 'a subscription')
    requireCapability(capabilities, 'snapshots', 'a subscription')
    if (this.#subscriptions.get(name)?.isRunning === true) {
      throw invalidArgument(`the subscription ${name} runs already`)
    }
    const { database, settings } = this
    const prefix = `${settings.tablePrefix}.r.`
    const parts = {
      database,
      state: this.stateOf(name),
      clock: settings.clock,
      tables: () => this.recordTables().map(({ context }) => context.table.name),
      isRecordTable: (table: string) => table.startsWith(prefix),
    }
    const subscription = new Subscription(name, parts, handler, options)
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
    this.checkOpen()
    checkSubscriptionName(name)
    await this.#subscriptions.get(name)?.close()
    this.#subscriptions.delete(name)
    await this.stateOf(name).remove()
  }

  /** The subscriptions with stored state, running or not, sorted by name. */
  async storedSubscriptions(): Promise<StoredSubscription[]> {
    this.checkOpen()
    return storedSubscriptions(this.#subscriptionTable)
  }

  /** Maintains the link index by the subscription `links`. Throws as {@link subscribe}. */
  followLinks(options: SubscriptionOptions = {}): Promise<Subscription> {
    return this.subscribe('links', ({ event }) => this.links.follow(event), options)
  }

  /** Closes the manager and its subscriptions; the database stays open. */
  async close(): Promise<void> {
    for (const subscription of this.#subscriptions.values()) await subscription.close()
    await this.stop()
  }

  /** The stored state of a subscription. @internal */
  stateOf(name: string): SubscriptionState {
    this.checkOpen()
    return new SubscriptionState(this.#subscriptionTable, name)
  }

  get #subscriptionTable(): Table {
    return this.database.table(`${this.settings.tablePrefix}.subscriptions`)
  }
}
