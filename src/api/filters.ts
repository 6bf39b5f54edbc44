/** The filters of HBase, the filter protocol, and the filter language. */
export type { CellView, EntryRanges } from '../storage/cell/cell-view.js'
export { FilterCode, type CellHint, type Filter, type RowCells } from '../storage/filter/filter.js'
export {
  FamilyFilter,
  QualifierFilter,
  RowFilter,
  ValueFilter,
} from '../storage/filter/compare-filters.js'
export {
  ColumnValueFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  type ColumnCondition,
  type SingleColumnValueOptions,
} from '../storage/filter/single-column-filters.js'
export {
  DependentColumnFilter,
  type DependentColumnOptions,
} from '../storage/filter/dependent-column-filter.js'
export {
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
} from '../storage/filter/row-filters.js'
export { FuzzyRowFilter, type FuzzyPattern } from '../storage/filter/fuzzy-row-filter.js'
export { MultiRowRangeFilter, type RowRange } from '../storage/filter/multi-row-range-filter.js'
export {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
  type ColumnRangeOptions,
} from '../storage/filter/column-range-filters.js'
export {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
} from '../storage/filter/column-count-filters.js'
export { KeyOnlyFilter, TimestampsFilter } from '../storage/filter/cell-filters.js'
export { SkipFilter, WhileMatchFilter, WrappingFilter } from '../storage/filter/wrapping-filters.js'
export { FilterList, type FilterListOperator } from '../storage/filter/filter-list.js'
export { FilterBase, KeyFilter, RowKeyFilter } from '../storage/filter/filter-base.js'
export { encodeBigDecimal } from '../storage/filter/big-decimal.js'
export { parseFilter } from '../storage/filter/parse/parse-filter.js'
export type { FilterOperator } from '../storage/filter/compare.js'
export type { ComparatorOption } from '../storage/filter/comparators.js'
export type { RegularExpressionEngine } from '../storage/filter/regular-expression.js'
export type { Random } from '../base/random.js'
