/** Checks the options of a scan and turns them into bounds and store queries. */
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { RowBounds } from '../../storage/scan/row-scanner.js'
import { parseBounds } from '../../checks/rows.js'
import { checkScan, parseCuts, parseLimits, type ScanCuts } from '../../checks/scans.js'
import { planRead, type ReadPlan, type ReadPlans } from './read-plan.js'
import { escapeRow } from '../arguments/row-key.js'
import type { Scan } from '../../api/index.js'

/** A checked scan. */
export interface ScanPlan extends ScanCuts {
  readonly read: ReadPlan
  readonly bounds: RowBounds
}

/**
 * Plans a scan; `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. `plans` caches the plans of
 * simple reads.
 */
export function planScan(table: TableState, scan: Scan, plans?: ReadPlans): ScanPlan {
  checkScan(scan)
  const limits = parseLimits(scan)
  const read =
    plans === undefined || scan.raw === true
      ? planRead(table, scan, scan.raw ?? false)
      : plans.plan(scan)
  const { limit, batch, bytesMax, needCursorResult, signal } = parseCuts(scan, limits, read.filter)
  return { read, bounds: planBounds(scan), limit, batch, bytesMax, needCursorResult, signal }
}

function planBounds(scan: Scan): RowBounds {
  const { start, startInclusive, stop, stopInclusive, reversed } = parseBounds(scan)
  return {
    start: start && escapeRow(start),
    startInclusive,
    stop: stop && escapeRow(stop),
    stopInclusive,
    reversed,
  }
}
