/**
 * Pulsar's metadata and coordination (PIP-45) on Cellar, memory and ZooKeeper: the entry
 * `cellardb/metastore/pulsar`.
 */
export type { LeaseClock } from '../kernel/lease-clock.js'
export { CellarMetadataStore } from './store/cellar-store.js'
export { asMetadataError, hasCode, MetadataErrorCode } from '../metadata/errors.js'
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
export type * from '../metadata/types.js'
export { ZooKeeperMetadataStore, type ZooKeeperSession } from './zookeeper/zk-store.js'
export { MetadataCache, type IndexExtractor } from '../metadata/cache.js'
export {
  metadataCacheDefaults,
  type CacheGetResult,
  type MetadataCacheOptions,
} from '../metadata/cache-options.js'
export { withoutBackoff, type BackoffOptions } from '../kernel/backoff.js'
export { jsonSerde, textSerde, type MetadataSerde } from '../metadata/serde.js'
export {
  LeaderElection,
  type LeaderElectionListener,
  type LeaderElectionOptions,
  type LeaderElectionState,
} from '../coordination/leader-election.js'
export { LockManager, type LockOptions } from '../coordination/lock-manager.js'
export type { LockState, ResourceLock } from '../coordination/resource-lock.js'
export { CoordinationService, nextCounterValue } from '../coordination/service.js'
export { MetadataTableView, type TableViewOptions } from '../coordination/table-view.js'
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
