/**
 * Pulsar's metadata and coordination (PIP-45) on Cellar, memory and ZooKeeper: the entry
 * `cellardb/metastore/pulsar`.
 */
export type { LeaseClock } from '../kernel/lease-clock.js'
export type { CacheSink, CachingStore } from './store/cache-sink.js'
export { CellarMetadataStore } from './store/cellar-store.js'
export { asMetadataError, hasCode, MetadataErrorCode, MetadataStoreError } from './errors.js'
export { DualMetadataStore } from './clusters/dual-store.js'
export {
  MigrationCoordinator,
  migrationPath,
  participantsPath,
  type MigrationOptions,
  type MigrationPhase,
  type MigrationState,
  type OpenTarget,
  type RecordImporter,
} from './clusters/migration.js'
export {
  SynchronizedMetadataStore,
  type MetadataEvent,
  type MetadataEventSynchronizer,
} from './clusters/synchronized-store.js'
export {
  metadataStoreOf,
  openMetadataStore,
  registerMetadataStoreProvider,
  type MetadataStoreConfiguration,
  type MetadataStoreProvider,
} from './open-store.js'
export type * from './types.js'
export { ZooKeeperMetadataStore, type ZooKeeperSession } from './zookeeper/zk-store.js'
export {
  MetadataCache,
  metadataCacheDefaults,
  type CacheGetResult,
  type IndexExtractor,
  type MetadataCacheOptions,
} from './cache.js'
export { withoutBackoff, type BackoffOptions } from '../kernel/backoff.js'
export { jsonSerde, textSerde, type MetadataSerde } from './serde.js'
export {
  CoordinationService,
  LeaderElection,
  LockManager,
  MetadataTableView,
  nextCounterValue,
  type LeaderElectionListener,
  type LeaderElectionOptions,
  type LeaderElectionState,
  type LockOptions,
  type LockState,
  type ResourceLock,
  type TableViewOptions,
} from '../coordination/index.js'
export { ConfigurationResources, PulsarResources, type ConfigurationValue } from './resources.js'
export {
  ManagedLedgerStore,
  type ManagedLedgerStoreOptions,
  type Versioned,
} from './managed-ledgers/managed-ledger-store.js'
export type { ManagedLedgerCompression } from './managed-ledgers/managed-ledger-compression.js'
export type {
  KeyValue,
  LedgerInfo,
  ManagedCursorInfo,
  ManagedLedgerInfo,
  MessageRange,
  NestedPositionInfo,
} from './managed-ledgers/managed-ledger-records.js'
