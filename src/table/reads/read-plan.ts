/**
 * Turns the options of a get or scan into queries of single stores.
 *
 * Plans of reads that name nothing, or one column and nothing else, are kept by whoever keeps the
 * table's state, because they are what hot reads use.
 */
import { checkArray, checkBoolean, checkInteger, checkObject, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { allTime, makeTimeRange, singleTimestamp, type TimeRange } from '../../cell/timestamp.js'
import type { FamilyState, TableState } from '../../engine/catalog.js'
import type { Filter } from '../../filter/filter.js'
import type { ReadMode } from '../../store/store-reader.js'
import type { StoreQuery } from '../../scan/query.js'
import { parseColumn } from '../../cell/column-name.js'
import { noSuchFamily } from '../arguments/column-name.js'
import type { ColumnName, ReadOptions, TimeRangeOption } from '../../api/index.js'

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
  /**
   * What a `PlainRowReader` can read: the newest version of everything, or of one column; undefined
   * if the read asks for anything else. Decided by the queries, whatever the spelling.
   */
  readonly plain: PlainRead | undefined
}

/** The newest version of everything or, with a qualifier (escaped), of one column. */
export interface PlainRead {
  readonly qualifier: Buffer | undefined
}

/** "All versions": what HBase's readAllVersions sets. */
const allVersions = 2_147_483_647

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

/** What a `PlainRowReader` can read of what was asked for; undefined = it cannot. */
export function plainOf(families: readonly FamilyPlan[]): PlainRead | undefined {
  for (let i = 0; i < families.length; i++) {
    const { family, query } = families[i]
    const { columns, filter, timeRange, cellsPerRowMax, cellsPerRowOffset } = query
    const isNewest = Math.min(query.versions, family.store.settings.versions) === 1
    const isLimited = cellsPerRowMax >= 0 || cellsPerRowOffset > 0
    if (!isNewest || isLimited || query.raw || filter !== undefined) return undefined
    if (timeRange !== allTime) return undefined
    if (columns !== undefined && (columns.length !== 1 || families.length > 1)) return undefined
  }
  return families.length === 0 ? newestOfAll : { qualifier: families[0].query.columns?.[0] }
}

const newestOfAll: PlainRead = { qualifier: undefined }

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
  const plain = cacheBlocks ? plainOf(families) : undefined
  return { families, filter: options.filter, cacheBlocks, onDemand, versions, plain }
}

function parseVersions(versions: ReadOptions['versions']): number {
  if (versions === undefined) return 1
  if (versions === 'all') return allVersions
  if (typeof versions !== 'number' || !Number.isInteger(versions) || versions < 1) {
    throw invalidArgument(`versions must be an integer >= 1 or 'all', got ${shown(versions)}`)
  }
  return versions
}

/** Parses a `[min, max)` option. */
export function parseTimeRange(range: TimeRangeOption | undefined): TimeRange {
  if (range === undefined) return allTime
  if (!Array.isArray(range) || range.length !== 2) {
    throw invalidArgument('timeRange must be an array [min, max) of two timestamps')
  }
  return makeTimeRange(range[0], range[1])
}

function parseTime(options: ReadOptions): TimeRange {
  if (options.timestamp === undefined) return parseTimeRange(options.timeRange)
  if (options.timeRange !== undefined) {
    throw invalidArgument('give timestamp or timeRange, not both')
  }
  return singleTimestamp(options.timestamp)
}

function parseFamilyRanges(
  table: TableState,
  ranges: ReadOptions['familyTimeRanges'],
): Map<string, TimeRange> {
  const parsed = new Map<string, TimeRange>()
  if (ranges === undefined) return parsed
  checkObject(ranges, 'familyTimeRanges')
  for (const [family, range] of Object.entries(ranges)) {
    if (!table.familyByName.has(family)) {
      throw noSuchFamily(family, table.name, table.familyNames)
    }
    parsed.set(family, parseTimeRange(range))
  }
  return parsed
}

/**
 * Columns by family, escaped and sorted; undefined = everything. As with HBase's addFamily and
 * addColumn, the later mention wins: a column narrows a family named before it, a family widens.
 */
function groupColumns(
  table: TableState,
  columns: readonly ColumnName[] | undefined,
  raw: boolean,
): Map<string, readonly Buffer[] | undefined> | undefined {
  if (columns === undefined) return undefined
  const list = checkArray(columns, 'columns')
  if (list.length === 0) return undefined
  const wanted = new Map<string, Buffer[] | undefined>()
  for (const column of list) {
    const { family, escapedQualifier } = parseColumn(column)
    if (!table.familyByName.has(family)) throw noSuchFamily(family, table.name, table.familyNames)
    if (escapedQualifier === undefined) {
      wanted.set(family, undefined)
      continue
    }
    if (raw) {
      throw invalidArgument('a raw scan cannot be narrowed to columns, only to families')
    }
    const list = wanted.get(family)
    if (list === undefined) wanted.set(family, [escapedQualifier])
    else if (!list.some((known) => known.equals(escapedQualifier))) list.push(escapedQualifier)
  }
  for (const list of wanted.values()) list?.sort((a, b) => Buffer.compare(a, b))
  return wanted
}

function checkFilter(filter: Filter | undefined): void {
  if (filter === undefined) return
  if (typeof filter !== 'object' || filter === null || typeof filter.filterCell !== 'function') {
    throw invalidArgument('filter must be a Filter object')
  }
}

/** The mode of a read for its plan. */
export function withCaching(mode: ReadMode, plan: ReadPlan): ReadMode {
  return plan.cacheBlocks ? mode : { mayBlock: mode.mayBlock, cacheBlocks: false }
}

/** A plan of the newest versions, without a filter. */
export function asPlan(families: readonly FamilyPlan[]): ReadPlan {
  const plain = plainOf(families)
  return { families, filter: undefined, cacheBlocks: true, onDemand: false, versions: 1, plain }
}
