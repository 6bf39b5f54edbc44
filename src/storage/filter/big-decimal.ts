/**
 * Decimal numbers of any length, in HBase's stored form (`Bytes.toBytes(BigDecimal)`):
 *
 *   scale(4, signed, big-endian)  unscaled(two's complement, big-endian, at least one byte)
 *
 * The value is `unscaled * 10^-scale`, so 12.50 is scale 2 and unscaled 1250. Equal numbers of
 * different scale (1.5 and 1.50) compare as equal.
 *
 * Damaged or hostile values: at most {@link unscaledBytesMax} bytes are looked at, and no power of
 * ten is computed that is longer than the numbers themselves.
 */
import { shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'

/** A decimal number. */
export interface BigDecimal {
  readonly unscaled: bigint
  readonly scale: number
}

/** Longest stored number in bytes that can be compared: about 2,400 digits. */
const unscaledBytesMax = 1000
const scaleMax = 0x7fff_ffff

/**
 * Parses decimal text such as `-12.50` or `1e-3`, or takes a bigint. Throws `ERR_INVALID_ARGUMENT`.
 */
export function parseBigDecimal(value: string | bigint): BigDecimal {
  if (typeof value === 'bigint') return { unscaled: value, scale: 0 }
  const match =
    typeof value === 'string'
      ? /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,10}))?$/.exec(value)
      : null
  const whole = match?.[2] ?? ''
  const fraction = match?.[3] ?? ''
  const scale = fraction.length - Number(match?.[4] ?? 0)
  const digits = whole + fraction
  if (match === null || digits === '' || digits.length > 2000 || Math.abs(scale) > scaleMax) {
    throw invalidArgument(`bigDecimal must be a decimal number as text, got ${shown(value)}`)
  }
  const magnitude = BigInt(digits)
  return { unscaled: match[1] === '-' ? -magnitude : magnitude, scale }
}

/** Encodes a number in HBase's stored form. Throws `ERR_INVALID_ARGUMENT`. */
export function encodeBigDecimal(value: string | bigint): Buffer {
  const { unscaled, scale } = parseBigDecimal(value)
  let bytes = 1
  while (BigInt.asIntN(8 * bytes, unscaled) !== unscaled) bytes++
  const result = Buffer.alloc(4 + bytes)
  result.writeInt32BE(scale)
  const hex = BigInt.asUintN(8 * bytes, unscaled).toString(16)
  result.write(hex.padStart(2 * bytes, '0'), 4, 'hex')
  return result
}

/** Decodes `source[start, end)`; undefined if the bytes are no such number. */
export function decodeBigDecimal(
  source: Buffer,
  start: number,
  end: number,
): BigDecimal | undefined {
  const bytes = end - start - 4
  if (bytes < 1 || bytes > unscaledBytesMax) return undefined
  const unsigned = BigInt(`0x${source.toString('hex', start + 4, end)}`)
  return { unscaled: BigInt.asIntN(8 * bytes, unsigned), scale: source.readInt32BE(start) }
}

/** Compares two numbers: negative, zero or positive. */
export function compareBigDecimals(a: BigDecimal, b: BigDecimal): number {
  const aSign = signOf(a.unscaled)
  const bSign = signOf(b.unscaled)
  if (aSign !== bSign || aSign === 0) return aSign - bSign
  const aMagnitude = a.unscaled < 0n ? -a.unscaled : a.unscaled
  const bMagnitude = b.unscaled < 0n ? -b.unscaled : b.unscaled
  const aDigits = aMagnitude.toString().length
  const bDigits = bMagnitude.toString().length
  // The position of the leading digit decides. If it is equal, the scales differ by little.
  const leading = aDigits - a.scale - (bDigits - b.scale)
  if (leading !== 0) return leading * aSign
  const difference = a.scale - b.scale
  const left = difference < 0 ? aMagnitude * 10n ** BigInt(-difference) : aMagnitude
  const right = difference > 0 ? bMagnitude * 10n ** BigInt(difference) : bMagnitude
  return left === right ? 0 : left < right ? -aSign : aSign
}

function signOf(value: bigint): number {
  return value === 0n ? 0 : value < 0n ? -1 : 1
}
