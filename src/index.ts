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
export type { Clock } from './base/clock.js'
export type { RandomBytes } from './base/random-bytes.js'
export type { DatabaseOptions } from './engine/options.js'
export type { CutTail, Recovery } from './engine/recovery.js'
export type { Pressure, PressureState } from './engine/write-pacer.js'
export type { DropCounts } from './job/job.js'
export type { PolicyName } from './compaction/choice.js'
export type { CompactionSetting } from './compaction/setting.js'
export type { CellView } from './cell/cell-view.js'
export { FilterCode, type CellHint, type Filter, type RowCells } from './filter/filter.js'
export { FamilyFilter, QualifierFilter, RowFilter, ValueFilter } from './filter/compare-filters.js'
export {
  ColumnValueFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
} from './filter/single-column-filters.js'
export { DependentColumnFilter } from './filter/dependent-column-filter.js'
export {
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
} from './filter/row-filters.js'
export { FuzzyRowFilter } from './filter/fuzzy-row-filter.js'
export { MultiRowRangeFilter } from './filter/multi-row-range-filter.js'
export {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
} from './filter/column-range-filters.js'
export {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
} from './filter/column-count-filters.js'
export { KeyOnlyFilter, TimestampsFilter } from './filter/cell-filters.js'
export { SkipFilter, WhileMatchFilter } from './filter/wrapping-filters.js'
export { FilterList } from './filter/filter-list.js'
export { FilterBase } from './filter/filter-base.js'
export { encodeBigDecimal } from './filter/big-decimal.js'
export { parseFilter } from './filter/parse-filter.js'
export type { FilterOperator } from './filter/compare.js'
export type { ComparatorOption } from './filter/comparators.js'
export type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './fs/types.js'
export { NodeFileSystem } from './fs/node-fs.js'
export { MemoryFileSystem } from './fs/memory-fs.js'
