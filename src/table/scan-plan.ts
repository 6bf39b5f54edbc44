/** Checks the options of a scan and turns them into bounds and store queries. */
import { invalidArgument } from '../base/errors.js'
import { prefixSuccessor } from '../base/bytes.js'
import type { TableState } from '../engine/catalog.js'
import type { RowBounds } from '../scan/row-scanner.js'
import { checkBytesLike } from './column-name.js'
import { parseCount, planRead, type ReadPlan } from './read-plan.js'
import { encodeBound } from './row-key.js'
import type { BytesLike, Scan } from './types.js'

/** A checked scan. */
export interface ScanPlan {
  readonly read: ReadPlan
  readonly bounds: RowBounds
  /** Most rows; Infinity = all. */
  readonly limit: number
  /** Most cells per result; negative = whole rows. */
  readonly batch: number
}

/** Plans a scan; `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. */
export function planScan(table: TableState, scan: Scan): ScanPlan {
  for (const name of ['startInclusive', 'stopInclusive', 'reversed', 'raw'] as const) {
    const value: unknown = scan[name]
    if (value !== undefined && typeof value !== 'boolean') {
      throw invalidArgument(`${name} must be true or false`)
    }
  }
  const limit = parseCount(scan.limit, 'limit', 1) ?? Infinity
  const batch = parseCount(scan.batch, 'batch', 1) ?? -1
  const read = planRead(table, scan, scan.raw ?? false)
  if (batch > 0 && read.filter?.hasFilterRow === true) {
    throw invalidArgument('batch cannot be combined with a filter that judges whole rows')
  }
  return { read, bounds: planBounds(scan), limit, batch }
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
