/**
 * Chooses the SSTables of a store that a read has to consult: a pure function of the sources and
 * the read. False positives are possible, false negatives are not.
 *
 * Left out are SSTables whose key range or Bloom filter excludes the rows, whose sequences are
 * above the read point, or whose timestamps are outside the time range or expired.
 */
import { compareBytes, prefixSuccessor } from '../../base/bytes.js'
import { terminatorBytes, unescape } from '../cell/cell-key.js'
import { escapedPrefixEnd, filterPrefixBytes } from '../cell/row-filter.js'
import { allTime, joinTimestamp } from '../cell/timestamp.js'
import type { RowBounds } from '../scan/row-scanner.js'
import type { StoreRead } from '../scan/store-read.js'
import type { SsTableReader } from '../sstable/reader.js'
import { findTable, type RowProbe } from './row-probe.js'
import type { StoreSources } from './store-sources.js'

/** The parts of a read that exclude SSTables. */
export type ReadTimes = Pick<StoreRead, 'query' | 'settings' | 'readPoint' | 'oldest'>

/** The SSTables of a store, and their levels. */
export type LeveledSources = Pick<StoreSources, 'tables' | 'levelEnds'>

/**
 * Finds the SSTables that may hold the row of `probe`, or one of its columns (escaped; undefined:
 * all), and sets `found` to their indexes, newest first. Returns their number ignoring timestamps.
 */
export function tablesOfRow(
  { tables, levelEnds }: LeveledSources,
  read: ReadTimes,
  probe: RowProbe,
  columns: readonly Buffer[] | undefined,
  found: number[],
): number {
  while (found.length > 0) found.pop()
  const { row, rowLength } = probe
  let ofAnyTime = 0
  for (let level = 0; level < levelEnds.length; level++) {
    const end = levelEnds[level]
    let i = level === 0 ? 0 : levelEnds[level - 1]
    // Below level 0 one SSTable, unless the row continues in the next one.
    if (level > 0) i = findTable(tables, i, end, row, rowLength + terminatorBytes)
    for (; i < end; i++) {
      const table = tables[i]
      if (!probe.isInRange(table)) {
        if (level > 0) break
        continue
      }
      if (!probe.passesFilter(table, columns)) continue
      ofAnyTime++
      if (isInTime(table, read)) found.push(i)
    }
  }
  return ofAnyTime
}

/**
 * Finds the SSTables that may hold rows within bounds, and sets `found` to their indexes, newest
 * first.
 */
export function tablesOfRange(
  { tables, levelEnds }: LeveledSources,
  read: ReadTimes,
  probe: RowProbe,
  bounds: RowBounds,
  found: number[],
): void {
  while (found.length > 0) found.pop()
  const { start, stop, reversed } = bounds
  const first = reversed ? stop : start
  const last = reversed ? start : stop
  for (let level = 0; level < levelEnds.length; level++) {
    const end = levelEnds[level]
    let i = level === 0 ? 0 : levelEnds[level - 1]
    if (level > 0 && first !== undefined) i = findTable(tables, i, end, first, first.length)
    for (; i < end; i++) {
      const table = tables[i]
      if (last !== undefined && !beginsUpTo(table, last)) {
        if (level > 0) break
        continue
      }
      if (level === 0 && first !== undefined && !endsFrom(table, first)) continue
      if (isInTime(table, read) && mayHoldPrefix(table, probe, bounds)) found.push(i)
    }
  }
}

/** Whether an SSTable may have cells that the read sees, by sequences and timestamps. */
export function isInTime({ properties }: SsTableReader, read: ReadTimes): boolean {
  const { query, settings, oldest } = read
  if (properties.minSequence > read.readPoint) return false
  if (query.raw) return true
  const isExpired = oldest > 0 && properties.maxTimestamp < oldest
  if (isExpired && settings.minVersions === 0) return false
  const range = query.timeRange
  if (range === allTime) return true
  if (properties.maxTimestamp < joinTimestamp(range.minHigh, range.minLow)) return false
  // Cells newer than the range still count as versions, or mask cells in the range.
  if (properties.deleteCount > 0 || settings.newVersionBehavior) return true
  return properties.minTimestamp < joinTimestamp(range.maxHigh, range.maxLow)
}

/** Whether an SSTable may hold rows within bounds that share a prefix of the filter's length. */
function mayHoldPrefix(
  table: SsTableReader,
  probe: RowProbe,
  { start, startInclusive, stop, stopInclusive, reversed }: RowBounds,
): boolean {
  const prefixBytes = filterPrefixBytes(table.properties.filterKind)
  if (prefixBytes === 0) return true
  const first = reversed ? stop : start
  const last = reversed ? start : stop
  if (first === undefined || last === undefined) return true
  const end = escapedPrefixEnd(first, 0, first.length, prefixBytes)
  // A bound shorter than the prefix does not determine a prefix for the filter.
  if (unescape(first, 0, end).length < prefixBytes) return true
  const behind = prefixSuccessor(first.subarray(0, end))
  const order = behind === undefined ? -1 : Buffer.compare(last, behind)
  if (order > 0 || (order === 0 && (reversed ? startInclusive : stopInclusive))) return true
  return probe.passesPrefix(table, first, first.length, prefixBytes)
}

/** Whether the last key of an SSTable is at or above a bound. */
function endsFrom({ properties: { lastKey } }: SsTableReader, first: Buffer): boolean {
  return compareBytes(lastKey, 0, lastKey.length, first, 0, first.length) >= 0
}

/** Whether the first row of an SSTable is at or below a bound. */
function beginsUpTo({ properties: { firstKey } }: SsTableReader, last: Buffer): boolean {
  const length = Math.min(firstKey.length, last.length)
  const order = compareBytes(firstKey, 0, length, last, 0, last.length)
  // If all bytes are equal, the first row is `last` only if its terminator follows.
  return order === 0 ? firstKey[length] === 0 && firstKey[length + 1] === 1 : order < 0
}
