/**
 * Factories of Hedwig's managers (`MetadataManagerFactory`). The layout record in the store names
 * the factory of the metadata, so that no other factory uses them.
 */
import { checkString } from '../kernel/arguments.js'
import { checkObject, readArguments, shown } from '../../../api/index.js'
import { chooseFactory } from '../bookkeeper/ledgers/factory-choice.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { unexpectedCondition } from '../errors.js'
import { FactoryLayout } from './layout.js'
import type { RecordForm } from './record-form.js'
import type { ManagerMeta } from './records.js'
import type { SubscriptionDataManager } from './subscription-data-manager.js'
import type { TopicOwnershipManager } from './topic-ownership-manager.js'
import type { TopicPersistenceManager } from './topic-persistence-manager.js'
import { MsMetadataManagerFactory } from './ms-metadata-manager-factory.js'

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

/** Options of {@link createMetadataManagerFactory}. */
export interface FactoryOptions extends MetadataConfiguration {
  /** The initialised store. */
  readonly store: MetaStore
  /** Name of the region. Default 'standalone'. */
  readonly region?: string | undefined
  /** Name of the factory; absent = the name in the layout, or `MsMetadataManagerFactory`. */
  readonly managerImpl?: string | undefined
  /** Factories by name, besides `MsMetadataManagerFactory`. */
  readonly factories?: Readonly<Record<string, MetadataManagerFactoryClass>> | undefined
}

const defaultName = 'MsMetadataManagerFactory'

/**
 * The initialised factory of a region. The first caller's factory is written into the layout
 * record. Later callers must name the same factory, or none. `UNEXPECTED_CONDITION` if the name is
 * unknown, differs from the layout, or the layout cannot be read.
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
