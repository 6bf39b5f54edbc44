/**
 * Where Hedwig's managers come from (`MetadataManagerFactory`). The layout record in the store says
 * which factory laid out the metadata, so that no other touches them.
 */
import { checkString } from '../kernel/arguments.js'
import { checkObject, readArguments, shown } from '../../../api/index.js'
import { chooseFactory } from '../bookkeeper/ledgers/factory-choice.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { unexpectedCondition } from './errors.js'
import { FactoryLayout } from './layout.js'
import type { RecordForm } from './record-form.js'
import type { ManagerMeta } from './records.js'
import type { SubscriptionDataManager } from './subscription-data-manager.js'
import type { TopicOwnershipManager } from './topic-ownership-manager.js'
import type { TopicPersistenceManager } from './topic-persistence-manager.js'
import { MsMetadataManagerFactory } from './ms-metadata-manager-factory.js'

/** Settings of the managers. */
export interface MetadataConfiguration {
  /** Form of the records. Default 'text'. Must be the same for all who use the store. */
  readonly form?: RecordForm | undefined
  /** Rows per read of a scan. Default 50. */
  readonly metastoreMaxEntriesPerScan?: number | undefined
}

/** Makes managers that belong together. */
export interface MetadataManagerFactory {
  /** Version of the layout that this factory writes. */
  getCurrentVersion(): number
  /** Prepares the factory; fails if it cannot use metadata of that version. */
  initialize(configuration: MetadataConfiguration, store: MetaStore, version: number): Promise<void>
  /** The manager of topics' owners; the caller closes the manager. */
  newTopicOwnershipManager(): Promise<TopicOwnershipManager>
  /** The manager of topics' ledgers; the caller closes the manager. */
  newTopicPersistenceManager(): Promise<TopicPersistenceManager>
  /** The manager of subscriptions; the caller closes the manager. */
  newSubscriptionDataManager(): Promise<SubscriptionDataManager>
  /** Topics that have a persistence record. A failed read is an error, never the end. */
  getTopics(): AsyncIterable<Buffer>
  /** Removes all owners, subscriptions and persistence records, and nothing else. */
  format(): Promise<void>
  /** Ends the factory; managers go on. */
  shutdown(): Promise<void>
}

/** A class of factories, as a layout names it. */
export interface MetadataManagerFactoryClass {
  /** Makes a factory, which is initialised afterwards. */
  new (): MetadataManagerFactory
}

/** How to get the factory of a region. */
export interface FactoryOptions extends MetadataConfiguration {
  /** Initialised. */
  readonly store: MetaStore
  /** Default 'standalone'. */
  readonly region?: string | undefined
  /** Name of the factory; absent: what the layout says, or `MsMetadataManagerFactory`. */
  readonly managerImpl?: string | undefined
  /** Factories by name, besides `MsMetadataManagerFactory`. */
  readonly factories?: Readonly<Record<string, MetadataManagerFactoryClass>> | undefined
}

const defaultName = 'MsMetadataManagerFactory'

/**
 * The factory of a region, initialised. The first caller's is written into the layout record; later
 * ones have to name the same or none. `UNEXPECTED_CONDITION` if the name is not known, is not the
 * one in the layout, or the layout cannot be read.
 */
export async function createMetadataManagerFactory(
  options: FactoryOptions,
): Promise<MetadataManagerFactory> {
  const copy = readArguments(() => ({ ...checkObject(options, 'the options of a factory') }))
  const { store, region = 'standalone', managerImpl } = copy
  checkString(region, 'the region')
  const record = await FactoryLayout.open(store, region)
  try {
    const { factory, layout } = await chooseFactory<MetadataManagerFactory, ManagerMeta>(record, {
      wantedName: managerImpl,
      defaultName,
      make: (name) => makeFactory(name, copy),
      layoutOf: (name, made) => ({ managerImpl: name, managerVersion: made.getCurrentVersion() }),
      nameOf: (stored) => stored.managerImpl,
      mismatch: unexpectedCondition,
    })
    await factory.initialize(copy, store, layout.managerVersion)
    return factory
  } finally {
    record.close()
  }
}

function makeFactory(name: string, { factories = {} }: FactoryOptions): MetadataManagerFactory {
  if (Object.hasOwn(factories, name)) return new factories[name]()
  if (name === defaultName) return new MsMetadataManagerFactory()
  throw unexpectedCondition(`there is no metadata manager factory ${shown(name)}`)
}
