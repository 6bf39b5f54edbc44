/** The filter that HBase calls MultiRowRangeFilter. */
import { compareBytes, emptyBytes, prefixSuccessor } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { boolean, checked, declareOptions } from '../../base/options.js'
import type { BytesLike } from '../cell/column-name.js'
import { checkList, copyBytes } from './arguments.js'
import { RowKeyFilter } from './filter-base.js'

/** A range of rows, or all rows with a prefix. */
export type RowRange =
  | {
      /** Absent or empty: from the first row on. */
      readonly start?: BytesLike
      /** Default true. */
      readonly startInclusive?: boolean
      /** Absent or empty: up to and including the last row. */
      readonly stop?: BytesLike
      /** Default false. */
      readonly stopInclusive?: boolean
    }
  | {
      /** Rows that begin with these bytes. */
      readonly prefix: BytesLike
    }

/** The properties of both forms. */
const rangeOptions = declareOptions('a range', {
  start: checked(copyBytes, emptyBytes),
  startInclusive: boolean(true),
  stop: checked(copyBytes, emptyBytes),
  stopInclusive: boolean(false),
  prefix: checked(copyBytes),
})

/** `[start, stop)`; undefined `stop` = open. */
interface HalfOpenRange {
  readonly start: Buffer
  readonly stop: Buffer | undefined
}

/**
 * Returns the rows in any of several ranges, which may overlap and come in any order (HBase:
 * MultiRowRangeFilter). Forward scans jump from range to range. The scan ends after the last range.
 */
export class MultiRowRangeFilter extends RowKeyFilter {
  /** Always true. */
  readonly givesHints = true
  /** Ascending, with gaps between them. */
  private readonly ranges: readonly HalfOpenRange[]
  /** Index of the first range that does not lie before the current row. */
  private index = 0

  /** Throws `ERR_INVALID_ARGUMENT` for an empty list and for ranges that can hold no row. */
  constructor(ranges: readonly RowRange[]) {
    super()
    ranges = checkList(ranges, 'ranges')
    if (ranges.length === 0) throw invalidArgument('ranges is empty')
    this.ranges = mergeRanges(ranges.map(toHalfOpen))
  }

  protected override startScan(): void {
    super.startScan()
    this.index = this.reversed ? this.ranges.length - 1 : 0
  }

  protected override judge(row: Buffer): boolean {
    return this.reversed ? this.judgeReversed(row) : this.judgeForward(row)
  }

  private judgeForward(row: Buffer): boolean {
    const ranges = this.ranges
    while (this.index < ranges.length) {
      const { start, stop } = ranges[this.index]
      if (stop === undefined || Buffer.compare(row, stop) < 0) {
        if (Buffer.compare(row, start) >= 0) return true
        this.jumpTo(start)
        return false
      }
      this.index++
    }
    this.done = true
    return false
  }

  private judgeReversed(row: Buffer): boolean {
    while (this.index >= 0) {
      const { start, stop } = this.ranges[this.index]
      if (Buffer.compare(row, start) >= 0) {
        return stop === undefined || Buffer.compare(row, stop) < 0
      }
      this.index--
    }
    this.done = true
    return false
  }
}

function toHalfOpen(given: RowRange): HalfOpenRange {
  const { start, startInclusive, stop, stopInclusive, prefix } = rangeOptions.read(given)
  if (prefix !== undefined) {
    if (Object.keys(given).length > 1) throw invalidArgument('a range has a prefix or bounds')
    return { start: prefix, stop: prefixSuccessor(prefix) }
  }
  if (stop.length > 0) {
    const order = compareBytes(start, 0, start.length, stop, 0, stop.length)
    if (order > 0 || (order === 0 && !(startInclusive && stopInclusive))) {
      throw invalidArgument(
        `range from '${start.toString()}' to '${stop.toString()}' can hold no row`,
      )
    }
  }
  return {
    start: startInclusive || start.length === 0 ? start : behind(start),
    stop: stop.length === 0 ? undefined : stopInclusive ? behind(stop) : stop,
  }
}

/** The smallest row after a row. */
function behind(row: Buffer): Buffer {
  return Buffer.concat([row, Buffer.of(0)])
}

function mergeRanges(ranges: readonly HalfOpenRange[]): HalfOpenRange[] {
  const sorted = [...ranges].sort((a, b) => Buffer.compare(a.start, b.start))
  const merged: HalfOpenRange[] = []
  for (const range of sorted) {
    const last = merged.at(-1)
    if (last === undefined || (last.stop && Buffer.compare(range.start, last.stop) > 0)) {
      merged.push(range)
    } else if (last.stop !== undefined) {
      const wider = range.stop === undefined || Buffer.compare(range.stop, last.stop) > 0
      if (wider) merged[merged.length - 1] = { start: last.start, stop: range.stop }
    }
  }
  return merged
}
