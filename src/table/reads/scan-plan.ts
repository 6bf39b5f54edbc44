/** Checks the options of a scan and turns them into bounds and store queries. */
import {
  OptionNames,
  checkBoolean,
  checkBytesLike,
  checkInteger,
  checkObject,
  checkSignal,
  countNames,
  shown,
} from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { prefixSuccessor } from '../../base/bytes.js'
import type { TableState } from '../../engine/catalog.js'
import type { RowBounds } from '../../scan/row-scanner.js'
import { planRead, type ReadPlan, type ReadPlans } from './read-plan.js'
import { encodeBound } from '../arguments/row-key.js'
import type { BytesLike, Scan } from '../../api/index.js'

/** A checked scan. */
export interface ScanPlan {
  readonly read: ReadPlan
  readonly bounds: RowBounds
  /** Most rows; Infinity = all. */
  readonly limit: number
  /** Most cells per result; negative = whole rows. */
  readonly batch: number
  /** Bytes after which a result is cut; Infinity = never. */
  readonly bytesMax: number
  /** Say where the scan is when nothing comes. */
  readonly needCursorResult: boolean
  /** Ends the scan. */
  readonly signal: AbortSignal | undefined
}

const scanNames = new OptionNames<Scan>('a scan', {
  columns: true,
  versions: true,
  timeRange: true,
  timestamp: true,
  familyTimeRanges: true,
  filter: true,
  cellsPerFamilyMax: true,
  cellsPerFamilyOffset: true,
  cacheBlocks: true,
  snapshot: true,
  isolation: true,
  loadFamiliesOnDemand: true,
  startRow: true,
  startInclusive: true,
  stopRow: true,
  stopInclusive: true,
  prefix: true,
  reversed: true,
  limit: true,
  batch: true,
  maxResultBytes: true,
  allowPartialResults: true,
  needCursorResult: true,
  caching: true,
  readType: true,
  asyncPrefetch: true,
  raw: true,
  signal: true,
})

/**
 * Plans a scan; `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. `plans` keeps those of simple
 * reads.
 */
export function planScan(table: TableState, scan: Scan, plans?: ReadPlans): ScanPlan {
  checkNames(scan)
  checkFlags(scan)
  checkHints(scan)
  const limit = checkInteger(scan.limit, 'limit', 1) ?? Infinity
  const batch = checkInteger(scan.batch, 'batch', 1) ?? -1
  const read =
    plans === undefined || scan.raw === true
      ? planRead(table, scan, scan.raw ?? false)
      : plans.plan(scan)
  if (batch > 0 && read.filter?.hasFilterRow === true) {
    throw invalidArgument('batch cannot be combined with a filter that judges whole rows')
  }
  const bytes = checkInteger(scan.maxResultBytes, 'maxResultBytes', 1) ?? Infinity
  const cut = scan.allowPartialResults === true && read.filter?.hasFilterRow !== true
  const bytesMax = cut ? bytes : Infinity
  const needCursorResult = scan.needCursorResult ?? false
  return {
    read,
    bounds: planBounds(scan),
    limit,
    batch,
    bytesMax,
    needCursorResult,
    signal: checkSignal(scan.signal),
  }
}

/** Scans of the usual names are only counted, which costs less than to look each name up. */
function checkNames(scan: Scan): void {
  checkObject(scan, 'scan')
  let usual = 0
  if (scan.startRow !== undefined) usual++
  if (scan.stopRow !== undefined) usual++
  if (scan.prefix !== undefined) usual++
  if (scan.limit !== undefined) usual++
  if (scan.columns !== undefined) usual++
  if (countNames(scan) !== usual) scanNames.check(scan)
}

const readTypes: readonly string[] = ['DEFAULT', 'STREAM', 'PREAD']

/** One by one: a loop over names would look each of them up by its text. */
function checkFlags(scan: Scan): void {
  checkBoolean(scan.startInclusive, 'startInclusive', false)
  checkBoolean(scan.stopInclusive, 'stopInclusive', false)
  checkBoolean(scan.reversed, 'reversed', false)
  checkBoolean(scan.raw, 'raw', false)
  checkBoolean(scan.allowPartialResults, 'allowPartialResults', false)
  checkBoolean(scan.needCursorResult, 'needCursorResult', false)
  checkBoolean(scan.asyncPrefetch, 'asyncPrefetch', false)
}

/** What has no effect must still make sense. */
function checkHints(scan: Scan): void {
  checkInteger(scan.caching, 'caching', 1)
  const { readType } = scan
  if (readType !== undefined && !readTypes.includes(readType)) {
    throw invalidArgument(`readType must be DEFAULT, STREAM or PREAD, got ${shown(readType)}`)
  }
}

function planBounds(scan: Scan): RowBounds {
  const reversed = scan.reversed ?? false
  if (scan.prefix !== undefined) return prefixBounds(scan, scan.prefix, reversed)
  return {
    start: encodeBound(scan.startRow, 'startRow'),
    startInclusive: scan.startInclusive ?? true,
    stop: encodeBound(scan.stopRow, 'stopRow'),
    stopInclusive: scan.stopInclusive ?? false,
    reversed,
  }
}

/** A prefix means the same rows in both directions, unlike HBase's helper (spec 2.6). */
function prefixBounds(scan: Scan, prefix: BytesLike, reversed: boolean): RowBounds {
  if (scan.startRow !== undefined || scan.stopRow !== undefined) {
    throw invalidArgument('give prefix or startRow and stopRow, not both')
  }
  checkBytesLike(prefix, 'prefix')
  const bytes = typeof prefix === 'string' ? Buffer.from(prefix, 'utf8') : prefix
  const first = encodeBound(bytes, 'prefix')
  const behind = encodeBound(prefixSuccessor(bytes), 'prefix')
  return reversed
    ? { start: behind, startInclusive: false, stop: first, stopInclusive: true, reversed }
    : { start: first, startInclusive: true, stop: behind, stopInclusive: false, reversed }
}
