/** The filters of HBase, the filter protocol, and the filter language. */
export type { CellView, EntryRanges } from '../cell/cell-view.js'
export { FilterCode, type CellHint, type Filter, type RowCells } from '../filter/filter.js'
export { FamilyFilter, QualifierFilter, RowFilter, ValueFilter } from '../filter/compare-filters.js'
export {
  ColumnValueFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  type ColumnCondition,
  type SingleColumnValueOptions,
} from '../filter/single-column-filters.js'
export {
  DependentColumnFilter,
  type DependentColumnOptions,
} from '../filter/dependent-column-filter.js'
export {
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
} from '../filter/row-filters.js'
export { FuzzyRowFilter, type FuzzyPattern } from '../filter/fuzzy-row-filter.js'
export { MultiRowRangeFilter, type RowRange } from '../filter/multi-row-range-filter.js'
export {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
  type ColumnRangeOptions,
} from '../filter/column-range-filters.js'
export {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
} from '../filter/column-count-filters.js'
export { KeyOnlyFilter, TimestampsFilter } from '../filter/cell-filters.js'
export { SkipFilter, WhileMatchFilter, WrappingFilter } from '../filter/wrapping-filters.js'
export { FilterList, type FilterListOperator } from '../filter/filter-list.js'
export { FilterBase, KeyFilter, RowKeyFilter } from '../filter/filter-base.js'
export { encodeBigDecimal } from '../filter/big-decimal.js'
export { parseFilter } from '../filter/parse-filter.js'
export type { FilterOperator } from '../filter/compare.js'
export type { ComparatorOption } from '../filter/comparators.js'
export type { RegularExpressionEngine } from '../filter/regular-expression.js'
export type { Random } from '../base/random.js'
