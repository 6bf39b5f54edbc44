/**
 * Pulsar's metadata and coordination (PIP-45) on Cellar, memory and ZooKeeper: the entry
 * `cellardb/metastore/pulsar`.
 */
export type { CacheSink, CachingStore } from './cache-sink.js'
export { CellarMetadataStore } from './cellar-store.js'
export * from './errors.js'
export {
  metadataStoreOf,
  openMetadataStore,
  registerMetadataStoreProvider,
  type MetadataStoreConfiguration,
  type MetadataStoreProvider,
} from './open-store.js'
export type * from './types.js'
