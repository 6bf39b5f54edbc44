/** Evaluates the options of reads in the simplest way. */
import type { ReadOptions, Scan } from '../../../src/api/reads.js'
import { columnOf } from './column-parts.js'
import { binary, compareStrings } from './plain-cells.js'

const latest = 2n ** 63n - 1n

/** The options that gets and scans share, and `raw` of scans. */
export type RowReadOptions = ReadOptions & Pick<Scan, 'raw'>

/** The time range of a family, `[min, max)`. */
export function rangeOf(options: ReadOptions, family: string): [bigint, bigint] {
  const ranges = options.familyTimeRanges ?? {}
  if (Object.hasOwn(ranges, family)) return [BigInt(ranges[family][0]), BigInt(ranges[family][1])]
  if (options.timestamp !== undefined) {
    const timestamp = BigInt(options.timestamp)
    return [timestamp, timestamp + 1n]
  }
  const [min, max] = options.timeRange ?? [0n, latest]
  return [BigInt(min), BigInt(max)]
}

/** The columns to read of a family: none (undefined), all ('all') or some qualifiers. */
export function qualifiersOf(
  options: ReadOptions,
  family: string,
): readonly string[] | 'all' | undefined {
  const { columns = [] } = options
  if (columns.length === 0) return 'all'
  let wanted: string[] | 'all' | undefined
  for (const name of columns) {
    const column = columnOf(name)
    if (column.family !== family) continue
    // As with HBase's addFamily and addColumn the later mention wins.
    if (column.qualifier === undefined) wanted = 'all'
    else if (wanted === undefined || wanted === 'all') wanted = [column.qualifier]
    else wanted.push(column.qualifier)
  }
  return wanted
}

/** Whether a row is within the bounds of a scan. */
export function inBounds(row: string, scan: Scan): boolean {
  if (scan.prefix !== undefined) return row.startsWith(binary(scan.prefix))
  const start = binary(scan.startRow ?? '')
  const stop = binary(scan.stopRow ?? '')
  const direction = scan.reversed ? -1 : 1
  if (start !== '') {
    const order = direction * compareStrings(row, start)
    if (order < 0 || (order === 0 && scan.startInclusive === false)) return false
  }
  if (stop !== '') {
    const order = direction * compareStrings(row, stop)
    if (order > 0 || (order === 0 && scan.stopInclusive !== true)) return false
  }
  return true
}
