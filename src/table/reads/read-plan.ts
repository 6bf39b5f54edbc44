/**
 * Turns the options of a get or scan into queries of single stores.
 *
 * Plans of reads without options, or with string columns only, are cached with the table's state,
 * because hot reads use them. Each read compares its list of columns with the cached lists element
 * by element, so a change of the list by its owner is detected.
 */
import { checkBoolean, checkInteger } from '../../base/arguments.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'
import type { Filter } from '../../storage/filter/filter.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { StoreQuery } from '../../storage/scan/query.js'
import {
  checkFilter,
  groupColumns,
  parseFamilyRanges,
  parseTime,
  parseVersions,
} from '../../checks/reads.js'
import type { ColumnName, ReadOptions } from '../../api/index.js'

/** The read of one family. */
export interface FamilyPlan {
  readonly family: FamilyState
  readonly query: StoreQuery
}

/** The read of a table. */
export interface ReadPlan {
  /** In the order of the families' names. */
  readonly families: readonly FamilyPlan[]
  readonly filter: Filter | undefined
  readonly cacheBlocks: boolean
  /** Whether families that the filter does not need are read only for rows that pass. */
  readonly onDemand: boolean
  /** Maximum number of versions, for callers that read and modify. */
  readonly versions: number
}

/** A cached plan and its columns. */
interface KeptPlan {
  readonly columns: readonly ColumnName[]
  readonly plan: ReadPlan
}

/** The cached plans of one table state. */
export class ReadPlans {
  private readonly table: TableState
  /** Plans by the first column. */
  private readonly known = new Map<ColumnName, KeptPlan[]>()

  constructor(table: TableState) {
    this.table = table
  }

  /** As {@link planRead} of a read that is not raw. */
  plan(options: ReadOptions): ReadPlan {
    const { columns = noColumns } = options
    if (!isPlain(options) || !Array.isArray(columns)) return planRead(this.table, options, false)
    const list: readonly ColumnName[] = columns
    const kept = this.known.get(list[0])
    if (kept !== undefined) {
      for (let i = 0; i < kept.length; i++) {
        if (haveEqualStrings(kept[i].columns, list)) return kept[i].plan
      }
    }
    return this.makePlan(options, list)
  }

  private makePlan(options: ReadOptions, columns: readonly ColumnName[]): ReadPlan {
    // A copy, so that the cached list stays unchanged.
    const list = columns.slice()
    const plan = planRead(this.table, options, false, list)
    if (list.length > columnsMax || !list.every(isName)) return plan
    if (this.known.size >= plansMax) this.known.clear()
    const kept = this.known.get(list[0])
    if (kept === undefined) {
      this.known.set(list[0], [{ columns: list, plan }])
    } else {
      if (kept.length === plansOfFirstMax) kept.shift()
      kept.push({ columns: list, plan })
    }
    return plan
  }
}

const noColumns: readonly ColumnName[] = []

/** Maximum number of first columns, and of plans per first column. */
const plansMax = 1024
const plansOfFirstMax = 8

/** Plans of longer lists are not cached: comparing costs as much as planning. */
const columnsMax = 256

function isName(column: ColumnName): boolean {
  return typeof column === 'string'
}

/** Whether two lists are equal. REQUIRES that the first holds strings only. */
function haveEqualStrings(kept: readonly ColumnName[], columns: readonly ColumnName[]): boolean {
  const { length } = kept
  if (columns.length !== length) return false
  for (let i = 0; i < length; i++) if (kept[i] !== columns[i]) return false
  return true
}

/** Whether a read has no options except columns, apart from explicit defaults. */
function isPlain(options: ReadOptions): boolean {
  const { versions, cacheBlocks, isolation, loadFamiliesOnDemand, cellsPerFamilyOffset } = options
  return (
    (versions === undefined || versions === 1) &&
    (cacheBlocks === undefined || cacheBlocks === true) &&
    (isolation === undefined || isolation === 'READ_COMMITTED') &&
    (loadFamiliesOnDemand === undefined || loadFamiliesOnDemand === false) &&
    (cellsPerFamilyOffset === undefined || cellsPerFamilyOffset === 0) &&
    options.timeRange === undefined &&
    options.timestamp === undefined &&
    options.familyTimeRanges === undefined &&
    options.filter === undefined &&
    options.cellsPerFamilyMax === undefined
  )
}

/** Plans a read; `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. */
export function planRead(
  table: TableState,
  options: ReadOptions,
  raw: boolean,
  columns = options.columns,
): ReadPlan {
  const versions = parseVersions(options.versions)
  const timeRange = parseTime(options)
  const wanted = groupColumns(table, columns, raw)
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

/** The mode of a read with the plan's caching. */
export function withCaching(mode: ReadMode, plan: ReadPlan): ReadMode {
  return plan.cacheBlocks ? mode : { mayBlock: mode.mayBlock, cacheBlocks: false }
}

/** A plan of the newest versions, without a filter. */
export function asPlan(families: readonly FamilyPlan[]): ReadPlan {
  return { families, filter: undefined, cacheBlocks: true, onDemand: false, versions: 1 }
}
