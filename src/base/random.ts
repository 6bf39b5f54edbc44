/**
 * Randomness is injected: code that needs random numbers takes a {@link Random}, and tests give one
 * with a known seed. Not for secrets.
 */

/** Returns numbers in `[0, 1)`, evenly spread. */
export type Random = () => number

/** A generator that repeats its numbers for equal seeds (32-bit state, 2^32 numbers per period). */
export function seededRandom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 0x1_0000_0000
  }
}
