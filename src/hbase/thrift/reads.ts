/** Gets and scans as structs of the Thrift2 service. Options that it lacks are refused. */
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { checkArray, checkBoolean, checkInteger, checkObject } from '../../base/arguments.js'
import type { Filter, Get, ReadOptions, Scan } from '../../api/index.js'
import {
  checkFilter,
  checkGet,
  checkIsolation,
  parseTime,
  parseTimeRange,
  parseVersions,
} from '../../checks/reads.js'
import { rowBytes } from '../../checks/rows.js'
import { unescape } from '../../storage/cell/cell-key.js'
import { parseColumn, type ColumnName } from '../../storage/cell/column-name.js'
import { joinTimestamp, type TimeRange } from '../../storage/cell/timestamp.js'
import { textOfFilter } from '../../storage/filter/parse/parse-filter.js'
import { notInThrift } from './refusals.js'
import type { Struct } from './wire/structs.js'

/** A read as a struct, and the families that it names. */
export interface ReadStruct {
  readonly struct: Struct
  readonly families: readonly string[]
}

/** A get as a struct. */
export function getStruct(get: Get): ReadStruct {
  checkGet(get)
  const row = rowBytes(get.row)
  const { columns, families } = columnStructs(get.columns)
  if (get.familyTimeRanges !== undefined) throw notInThrift('familyTimeRanges')
  checkCommon(get)
  const existenceOnly = checkBoolean(get.checkExistenceOnly, 'checkExistenceOnly', false)
  const struct = {
    row,
    columns,
    timeRange: rangeStruct(parseTime(get)),
    maxVersions: parseVersions(get.versions),
    cacheBlocks: checkBoolean(get.cacheBlocks, 'cacheBlocks', true),
    storeLimit: checkInteger(get.cellsPerFamilyMax, 'cellsPerFamilyMax', 0),
    storeOffset: checkInteger(get.cellsPerFamilyOffset, 'cellsPerFamilyOffset', 0),
    existenceOnly: existenceOnly || undefined,
    ...filterMember(get.filter),
  }
  return { struct, families }
}

const readTypes = { DEFAULT: 1, STREAM: 2, PREAD: 3 } as const

/** A scan without its rows as a struct. */
export function scanStruct(scan: Scan): ReadStruct {
  const { columns, families } = columnStructs(scan.columns)
  if (scan.cellsPerFamilyMax !== undefined || scan.cellsPerFamilyOffset !== undefined) {
    throw notInThrift('cellsPerFamily')
  }
  if (scan.allowPartialResults === true && scan.maxResultBytes !== undefined) {
    throw notInThrift('maxResultBytes')
  }
  checkInteger(scan.maxResultBytes, 'maxResultBytes', 1)
  checkCommon(scan)
  const ranges = Object.entries(checkObject(scan.familyTimeRanges ?? {}, 'familyTimeRanges'))
  const byFamily = new Map(
    ranges.map(([family, range]) => {
      const name = Buffer.from(family, 'utf8').toString('latin1')
      return [name, fullRange(parseTimeRange(range))] as const
    }),
  )
  const struct = {
    columns,
    caching: scan.caching,
    maxVersions: parseVersions(scan.versions),
    timeRange: rangeStruct(parseTime(scan)),
    cacheBlocks: checkBoolean(scan.cacheBlocks, 'cacheBlocks', true),
    readType: scan.readType === undefined ? undefined : readTypes[scan.readType],
    reversed: scan.reversed,
    familyTimeRanges: byFamily.size === 0 ? undefined : byFamily,
    ...filterMember(scan.filter),
  }
  return { struct, families: [...families, ...ranges.map(([family]) => family)] }
}

function checkCommon(options: ReadOptions): void {
  checkFilter(options.filter)
  checkIsolation(options.isolation ?? 'READ_COMMITTED', options.snapshot)
  checkBoolean(options.loadFamiliesOnDemand, 'loadFamiliesOnDemand', false)
  if (options.snapshot !== undefined) throw invalidArgument('the snapshot is of another database')
  if (options.isolation === 'READ_UNCOMMITTED') throw notInThrift('uncommitted')
}

/**
 * The member of a get or scan for its filter: its text in HBase's language, which the gateway
 * parses. A filter object has no text, unless `parseFilter` made it. `ERR_UNSUPPORTED`.
 */
function filterMember(filter: Filter | undefined): Struct {
  if (filter === undefined) return {}
  const text = textOfFilter(filter)
  if (text !== undefined) return { filterString: text }
  const message =
    "a filter object needs the capability 'filters', which this backend lacks; " +
    'filters of parseFilter can be sent: parseFilter("PrefixFilter(\'a\')")'
  throw new CellarError(ErrorCode.unsupported, message)
}

/** Columns as structs; undefined = all. The later mention wins, as `ReadOptions.columns` says. */
function columnStructs(columns: readonly ColumnName[] | undefined): {
  columns: Struct[] | undefined
  families: readonly string[]
} {
  const list = columns === undefined ? [] : checkArray(columns, 'columns', "['f:q', 'g']")
  const wanted = new Map<string, Map<string, Struct> | Struct>()
  for (const column of list) {
    const { family, escapedQualifier } = parseColumn(column)
    if (escapedQualifier === undefined) {
      wanted.set(family, { family })
      continue
    }
    const known = wanted.get(family)
    const ofFamily = known instanceof Map ? known : new Map<string, Struct>()
    wanted.set(family, ofFamily)
    const qualifier = unescape(escapedQualifier, 0, escapedQualifier.length)
    ofFamily.set(qualifier.toString('latin1'), { family, qualifier })
  }
  const structs = [...wanted.values()].flatMap((each) =>
    each instanceof Map ? [...each.values()] : [each],
  )
  return { columns: structs.length === 0 ? undefined : structs, families: [...wanted.keys()] }
}

function rangeStruct(range: TimeRange): Struct | undefined {
  const { minStamp, maxStamp } = fullRange(range)
  const isAll = minStamp === 0n && maxStamp === 0x7fff_ffff_ffff_ffffn
  return isAll ? undefined : { minStamp, maxStamp }
}

function fullRange({ minHigh, minLow, maxHigh, maxLow }: TimeRange): {
  minStamp: bigint
  maxStamp: bigint
} {
  return { minStamp: joinTimestamp(minHigh, minLow), maxStamp: joinTimestamp(maxHigh, maxLow) }
}
