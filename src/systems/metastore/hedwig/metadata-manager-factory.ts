/**
 * Factories of Hedwig's managers (`MetadataManagerFactory`). The layout record in the store names
 * the factory of the metadata, so that no other factory uses them.
 */
import {
  checked,
  checkObject,
  checkText,
  declareOptions,
  readArguments,
  required,
  shown,
  text,
  type OptionsOf,
} from '../../../api/index.js'
import { checkStore } from '../bookkeeper/arguments.js'
import {
  LayoutRecord,
  openFactory,
  openLayoutTable,
  type FactoryKind,
} from '../bookkeeper/ledgers/layout-record.js'
import { cleanTable } from '../bookkeeper/tables/record-table.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { NON_FIELDS } from '../bookkeeper/value.js'
import { HedwigErrorCode, unexpectedCondition } from '../errors.js'
import {
  checkForm,
  checkPageSize,
  decodeRecord,
  encodeRecord,
  failure,
  openRecords,
  type RecordForm,
  type RecordKind,
} from './record-form.js'
import { managerMetaType, type ManagerMeta } from './records.js'
import { SubscriptionDataManager, subscriptionKind } from './subscription-data-manager.js'
import { topicOfKey } from './topic-key.js'
import {
  ledgersKind,
  ownerKind,
  TopicOwnershipManager,
  TopicPersistenceManager,
} from './topic-records.js'

const currentVersion = 1

const topicKind: RecordKind = {
  table: ledgersKind.table,
  name: 'metadata',
  absent: HedwigErrorCode.noSuchTopic,
  exists: HedwigErrorCode.unexpectedCondition,
}

/**
 * The layout record of one region: `ManagerMeta` in text form, under the key `METADATA/<region>`.
 * Errors are `UNEXPECTED_CONDITION`. Source: Hedwig 4.3,
 * `org.apache.hedwig.server.meta.FactoryLayout`.
 */
export class FactoryLayout extends LayoutRecord<ManagerMeta> {
  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, region: string): Promise<FactoryLayout> {
    checkText(region, 'the region')
    return new FactoryLayout(await openLayoutTable(store), {
      key: `METADATA/${region}`,
      encode: (layout) => encodeRecord('text', managerMetaType, layout),
      decode: (bytes) => decodeRecord('text', managerMetaType, bytes),
      failure: unexpectedCondition,
    })
  }
}

/** Settings of the managers. */
export interface MetadataConfiguration {
  /** Form of the records. Default 'text'. Must be the same for all users of the store. */
  readonly form?: RecordForm | undefined
  /** Rows in one read of a scan. Default 50. */
  readonly metastoreMaxEntriesPerScan?: number | undefined
}

/** The factory of the managers of one layout. */
export interface MetadataManagerFactory {
  /** Version of the layout of this factory. */
  getCurrentVersion(): number
  /** Prepares the factory; fails if it does not support metadata of this version. */
  initialize(configuration: MetadataConfiguration, store: MetaStore, version: number): Promise<void>
  /** The manager of topics' owners; the caller closes the manager. */
  newTopicOwnershipManager(): Promise<TopicOwnershipManager>
  /** The manager of topics' ledgers; the caller closes the manager. */
  newTopicPersistenceManager(): Promise<TopicPersistenceManager>
  /** The manager of subscriptions; the caller closes the manager. */
  newSubscriptionDataManager(): Promise<SubscriptionDataManager>
  /** Topics with a persistence record. A failed read is an error, never the end. */
  getTopics(): AsyncIterable<Buffer>
  /** Removes all owners, subscriptions and persistence records, and nothing else. */
  format(): Promise<void>
  /** Closes the factory, but not its managers. */
  shutdown(): Promise<void>
}

/** A class of factories, named by a layout. */
export interface MetadataManagerFactoryClass {
  /** Creates a factory, which the caller initialises. */
  new (): MetadataManagerFactory
}

const factoryOptions = declareOptions('a metadata manager factory', {
  /** The initialised store. */
  store: required(checked(checkStore)),
  /** Name of the region. Default 'standalone'. */
  region: text('standalone'),
  /** Name of the factory; absent = the name in the layout, or `MsMetadataManagerFactory`. */
  managerImpl: text(undefined),
  /** Factories by name, besides `MsMetadataManagerFactory`. */
  factories: checked(checkObject<Readonly<Record<string, MetadataManagerFactoryClass>>>),
  /** As in {@link MetadataConfiguration}. */
  form: checked((form: RecordForm) => form),
  /** As in {@link MetadataConfiguration}. */
  metastoreMaxEntriesPerScan: checked((count: number) => count),
})

/** Options of {@link createMetadataManagerFactory}. */
export interface FactoryOptions extends OptionsOf<typeof factoryOptions> {}

/**
 * The initialised factory of a region. The first caller's factory is written into the layout
 * record. Later callers must name the same factory, or none. `UNEXPECTED_CONDITION` if the name is
 * unknown, differs from the layout, or the layout cannot be read. `ERR_INVALID_ARGUMENT` for an
 * unknown option.
 */
export async function createMetadataManagerFactory(
  options: FactoryOptions,
): Promise<MetadataManagerFactory> {
  const settings = factoryOptions.read(options)
  const { store, region, managerImpl, factories } = settings
  const kind: FactoryKind<MetadataManagerFactory, ManagerMeta> = {
    own: ['MsMetadataManagerFactory', MsMetadataManagerFactory],
    unknown: (name) => unexpectedCondition(`there is no metadata manager factory ${shown(name)}`),
    mismatch: unexpectedCondition,
    layoutOf: (name, made) => ({ managerImpl: name, managerVersion: made.getCurrentVersion() }),
    nameOf: (layout) => layout.managerImpl,
    initialize: (factory, { managerVersion }) =>
      factory.initialize(settings, store, managerVersion),
  }
  return openFactory(await FactoryLayout.open(store, region), kind, managerImpl, factories)
}

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
    const records = await openRecords(this.#opened(), topicKind)
    const { metastoreMaxEntriesPerScan } = this.#configuration
    try {
      for await (const page of records.pages(metastoreMaxEntriesPerScan, NON_FIELDS)) {
        yield* page.map(({ key }) => topicOfKey(key))
      }
    } finally {
      records.close()
    }
  }

  async format(): Promise<void> {
    const store = this.#opened()
    try {
      for (const kind of [ownerKind, subscriptionKind, ledgersKind]) {
        const table = await store.createTable(kind.table)
        await cleanTable(table).finally(() => table.close())
      }
    } catch (error) {
      throw failure(topicKind, error)
    }
  }

  async shutdown(): Promise<void> {
    this.#store = undefined
  }

  #opened(): MetaStore {
    if (this.#store === undefined) throw unexpectedCondition('the factory is not initialised')
    return this.#store
  }
}
