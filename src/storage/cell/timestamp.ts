/**
 * Timestamps: 64-bit, milliseconds by convention, 0 to 2^63-1.
 *
 * Callers give `number` or `bigint`. Inside, a timestamp is a pair of unsigned 32-bit halves,
 * because a double is exact only below 2^53 while HBase users write values such as 2^63-5, and
 * because bigints allocate. {@link latestTimestamp} (2^63-1) asks the engine to fill in its clock.
 */
import { shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'

/** A timestamp as callers give it. */
export type Timestamp = number | bigint

/** HBase's LATEST_TIMESTAMP: "the engine fills in the time". */
export const latestTimestamp = 0x7fff_ffff_ffff_ffffn

/** High half of {@link latestTimestamp}. */
export const latestHigh = 0x7fff_ffff
/** Low half of {@link latestTimestamp}. */
export const latestLow = 0xffff_ffff

/** Throws `ERR_INVALID_ARGUMENT` unless `value` is an integer in [0, 2^63-1]. */
export function checkTimestamp(value: Timestamp, what: string): void {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return
    if (value < 0) throw invalidArgument(`${what} is negative: ${value}`)
    throw invalidArgument(`${what} must be a safe integer or a bigint, got ${value}`)
  }
  if (typeof value !== 'bigint') {
    throw invalidArgument(`${what} must be a number or a bigint, got ${typeof value}`)
  }
  if (value < 0n) throw invalidArgument(`${what} is negative: ${shown(value)}`)
  if (value > latestTimestamp) throw invalidArgument(`${what} is above 2^63-1: ${shown(value)}`)
}

/** High 32 bits of a checked timestamp. */
export function timestampHigh(value: Timestamp): number {
  return typeof value === 'number'
    ? Math.floor(value / 0x1_0000_0000)
    : Number((value >> 32n) & 0xffff_ffffn)
}

/** Low 32 bits of a checked timestamp. */
export function timestampLow(value: Timestamp): number {
  return typeof value === 'number' ? value >>> 0 : Number(value & 0xffff_ffffn)
}

/** Below this high half a timestamp is below 2^53. */
const highExactEnd = 0x20_0000

/** Joins two halves exactly. */
export function joinTimestamp(high: number, low: number): bigint {
  // Exact as a double: one bigint instead of four.
  if (high < highExactEnd) return BigInt(high * 0x1_0000_0000 + low)
  return (BigInt(high) << 32n) | BigInt(low)
}

/** Joins two halves to a double: exact below 2^53, rounded above. */
export function approximateTimestamp(high: number, low: number): number {
  return high * 0x1_0000_0000 + low
}

/** Compares two timestamps given in halves: negative, zero or positive. */
export function compareTimestamps(
  aHigh: number,
  aLow: number,
  bHigh: number,
  bLow: number,
): number {
  return aHigh === bHigh ? aLow - bLow : aHigh - bHigh
}

/** A half-open range of timestamps `[min, max)` in halves; `max` 2^63-1 means unbounded. */
export interface TimeRange {
  readonly minHigh: number
  readonly minLow: number
  readonly maxHigh: number
  readonly maxLow: number
}

/** All timestamps. */
export const allTime: TimeRange = { minHigh: 0, minLow: 0, maxHigh: latestHigh, maxLow: latestLow }

/**
 * Makes a time range from its ends; returns {@link allTime} if it holds every timestamp. Throws
 * `ERR_INVALID_ARGUMENT` for an end that is no timestamp, and if `max` is below `min`.
 */
export function makeTimeRange(min: Timestamp, max: Timestamp): TimeRange {
  checkTimestamp(min, 'time range minimum')
  checkTimestamp(max, 'time range maximum')
  if (max < min) throw invalidArgument(`time range maximum ${max} is below its minimum ${min}`)
  const range = {
    minHigh: timestampHigh(min),
    minLow: timestampLow(min),
    maxHigh: timestampHigh(max),
    maxLow: timestampLow(max),
  }
  const startsFirst = range.minHigh === 0 && range.minLow === 0
  const endsLast = range.maxHigh === allTime.maxHigh && range.maxLow === allTime.maxLow
  return startsFirst && endsLast ? allTime : range
}

/** The range that holds exactly one timestamp (HBase: setTimestamp). */
export function singleTimestamp(value: Timestamp): TimeRange {
  checkTimestamp(value, 'timestamp')
  const max = BigInt(value) >= latestTimestamp ? latestTimestamp : BigInt(value) + 1n
  return makeTimeRange(value, max)
}
