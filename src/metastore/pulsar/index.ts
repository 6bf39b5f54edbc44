/**
 * Pulsar's metadata and coordination (PIP-45) on Cellar, memory and ZooKeeper: the entry
 * `cellardb/metastore/pulsar`.
 */
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
export type { BackoffOptions } from './backoff.js'
export { jsonSerde, textSerde, type MetadataSerde } from './serde.js'
export type { LeaseClock } from '../kernel/lease-clock.js'
export {
  CoordinationService,
  LeaderElection,
  LockManager,
  MetadataTableView,
  ResourceLock,
  nextCounterValue,
  type LeaderElectionOptions,
  type LeaderElectionState,
  type LockOptions,
  type LockState,
  type TableViewOptions,
} from '../coordination/index.js'
export { ConfigurationResources, PulsarResources, type ConfigurationValue } from './resources.js'
export { ManagedLedgerStore, type Versioned } from './managed-ledger-store.js'
export type {
  KeyValue,
  LedgerInfo,
  ManagedCursorInfo,
  ManagedLedgerInfo,
  MessageRange,
  NestedPositionInfo,
} from './managed-ledger-records.js'
