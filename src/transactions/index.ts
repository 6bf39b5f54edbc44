/** Transactions with snapshot isolation over tables. The public entry `cellardb/transactions`. */
export { TransactionError, TransactionErrorCode, type ConflictDetail } from './errors.js'
export {
  idsPerMillisecond,
  pointerMax,
  startOf,
  Transaction,
  type TransactionFields,
  type TransactionType,
  type VisibilityLevel,
} from './transaction.js'
export type { PointerList } from './pointer-list.js'
export { decodeTransaction, encodeTransaction } from './thrift-form.js'
export { transactionFromJson, transactionToJson, type TransactionJson } from './json-form.js'
export { TransactionManager } from './manager.js'
export type {
  CommitOptions,
  PrunedPointers,
  StartOptions,
  TransactionState,
} from './manager-calls.js'
export type { ClientRetention, TransactionManagerOptions } from './options.js'
export type { ManagerSnapshot, ManagerStatistics, SnapshotTransaction } from './manager-snapshot.js'
export type { Transactions, TransactionParticipant } from './participant.js'
export { TransactionContext } from './context.js'
export type { ContextStartOptions } from './start-options.js'
export type { TransactionScope } from './scope.js'
export { CommitNotCarried } from './refusal.js'
export { runTransaction, type ExecutorOptions } from './executor.js'
export { transactionalFamily } from './transactional-family.js'
export type { ConflictLevel } from './transaction-writes.js'
export { TransactionalTable, type TransactionalTableOptions } from './transactional-table.js'
export type { TransactionalGet, TransactionalScan } from './table-reads.js'
export type { TransactionalCell, TransactionalDelete, TransactionalPut } from './table-writes.js'
export { TransactionVisibilityFilter, type VisibilityOptions } from './visibility-filter.js'
export { transactionProcessor, type TransactionProcessorOptions } from './processor.js'
export {
  pruneStatePlugin,
  TransactionPruningService,
  type PruningPlugin,
  type PruningServiceOptions,
} from './pruning-service.js'
export {
  PruneState,
  storesOf,
  type PruneRecord,
  type PruneStateOptions,
  type StoreName,
} from './prune-state.js'
export type { TransactionSnapshot, VisibilitySnapshot } from './transaction-snapshot.js'
export { importTephraState, type TephraFiles, type TephraImport } from './tephra/import-state.js'
