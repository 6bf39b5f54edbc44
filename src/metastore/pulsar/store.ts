/** What coordination and resources build on: stores, caches and errors. */
export type { LeaseClock } from '../kernel/lease-clock.js'
export type { CacheSink, CachingStore } from './cache-sink.js'
export { CellarMetadataStore } from './cellar-store.js'
export {
  AlreadyClosedError,
  AlreadyExistsError,
  BadVersionError,
  ConflictError,
  ConnectionLostError,
  ContentDeserializationError,
  FeedGapError,
  IllegalStateError,
  InvalidArgumentError,
  InvalidPathError,
  LockBusyError,
  MetadataErrorCode,
  MetadataStoreError,
  NotEmptyError,
  NotFoundError,
  SessionLostError,
  TimeoutError,
  UnsupportedError,
  asMetadataError,
  hasCode,
} from './errors.js'
export {
  metadataStoreOf,
  openMetadataStore,
  registerMetadataStoreProvider,
  type MetadataStoreConfiguration,
  type MetadataStoreProvider,
} from './open-store.js'
export type * from './types.js'
export { ZooKeeperMetadataStore } from './zookeeper/zk-store.js'
export {
  MetadataCache,
  type CacheGetResult,
  type IndexExtractor,
  type MetadataCacheOptions,
} from './cache.js'
export type { BackoffOptions } from '../kernel/backoff.js'
export { jsonSerde, textSerde, type MetadataSerde } from './serde.js'
