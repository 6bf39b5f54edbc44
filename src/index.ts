/** Cellar: an embedded wide-column store for Node. The public entry of the package `cellardb`. */
export {
  Database,
  type CompactOptions,
  type DatabaseEvents,
  type OpenOptions,
} from './table/database.js'
export type { DatabaseStatistics, TableStatistics } from './table/admin/statistics.js'
export {
  Admin,
  type BulkLoaded,
  type BulkLoadOptions,
  type CompactionWatch,
  type SnapshotDescription,
} from './table/admin.js'
export {
  BulkWriter,
  type BulkSummary,
  type BulkWriterOptions,
} from './table/transfer/bulk-writer.js'
export type { ExportOptions, TransferProgress } from './table/transfer/export-table.js'
export type { Imported, ImportOptions } from './table/transfer/import-table.js'
export type { NamespaceDescription } from './table/admin/namespaces.js'
export { EmbeddedTable } from './table/embedded-table.js'
export type { AggregateRequest } from './table/observers/endpoints.js'
export {
  AsyncRows,
  BatchError,
  CellarError,
  CellDecision,
  CoprocessorPriority,
  encodings,
  ErrorCode,
  readPage,
  Result,
  ResultScanner,
  SyncResultScanner,
  SyncRows,
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
export type { CompactionSetting } from './compaction/setting.js'
export {
  type CellView,
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
  DependentColumnFilter,
  type DependentColumnOptions,
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
  FuzzyRowFilter,
  MultiRowRangeFilter,
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
  KeyOnlyFilter,
  TimestampsFilter,
  SkipFilter,
  WhileMatchFilter,
  FilterList,
  type FilterListOperator,
  FilterBase,
  encodeBigDecimal,
  parseFilter,
  type FilterOperator,
  type ComparatorOption,
} from './api/filters.js'
export type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './fs/types.js'
export { NodeFileSystem } from './fs/node-fs.js'
export { MemoryFileSystem } from './fs/memory-fs.js'
