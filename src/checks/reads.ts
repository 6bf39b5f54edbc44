/** Checks the options that gets and scans share, for every backend. */
import { noSuchFamily } from '../api/names.js'
import { checkArray, checkObject, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import { parseColumn, type ColumnName } from '../storage/cell/column-name.js'
import {
  allTime,
  makeTimeRange,
  singleTimestamp,
  type TimeRange,
} from '../storage/cell/timestamp.js'
import type { Filter } from '../storage/filter/filter.js'
import {
  getOptions,
  type Get,
  type ReadOptions,
  type Snapshot,
  type TimeRangeOption,
} from '../api/reads.js'
import { checkForm } from './forms.js'

/** The facts about a table that checks of reads need. */
export interface FamiliesOfTable {
  readonly name: string
  readonly familyByName: { has(family: string): boolean }
  readonly familyNames: Iterable<string>
}

/** The number of versions that HBase's readAllVersions sets. */
const allVersions = 2_147_483_647

/** Checks that a get is an object with a row, without unknown members. */
export function checkGet(get: Get): void {
  getOptions.checkNames(checkForm(get, 'get'))
}

/** The largest number of versions of a column; 'all' becomes a number too. */
export function parseVersions(versions: ReadOptions['versions']): number {
  if (versions === undefined) return 1
  if (versions === 'all') return allVersions
  if (typeof versions !== 'number' || !Number.isInteger(versions) || versions < 1) {
    throw invalidArgument(`versions must be an integer >= 1 or 'all', got ${shown(versions)}`)
  }
  return versions
}

/** Parses a time range `[min, max)`; undefined = all time. */
export function parseTimeRange(range: TimeRangeOption | undefined): TimeRange {
  if (range === undefined) return allTime
  if (!Array.isArray(range) || range.length !== 2) {
    throw invalidArgument('timeRange must be an array [min, max) of two timestamps')
  }
  return makeTimeRange(range[0], range[1])
}

/** The time range of a read: a range, one timestamp, or all time. */
export function parseTime(options: ReadOptions): TimeRange {
  if (options.timestamp === undefined) return parseTimeRange(options.timeRange)
  if (options.timeRange !== undefined) {
    throw invalidArgument('give timestamp or timeRange, not both')
  }
  return singleTimestamp(options.timestamp)
}

/** Time ranges of single families, by name of the family. */
export function parseFamilyRanges(
  table: FamiliesOfTable,
  ranges: ReadOptions['familyTimeRanges'],
): Map<string, TimeRange> {
  const parsed = new Map<string, TimeRange>()
  if (ranges === undefined) return parsed
  checkObject(ranges, 'familyTimeRanges')
  for (const [family, range] of Object.entries(ranges)) {
    if (!table.familyByName.has(family)) throw noSuchFamily(family, table.name, table.familyNames)
    parsed.set(family, parseTimeRange(range))
  }
  return parsed
}

/**
 * Columns by family, escaped and sorted; undefined = all columns. As with HBase's addFamily and
 * addColumn, the later mention wins: a column narrows a family named before, and a family widens.
 */
export function groupColumns(
  table: FamiliesOfTable,
  columns: readonly ColumnName[] | undefined,
  raw: boolean,
): Map<string, readonly Buffer[] | undefined> | undefined {
  if (columns === undefined) return undefined
  const list = checkArray(columns, 'columns', "['f:q', 'g']")
  if (list.length === 0) return undefined
  const wanted = new Map<string, Buffer[] | undefined>()
  for (const column of list) {
    const { family, escapedQualifier } = parseColumn(column)
    if (!table.familyByName.has(family)) {
      throw noSuchFamily(family, table.name, table.familyNames, escapedQualifier === undefined)
    }
    if (escapedQualifier === undefined) {
      wanted.set(family, undefined)
      continue
    }
    if (raw) throw invalidArgument('a raw scan cannot be narrowed to columns, only to families')
    const list = wanted.get(family)
    if (list === undefined) wanted.set(family, [escapedQualifier])
    else if (!list.some((known) => known.equals(escapedQualifier))) list.push(escapedQualifier)
  }
  for (const list of wanted.values()) list?.sort((a, b) => Buffer.compare(a, b))
  return wanted
}

/** Checks that an optional filter is one. */
export function checkFilter(filter: Filter | undefined): void {
  if (filter === undefined) return
  if (typeof filter !== 'object' || filter === null || typeof filter.filterCell !== 'function') {
    const hint =
      typeof filter === 'string'
        ? 'parseFilter makes one of its text'
        : "such as new PrefixFilter('r')"
    throw invalidArgument(`filter must be a Filter object, got ${shown(filter)}; ${hint}`)
  }
}

/** Checks the isolation level of a read. A snapshot cannot be read uncommitted. */
export function checkIsolation(isolation: unknown, snapshot: Snapshot | undefined): void {
  if (isolation !== 'READ_COMMITTED' && isolation !== 'READ_UNCOMMITTED') {
    const known = "'READ_COMMITTED' or 'READ_UNCOMMITTED'"
    throw invalidArgument(`isolation must be ${known}, got ${shown(isolation)}`)
  }
  if (isolation === 'READ_UNCOMMITTED' && snapshot !== undefined) {
    throw invalidArgument('a snapshot cannot be read uncommitted')
  }
}
