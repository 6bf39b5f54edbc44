/** Transactions with snapshot isolation over tables. The public entry `cellardb/transactions`. */
export { notCarried, TransactionErrorCode, type ConflictDetail } from './errors.js'
export {
  idsPerMillisecond,
  pointerMax,
  startOf,
  Transaction,
  type TransactionFields,
  type TransactionType,
  type VisibilityLevel,
} from './transaction.js'
export type { PointerList } from './manager/pointer-list.js'
export {
  decodeTransaction,
  encodeTransaction,
  transactionFromJson,
  transactionToJson,
  type TransactionJson,
} from './tephra/transaction-forms.js'
export { TransactionManager } from './manager/manager.js'
export type {
  CommitOptions,
  ContextStartOptions,
  ManagerSnapshot,
  ManagerStatistics,
  PrunedPointers,
  SnapshotTransaction,
  StartOptions,
  TransactionState,
} from './manager/manager-calls.js'
export type { ClientRetention, TransactionManagerOptions } from './options.js'
export { SingleParticipant, type Transactions, type TransactionParticipant } from './participant.js'
export { TransactionContext } from './context.js'
export { runTransaction, type ExecutorOptions, type TransactionScope } from './executor.js'
export { transactionalFamily } from './tables/transactional-family.js'
export type { ConflictLevel } from './tables/transaction-writes.js'
export { TransactionalTable, type TransactionalTableOptions } from './tables/transactional-table.js'
export type { TransactionalGet, TransactionalScan } from './tables/table-reads.js'
export type {
  TransactionalCell,
  TransactionalDelete,
  TransactionalPut,
} from './tables/table-writes.js'
export { TransactionVisibilityFilter, type VisibilityOptions } from './tables/visibility-filter.js'
export { transactionProcessor, type TransactionProcessorOptions } from './processor.js'
export {
  pruneStatePlugin,
  TransactionPruningService,
  type PruningPlugin,
  type PruningServiceOptions,
} from './manager/pruning-service.js'
export {
  PruneState,
  storesOf,
  type PruneRecord,
  type PruneStateOptions,
  type StoreName,
} from './manager/prune-state.js'
export type { TransactionSnapshot, VisibilitySnapshot } from './transaction-snapshot.js'
export { importTephraState, type TephraFiles, type TephraImport } from './tephra/import-state.js'
