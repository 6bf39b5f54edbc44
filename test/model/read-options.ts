/** What the options of reads mean, as plainly as possible. */
import type { Scan } from '../../src/api/index.js'
import { binary } from '../helpers/plain-cells.js'

const latest = 2n ** 63n - 1n

function compareRows(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The time range of a family, `[min, max)`. */
export function rangeOf(options: Omit<Scan, 'row'>, family: string): [bigint, bigint] {
  const own = options.familyTimeRanges?.[family]
  if (own !== undefined) return [BigInt(own[0]), BigInt(own[1])]
  if (options.timestamp !== undefined) {
    const timestamp = BigInt(options.timestamp)
    return [timestamp, timestamp + 1n]
  }
  const [min, max] = options.timeRange ?? [0n, latest]
  return [BigInt(min), BigInt(max)]
}

/** Whether a scan comes by a row. */
export function inBounds(row: string, scan: Scan): boolean {
  if (scan.prefix !== undefined) return row.startsWith(binary(scan.prefix))
  const start = binary(scan.startRow ?? '')
  const stop = binary(scan.stopRow ?? '')
  const direction = scan.reversed ? -1 : 1
  if (start !== '') {
    const order = direction * compareRows(row, start)
    if (order < 0 || (order === 0 && scan.startInclusive === false)) return false
  }
  if (stop !== '') {
    const order = direction * compareRows(row, stop)
    if (order > 0 || (order === 0 && scan.stopInclusive !== true)) return false
  }
  return true
}
