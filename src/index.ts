/** Cellar: an embedded wide-column store for Node. The public entry of the package `cellardb`. */
export { Database, type CompactOptions, type OpenOptions } from './table/database.js'
export type { DatabaseEvents } from './table/database-events.js'
export type { BackupOptions, BackupSummary } from './engine/backup.js'
export type { RestoreOptions } from './engine/restore.js'
export type { DatabaseStatistics, TableStatistics } from './table/admin/statistics.js'
export { Admin, type SnapshotDescription } from './table/admin.js'
export type { BulkLoaded, BulkLoadOptions } from './table/admin/bulk-load-options.js'
export type { CompactionWatch, MajorCompaction } from './table/admin/compaction-options.js'
export {
  BulkWriter,
  type BulkSummary,
  type BulkWriterOptions,
} from './table/transfer/bulk-writer.js'
export type { ExportOptions, TransferProgress } from './table/transfer/export-table.js'
export type { Imported, ImportOptions } from './table/transfer/import-table.js'
export type { NamespaceDescription } from './table/admin/namespaces.js'
export type { EmbeddedTable } from './table/embedded-table.js'
export type { AggregateRequest } from './table/observers/endpoints.js'
export type { Admin as BackendAdmin, Database as BackendDatabase } from './api/index.js'
export {
  AsyncRows,
  BatchError,
  CellarError,
  CellDecision,
  columnsOf,
  CoprocessorPriority,
  encodings,
  ErrorCode,
  readPage,
  Result,
  ResultScanner,
  SyncResultScanner,
  SyncRows,
  SyncTypedTable,
  TypedTable,
  typedTable,
} from './api/index.js'
export type * from './api/index.js'
export type { RandomBytes } from './base/random-bytes.js'
export type { DatabaseOptions } from './engine/options.js'
export type {
  LatencyStatistics,
  SlowOperation,
  TimedOperationName,
} from './engine/operation-times.js'
export type { CutTail, Recovery } from './engine/recovery.js'
export type { Pressure, PressureState } from './engine/write-pacer.js'
export type { DropCounts } from './job/job.js'
export type { PolicyName } from './compaction/choice.js'
export type { PolicyOptions } from './compaction/choose-policy.js'
export type { FifoOptions } from './compaction/fifo.js'
export type { LeveledOptions } from './compaction/leveled.js'
export type { ExploringOptions } from './compaction/exploring.js'
export type { FilePick } from './compaction/leveled.js'
export type { DateTieredOptions } from './compaction/date-tiered.js'
export type { LazyLeveledOptions } from './compaction/lazy-leveled.js'
export type { TieredOptions } from './compaction/tiered.js'
export type { HookCounters } from './coprocessor/job-coprocessors.js'
export type { CellarErrorOptions } from './base/errors.js'
export type { DirectoryBinding } from './fs/directory-handle.js'
export type { CompactionSetting } from './compaction/setting.js'
export {
  type CellView,
  type EntryRanges,
  FilterCode,
  type CellHint,
  type Filter,
  type RowCells,
  FamilyFilter,
  QualifierFilter,
  RowFilter,
  ValueFilter,
  ColumnValueFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  type ColumnCondition,
  type SingleColumnValueOptions,
  DependentColumnFilter,
  type DependentColumnOptions,
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
  FuzzyRowFilter,
  type FuzzyPattern,
  MultiRowRangeFilter,
  type RowRange,
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
  type ColumnRangeOptions,
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
  KeyOnlyFilter,
  TimestampsFilter,
  SkipFilter,
  WhileMatchFilter,
  WrappingFilter,
  FilterList,
  type FilterListOperator,
  FilterBase,
  KeyFilter,
  RowKeyFilter,
  encodeBigDecimal,
  parseFilter,
  type FilterOperator,
  type ComparatorOption,
  type RegularExpressionEngine,
  type Random,
} from './api/filters.js'
export type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './fs/types.js'
export { NodeFileSystem, type SystemCalls } from './fs/node-fs.js'
export { MemoryFileSystem } from './fs/memory-fs.js'
