/** Cellar: an embedded wide-column store for Node. The public entry of the package `cellardb`. */
export { Database } from '../table/database.js'
export type { OpenOptions } from '../table/open-database.js'
export type { DatabaseListener } from '../table/database-events.js'
export type {
  CompactedFiles,
  CompactionEvent,
  CompactionProgressEvent,
  DamageEvent,
  DatabaseEvents,
  EventSource,
  FailureEvent,
  FlushEvent,
  ProgressEvent,
} from '../storage/engine/events.js'
export type { BackupOptions, BackupSummary } from '../storage/engine/transfer/backup.js'
export type { RestoreOptions } from '../storage/engine/transfer/restore.js'
export type {
  Loss,
  LostRows,
  Problem,
  Salvage,
  Verification,
} from '../storage/engine/inspection/findings.js'
export type { InspectOptions } from '../storage/engine/inspection/inspect-database.js'
export type {
  FileDetails,
  InspectedBlock,
  InspectedFamily,
  InspectedFile,
  InspectedManifest,
  InspectedSegment,
  InspectedValueFile,
  Inspection,
} from '../storage/engine/inspection/inspection.js'
export type {
  RepairOptions,
  SalvageOptions,
} from '../storage/engine/inspection/salvage-database.js'
export type { VerifyOptions } from '../storage/engine/inspection/verify-database.js'
export type {
  DatabaseStatistics,
  FamilyStatistics,
  TableStatistics,
} from '../table/admin/statistics.js'
export { Admin, type SnapshotDescription } from '../table/admin.js'
export type {
  BulkLoaded,
  BulkLoadOptions,
  CompactionWatch,
  CompactOptions,
  MajorCompaction,
} from '../table/admin/options.js'
export {
  BulkWriter,
  type BulkSummary,
  type BulkWriterOptions,
} from '../table/transfer/bulk-writer.js'
export type { ExportOptions, TransferProgress } from '../table/transfer/export-table.js'
export type { Imported, ImportOptions } from '../table/transfer/import-table.js'
export type { NamespaceDescription } from '../table/admin/namespaces.js'
export type { EmbeddedTable } from '../table/embedded-table.js'
export type { AggregateRequest } from '../table/observers/endpoints.js'
export type { Admin as BackendAdmin, Database as BackendDatabase } from '../api/index.js'
export {
  AsyncRows,
  CellarError,
  CellDecision,
  CoprocessorPriority,
  encodings,
  ErrorCode,
  Result,
  ResultScanner,
  SyncResultScanner,
  SyncRows,
} from '../api/index.js'
export type * from '../api/index.js'
export { openIndexes, type Indexes, type IndexDescription } from '../comfort/indexes/indexes.js'
export type { IndexDeclaration, IndexPart } from '../comfort/indexes/declaration.js'
export type { StoredEncoding } from '../comfort/indexes/entry-values.js'
export type { IndexState } from '../comfort/indexes/catalog.js'
export type {
  EntryQuery,
  IndexEntry,
  IndexFindings,
  IndexKey,
  IndexPage,
  IndexRange,
  RowQuery,
  StrayEntry,
  TableIndex,
} from '../comfort/indexes/table-index.js'
export { readPage, type Page, type PageRows, type PageScan } from '../comfort/pages.js'
export {
  countRows,
  deletePrefix,
  deleteRange,
  type PartsOption,
  type RangeScan,
} from '../comfort/ranges.js'
export {
  defineKey,
  RowKey,
  type DescendingPart,
  type EncodedParts,
  type KeyPartName,
  type KeyPartOption,
  type KeyParts,
  type KeyPartTypes,
  type KeyPartValue,
  type KeyValues,
  type LeadingValues,
} from '../comfort/keys/row-key.js'
export { rowsOfKeys, type KeyRange } from '../comfort/keys/key-range.js'
export {
  defineTable,
  TableDefinition,
  type DefaultKey,
  type RowOf,
  type TableDefinitionOptions,
  type TypedTableOf,
} from '../comfort/typed/define-table.js'
export { SyncTypedTable } from '../comfort/typed/sync-typed-table.js'
export type { TypedGetOptions, TypedScanOptions } from '../comfort/typed/typed-reads.js'
export {
  TypedTable,
  type TypedPage,
  type TypedPageOptions,
  type TypedVersion,
} from '../comfort/typed/typed-table.js'
export type { CounterName } from '../comfort/typed/counters.js'
export type {
  ColumnInput,
  EncodingIn,
  SchemaIn,
  ValueIn,
  ColumnOption,
  ColumnOptions,
  ColumnOutput,
  ColumnsOption,
  TypedColumn,
} from '../comfort/typed/columns.js'
export type {
  ColumnInputs,
  ColumnOutputs,
  ColumnWrite,
  KeyOf,
  OnlyName,
  OnlyValue,
  RowForm,
  RowInput,
  RowOutput,
  RowWrites,
  TypedHandle,
  TypedPutOptions,
} from '../comfort/typed/row-form.js'
export type {
  NoIndexes,
  PartName,
  PartsIn,
  PartValue,
  StoredIn,
  TypedEntryQuery,
  TypedIndex,
  TypedIndexEntry,
  TypedIndexesOption,
  TypedIndexKey,
  TypedIndexOption,
  TypedIndexOptions,
  TypedIndexPart,
  TypedIndexParts,
  TypedIndexQuery,
  TypedIndexRange,
} from '../comfort/typed/typed-indexes.js'
export type { SchemaInput, SchemaOutput, StandardSchema } from '../comfort/typed/standard-schema.js'
export { project, type ProjectionOptions } from '../comfort/projections/project.js'
export {
  forgetProjection,
  projectionPosition,
  type ProjectionPosition,
} from '../comfort/projections/positions.js'
export type { RowChange, TypedRowChange } from '../comfort/projections/row-change.js'
export {
  transaction,
  Transaction,
  type TransactionOptions,
} from '../comfort/transactions/transaction.js'
export type { RandomBytes } from '../base/random-bytes.js'
export type { DatabaseOptions } from '../storage/engine/options.js'
export type { LastBackup } from '../storage/version/backup-note.js'
export type { RunningJob } from '../storage/engine/reports.js'
export type {
  LatenciesByKind,
  LatencyStatistics,
  SlowOperation,
  TimedOperationName,
} from '../storage/engine/write/operation-times.js'
export type { CutTail } from '../storage/record/record-scan.js'
export type { Recovery } from '../storage/engine/open/recovery.js'
export type { Pressure, PressureState } from '../storage/engine/write/write-pacer.js'
export type { DropCounts } from '../storage/job/job.js'
export type { PolicyName } from '../storage/compaction/choice.js'
export type { PolicyOptions } from '../storage/compaction/choose-policy.js'
export type { FifoOptions } from '../storage/compaction/fifo.js'
export type { LeveledOptions } from '../storage/compaction/leveled.js'
export type { ExploringOptions } from '../storage/compaction/exploring.js'
export type { DateTieredOptions } from '../storage/compaction/date-tiered.js'
export type { LazyLeveledOptions } from '../storage/compaction/lazy-leveled.js'
export type { TieredOptions } from '../storage/compaction/tiered.js'
export type { HookCounters } from '../storage/coprocessor/job-coprocessors.js'
export type { CellarErrorOptions } from '../base/errors.js'
export type { DirectoryBinding } from '../storage/fs/directory-handle.js'
export type { CompactionSetting } from '../storage/compaction/setting.js'
export * from '../api/filters.js'
export type {
  DeviceSpace,
  DirectoryLock,
  File,
  FileStat,
  FileSystem,
  OpenMode,
} from '../storage/fs/types.js'
export type { SystemCalls } from '../storage/fs/node-file.js'
export { NodeFileSystem } from '../storage/fs/node-fs.js'
export { MemoryFileSystem } from '../storage/fs/memory-fs.js'
