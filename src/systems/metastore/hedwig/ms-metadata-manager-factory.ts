/** Hedwig's metadata in a MetaStore: tables `owner`, `persist` and `sub`. */
import { checkForm, checkPageSize } from './record-form.js'
import { checkStore } from '../bookkeeper/arguments.js'
import { checkObject, readArguments, shown } from '../../../api/index.js'
import { cleanTable } from '../bookkeeper/tables/clean-table.js'
import type { MetaStore, MetastoreTable } from '../bookkeeper/types.js'
import { NON_FIELDS } from '../bookkeeper/value.js'
import { HedwigErrorCode, unexpectedCondition } from '../errors.js'
import type { MetadataConfiguration, MetadataManagerFactory } from './metadata-manager-factory.js'
import { failure, RecordKind } from './store-failure.js'
import { SubscriptionDataManager, subscriptionTable } from './subscription-data-manager.js'
import { topicOfKey } from './topic-key.js'
import { ownerTable, TopicOwnershipManager } from './topic-ownership-manager.js'
import { persistenceTable, TopicPersistenceManager } from './topic-persistence-manager.js'

const currentVersion = 1

const anyRecord = new RecordKind(
  'metadata',
  HedwigErrorCode.noSuchTopic,
  HedwigErrorCode.unexpectedCondition,
)

/** The factory of the same name in Hedwig. */
export class MsMetadataManagerFactory implements MetadataManagerFactory {
  #store: MetaStore | undefined
  #configuration: Required<MetadataConfiguration> = { form: 'text', metastoreMaxEntriesPerScan: 50 }

  getCurrentVersion(): number {
    return currentVersion
  }

  async initialize(
    configuration: MetadataConfiguration,
    store: MetaStore,
    version: number,
  ): Promise<void> {
    checkStore(store)
    if (version !== currentVersion) {
      throw unexpectedCondition(`metadata have version ${shown(version)}, not ${currentVersion}`)
    }
    const { form = 'text', metastoreMaxEntriesPerScan = 50 } = readArguments(() => ({
      ...checkObject(configuration, 'the configuration of managers'),
    }))
    checkForm(form)
    checkPageSize(metastoreMaxEntriesPerScan)
    this.#configuration = { form, metastoreMaxEntriesPerScan }
    this.#store = store
  }

  async newTopicOwnershipManager(): Promise<TopicOwnershipManager> {
    return TopicOwnershipManager.open(this.#opened())
  }

  async newTopicPersistenceManager(): Promise<TopicPersistenceManager> {
    return TopicPersistenceManager.open(this.#opened(), this.#configuration.form)
  }

  async newSubscriptionDataManager(): Promise<SubscriptionDataManager> {
    const { form, metastoreMaxEntriesPerScan } = this.#configuration
    return SubscriptionDataManager.open(this.#opened(), form, metastoreMaxEntriesPerScan)
  }

  async *getTopics(): AsyncGenerator<Buffer, void, void> {
    const table = await this.#opened().createTable(persistenceTable)
    try {
      for await (const key of this.#keys(table)) yield topicOfKey(key)
    } finally {
      table.close()
    }
  }

  async format(): Promise<void> {
    const store = this.#opened()
    try {
      await cleanAndClose(await store.createTable(ownerTable))
      await cleanAndClose(await store.createScannableTable(subscriptionTable))
      await cleanAndClose(await store.createTable(persistenceTable))
    } catch (error) {
      throw failure(anyRecord, error)
    }
  }

  async shutdown(): Promise<void> {
    this.#store = undefined
  }

  #opened(): MetaStore {
    if (this.#store === undefined) throw unexpectedCondition('the factory is not initialised')
    return this.#store
  }

  async *#keys(table: MetastoreTable): AsyncGenerator<string, void, void> {
    const pageSize = this.#configuration.metastoreMaxEntriesPerScan
    try {
      const cursor = await table.openCursor(NON_FIELDS)
      try {
        while (cursor.hasMoreEntries()) {
          for (const { key } of await cursor.asyncReadEntries(pageSize)) yield key
        }
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw failure(anyRecord, error)
    }
  }
}

async function cleanAndClose(table: MetastoreTable): Promise<void> {
  try {
    await cleanTable(table)
  } finally {
    table.close()
  }
}
