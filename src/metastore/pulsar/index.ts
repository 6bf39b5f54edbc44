/**
 * Pulsar's metadata and coordination (PIP-45) on Cellar, memory and ZooKeeper: the entry
 * `cellardb/metastore/pulsar`.
 */
export * from './store.js'
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
