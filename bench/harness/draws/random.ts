/**
 * Seeded random numbers: xoshiro128** (Blackman and Vigna), seeded by splitmix32.
 *
 * All engines of a run draw the same numbers, whatever the platform.
 */

/** A stream of random numbers. */
export interface Random {
  /** 0 to 2^32 - 1. */
  next(): number
  /** 0 (inclusive) to 1 (exclusive), 53 bits. */
  fraction(): number
  /** 0 (inclusive) to `bound` (exclusive); `bound` up to 2^53. */
  below(bound: number): number
}

/** Spreads a 32-bit seed over a state of any length. */
function splitMix(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
}

class Xoshiro implements Random {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: number) {
    const mix = splitMix(seed)
    this.#a = mix()
    this.#b = mix()
    this.#c = mix()
    this.#d = mix() | 1
  }

  next(): number {
    const product = Math.imul(this.#b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9)
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result >>> 0
  }

  fraction(): number {
    return ((this.next() >>> 5) * 67108864 + (this.next() >>> 6)) / 9007199254740992
  }

  below(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }
}

/** A stream that depends on the seed alone. Seed: unsigned 32 bits. */
export function seededRandom(seed: number): Random {
  return new Xoshiro(seed)
}

/**
 * Park and Miller's generator, 16807 mod 2^31 - 1: the one of LevelDB's `db_bench`.
 * Its first number for seed 1 is 16807.
 */
export class ParkMiller implements Random {
  #seed: number

  constructor(seed: number) {
    this.#seed = seed & 0x7fffffff
    if (this.#seed === 0 || this.#seed === 2147483647) this.#seed = 1
  }

  /** 1 to 2^31 - 2. */
  next(): number {
    // Below 2^46: exact as a double.
    this.#seed = (this.#seed * 16807) % 2147483647
    return this.#seed
  }

  fraction(): number {
    return this.next() / 2147483647
  }

  /** `next() % bound`, as db_bench does; `bound` above 2^31 leaves the rest unused. */
  below(bound: number): number {
    return this.next() % bound
  }
}
