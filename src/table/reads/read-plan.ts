/**
 * Turns the options of a get or scan into queries of single stores.
 *
 * Plans of reads that name nothing, or one column and nothing else, are kept by whoever keeps the
 * table's state, because they are what hot reads use.
 */
import { checkBoolean, checkInteger } from '../../base/arguments.js'
import type { FamilyState, TableState } from '../../engine/catalog.js'
import type { Filter } from '../../filter/filter.js'
import type { ReadMode } from '../../store/store-reader.js'
import type { StoreQuery } from '../../scan/query.js'
import {
  checkFilter,
  groupColumns,
  parseFamilyRanges,
  parseTime,
  parseVersions,
} from '../../api/checks/reads.js'
import type { ColumnName, ReadOptions } from '../../api/index.js'

/** What is read of one family. */
export interface FamilyPlan {
  readonly family: FamilyState
  readonly query: StoreQuery
}

/** What is read of a table. */
export interface ReadPlan {
  /** In the order of the families' names. */
  readonly families: readonly FamilyPlan[]
  readonly filter: Filter | undefined
  readonly cacheBlocks: boolean
  /** Families that the filter does not judge by are read only for rows that pass. */
  readonly onDemand: boolean
  /** Versions wanted; for the callers that read and modify. */
  readonly versions: number
}

/** Kept plans of one table state. */
export class ReadPlans {
  private readonly table: TableState
  private readonly known = new Map<string, ReadPlan>()

  constructor(table: TableState) {
    this.table = table
  }

  /** As {@link planRead} of a read that is not raw. */
  plan(options: ReadOptions): ReadPlan {
    const simple = simpleKey(options)
    if (simple === undefined) return planRead(this.table, options, false)
    let plan = this.known.get(simple)
    if (plan === undefined) {
      plan = planRead(this.table, options, false)
      if (this.known.size >= plansMax) this.known.clear()
      this.known.set(simple, plan)
    }
    return plan
  }
}

const plansMax = 1024

/** A key for plans worth keeping, or undefined. What the defaults say need not be said. */
function simpleKey(options: ReadOptions): string | undefined {
  const { versions, cacheBlocks, isolation, loadFamiliesOnDemand, cellsPerFamilyOffset } = options
  if (
    (versions !== undefined && versions !== 1) ||
    (cacheBlocks !== undefined && cacheBlocks !== true) ||
    (isolation !== undefined && isolation !== 'READ_COMMITTED') ||
    (loadFamiliesOnDemand !== undefined && loadFamiliesOnDemand !== false) ||
    (cellsPerFamilyOffset !== undefined && cellsPerFamilyOffset !== 0) ||
    options.timeRange !== undefined ||
    options.timestamp !== undefined ||
    options.familyTimeRanges !== undefined ||
    options.filter !== undefined ||
    options.cellsPerFamilyMax !== undefined
  ) {
    return undefined
  }
  const { columns } = options
  if (columns === undefined) return ''
  if (!Array.isArray(columns) || columns.length > 1) return undefined
  if (columns.length === 0) return ''
  const [column] = columns as readonly ColumnName[]
  return typeof column === 'string' && column !== '' ? column : undefined
}

/** Plans a read; `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. */
export function planRead(table: TableState, options: ReadOptions, raw: boolean): ReadPlan {
  const versions = parseVersions(options.versions)
  const timeRange = parseTime(options)
  const wanted = groupColumns(table, options.columns, raw)
  const cellsPerRowMax = checkInteger(options.cellsPerFamilyMax, 'cellsPerFamilyMax', 0) ?? -1
  const cellsPerRowOffset =
    checkInteger(options.cellsPerFamilyOffset, 'cellsPerFamilyOffset', 0) ?? 0
  const familyRanges = parseFamilyRanges(table, options.familyTimeRanges)
  checkFilter(options.filter)
  const cacheBlocks = checkBoolean(options.cacheBlocks, 'cacheBlocks', true)
  const onDemand = checkBoolean(options.loadFamiliesOnDemand, 'loadFamiliesOnDemand', false)
  const families: FamilyPlan[] = []
  for (const family of table.families) {
    if (wanted !== undefined && !wanted.has(family.name)) continue
    const query: StoreQuery = {
      columns: wanted?.get(family.name),
      versions,
      timeRange: familyRanges.get(family.name) ?? timeRange,
      raw,
      filter: options.filter,
      cellsPerRowMax,
      cellsPerRowOffset,
    }
    families.push({ family, query })
  }
  return { families, filter: options.filter, cacheBlocks, onDemand, versions }
}

/** The mode of a read for its plan. */
export function withCaching(mode: ReadMode, plan: ReadPlan): ReadMode {
  return plan.cacheBlocks ? mode : { mayBlock: mode.mayBlock, cacheBlocks: false }
}

/** A plan of the newest versions, without a filter. */
export function asPlan(families: readonly FamilyPlan[]): ReadPlan {
  return { families, filter: undefined, cacheBlocks: true, onDemand: false, versions: 1 }
}
