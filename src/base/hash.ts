/**
 * A fast non-cryptographic hash of a byte range, as two 32-bit halves, for Bloom filters and hash
 * tables. Plain JavaScript: for short keys the way into WebAssembly costs more than hashing them.
 *
 * The function is an on-disk contract (filters in files depend on it): never change it, make a
 * second one instead. All arithmetic is modulo 2^32; `rotl` rotates left.
 *
 *     P1 = 0x9E3779B1  P2 = 0x85EBCA77  P3 = 0xC2B2AE3D  P4 = 0x27D4EB2F  P5 = 0x165667B1
 *
 *     low = seed + P5, high = seed XOR P4
 *     for each word k: four bytes little-endian, a shorter rest at the end padded with zeros
 *         low  = rotl(low + k * P2, 13) * P1
 *         high = rotl(high XOR k * P3, 17) * P5
 *     low = low XOR length, high = high + length * P1
 *     low = low + high, high = high + low
 *     low  = mix(low, 0x85EBCA6B, 0xC2B2AE35), high = mix(high, 0x7FEB352D, 0x846CA68B)
 *     low = low + high, high = high + low
 *
 *     mix(h, a, b): h ^= h >>> 16, h *= a, h ^= h >>> 13, h *= b, h ^= h >>> 16
 *
 * An attacker who may choose keys can find collisions; take a random seed where that matters.
 */

/** Receives a hash; one instance serves many calls. */
export class Hash64 {
  /** The low half, a *signed* 32-bit integer (those stay out of the heap); `>>> 0` as needed. */
  low = 0
  /** The high half, a signed 32-bit integer. */
  high = 0
}

const P1 = 0x9e3779b1 | 0
const P2 = 0x85ebca77 | 0
const P3 = 0xc2b2ae3d | 0
const P4 = 0x27d4eb2f | 0
const P5 = 0x165667b1 | 0

/** Hashes `source[start, end)` into `result`. The seed is a 32-bit integer. */
export function hashRange(
  source: Buffer,
  start: number,
  end: number,
  result: Hash64,
  seed = 0,
): void {
  let low = (seed + P5) | 0
  let high = seed ^ P4
  let at = start
  for (; at + 4 <= end; at += 4) {
    const word =
      source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24)
    low = (low + Math.imul(word, P2)) | 0
    low = Math.imul((low << 13) | (low >>> 19), P1)
    high ^= Math.imul(word, P3)
    high = Math.imul((high << 17) | (high >>> 15), P5)
  }
  if (at < end) {
    let word = source[at]
    if (at + 1 < end) word |= source[at + 1] << 8
    if (at + 2 < end) word |= source[at + 2] << 16
    low = (low + Math.imul(word, P2)) | 0
    low = Math.imul((low << 13) | (low >>> 19), P1)
    high ^= Math.imul(word, P3)
    high = Math.imul((high << 17) | (high >>> 15), P5)
  }
  const length = end - start
  low ^= length
  high = (high + Math.imul(length, P1)) | 0
  low = (low + high) | 0
  high = (high + low) | 0

  low ^= low >>> 16
  low = Math.imul(low, 0x85ebca6b)
  low ^= low >>> 13
  low = Math.imul(low, 0xc2b2ae35)
  low ^= low >>> 16
  high ^= high >>> 16
  high = Math.imul(high, 0x7feb352d)
  high ^= high >>> 13
  high = Math.imul(high, 0x846ca68b)
  high ^= high >>> 16
  low = (low + high) | 0
  result.low = low
  result.high = (high + low) | 0
}
