/** The filters that the filter language knows, by name (HBase: ParseFilter). */
import { KeyOnlyFilter, TimestampsFilter } from '../cell-filters.js'
import {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
} from '../column-count-filters.js'
import {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
} from '../column-range-filters.js'
import { FamilyFilter, QualifierFilter, RowFilter, ValueFilter } from '../compare-filters.js'
import { DependentColumnFilter } from '../dependent-column-filter.js'
import type { Filter } from '../filter.js'
import type { FilterArguments } from './filter-arguments.js'
import { InclusiveStopFilter, PageFilter, PrefixFilter } from '../row-filters.js'
import {
  ColumnValueFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  type ColumnCondition,
  type SingleColumnValueOptions,
} from '../single-column-filters.js'

type MakeFilter = (given: FilterArguments) => Filter

function takeCondition(given: FilterArguments, column = given.column()): ColumnCondition {
  return { column, operator: given.operator(), value: given.comparator() }
}

function takeSingleColumn(given: FilterArguments): SingleColumnValueOptions {
  const condition = takeCondition(given)
  if (given.left === 0) return condition
  const filterIfMissing = given.boolean('filterIfMissing')
  return { ...condition, filterIfMissing, latestVersionOnly: given.boolean('latestVersionOnly') }
}

/** Makers by name of the filter. Each takes its arguments; the parser checks that none is left. */
const makers: Readonly<Record<string, MakeFilter>> = {
  KeyOnlyFilter: (given) => {
    return new KeyOnlyFilter({ lengthAsValue: given.left > 0 && given.boolean('lengthAsValue') })
  },
  FirstKeyOnlyFilter: () => new FirstKeyOnlyFilter(),
  PrefixFilter: (given) => new PrefixFilter(given.bytes('a prefix')),
  ColumnPrefixFilter: (given) => new ColumnPrefixFilter(given.bytes('a prefix')),
  MultipleColumnPrefixFilter: (given) => {
    const prefixes = [given.bytes('a prefix')]
    while (given.left > 0) prefixes.push(given.bytes('a prefix'))
    return new MultipleColumnPrefixFilter(prefixes)
  },
  ColumnCountGetFilter: (given) => new ColumnCountGetFilter(given.integer('a limit')),
  PageFilter: (given) => new PageFilter(given.integer('a number of rows')),
  ColumnPaginationFilter: (given) => {
    return new ColumnPaginationFilter(given.integer('a limit'), given.integer('an offset'))
  },
  InclusiveStopFilter: (given) => new InclusiveStopFilter(given.bytes('a row')),
  TimestampsFilter: (given) => {
    const timestamps: bigint[] = []
    while (given.left > 0) timestamps.push(given.timestamp())
    return new TimestampsFilter(timestamps)
  },
  RowFilter: (given) => new RowFilter(given.operator(), given.comparator()),
  FamilyFilter: (given) => new FamilyFilter(given.operator(), given.comparator()),
  QualifierFilter: (given) => new QualifierFilter(given.operator(), given.comparator()),
  ValueFilter: (given) => new ValueFilter(given.operator(), given.comparator()),
  ColumnRangeFilter: (given) => {
    const min = given.bytes('a first qualifier')
    const minInclusive = given.boolean('minInclusive')
    const max = given.bytes('a last qualifier')
    const maxInclusive = given.boolean('maxInclusive')
    // In the filter language an empty bound is open.
    const bound = (bytes: Buffer): Buffer | undefined => (bytes.length === 0 ? undefined : bytes)
    return new ColumnRangeFilter({ min: bound(min), minInclusive, max: bound(max), maxInclusive })
  },
  SingleColumnValueFilter: (given) => new SingleColumnValueFilter(takeSingleColumn(given)),
  SingleColumnValueExcludeFilter: (given) => {
    return new SingleColumnValueExcludeFilter(takeSingleColumn(given))
  },
  DependentColumnFilter: (given) => {
    const column = given.column()
    const dropDependentColumn = given.left > 0 && given.boolean('dropDependentColumn')
    if (given.left === 0) return new DependentColumnFilter({ column, dropDependentColumn })
    return new DependentColumnFilter({ ...takeCondition(given, column), dropDependentColumn })
  },
  ColumnValueFilter: (given) => new ColumnValueFilter(takeCondition(given)),
}

/** {@link makers} as a map, which has no inherited names. */
export const filterMakers: ReadonlyMap<string, MakeFilter> = new Map(Object.entries(makers))
