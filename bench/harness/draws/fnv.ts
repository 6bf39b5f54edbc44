/**
 * FNV-1a in 64 bits as YCSB uses it: over the eight octets of a number, lowest first, made
 * positive.
 */

/** 63 bits as two halves. */
export class Hash64 {
  /** 0 to 2^31; 2^31 only for the hash whose absolute value is 2^63. */
  high = 0
  /** 0 to 2^32 - 1. */
  low = 0
}

const offsetHigh = 0xcbf29ce4
const offsetLow = 0x84222325

/** The prime is 2^40 + `primeLow`. */
const primeLow = 0x1b3

const wordSize = 0x1_0000_0000

/**
 * Hashes a non-negative safe integer into `result`. The result is the absolute value of the signed
 * hash, as in YCSB's `Utils.hash`.
 */
export function fnv1a64(value: number, result: Hash64): void {
  let high = offsetHigh
  let low = offsetLow
  let octets = value >>> 0
  const octetsHigh = Math.floor(value / wordSize)
  for (let at = 0; at < 8; at++) {
    if (at === 4) octets = octetsHigh
    low = (low ^ (octets & 0xff)) >>> 0
    octets >>>= 8
    // (high, low) * (2^40 + primeLow) modulo 2^64; every product is below 2^53.
    const product = low * primeLow
    const carry = Math.floor(product / wordSize)
    high = (high * primeLow + carry + low * 256) >>> 0
    low = product >>> 0
  }
  if (high >= 0x8000_0000) {
    // Two's complement.
    low = (~low + 1) >>> 0
    high = (~high >>> 0) + (low === 0 ? 1 : 0)
  }
  result.high = high
  result.low = low
}

/** A hash modulo a divisor below 2^37. */
export function hashModulo({ high, low }: Hash64, divisor: number): number {
  const first = modulo(high, divisor) * 65536 + (low >>> 16)
  return modulo(modulo(first, divisor) * 65536 + (low & 0xffff), divisor)
}

/** The remainder of integers below 2^53: as `%`, which is a slow call for such numbers. */
export function modulo(value: number, divisor: number): number {
  const rest = value - Math.floor(value / divisor) * divisor
  // The quotient is rounded, and so may be one too large.
  return rest < 0 ? rest + divisor : rest
}
