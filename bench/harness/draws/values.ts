/** Values cut from a pool of random bytes: making them costs nothing while the clock runs. */
import { ParkMiller, seededRandom, type Random } from './random.js'

/** Values of one size, handed out one after the other or by chance. */
export class ValuePool {
  readonly #values: readonly Buffer[]
  #position = 0

  /** Cuts `pool` in pieces. */
  constructor(pool: Buffer, valueBytes: number) {
    const values: Buffer[] = []
    for (let start = 0; start + valueBytes <= pool.length; start += valueBytes) {
      values.push(pool.subarray(start, start + valueBytes))
    }
    this.#values = values
  }

  /** Number of different values. */
  get size(): number {
    return this.#values.length
  }

  /** The next one, from the start again after the last. */
  next(): Buffer {
    if (this.#position === this.#values.length) this.#position = 0
    return this.#values[this.#position++]
  }

  /** Any one. */
  any(random: Random): Buffer {
    return this.#values[random.below(this.#values.length)]
  }
}

/** What db_bench takes pieces of: at least this many bytes. */
const poolBytes = 1_048_576

/** Bytes of one piece of db_bench's pool. */
const pieceBytes = 100

/**
 * LevelDB's RandomGenerator: pieces of 100 bytes, each of which compresses to half (random
 * printable bytes of half the length, twice), seed 301.
 */
export function compressiblePool(seed = 301): Buffer {
  const random = new ParkMiller(seed)
  const pieces: Buffer[] = []
  for (let bytes = 0; bytes < poolBytes; bytes += pieceBytes) {
    const half = Buffer.alloc(pieceBytes / 2)
    for (let at = 0; at < half.length; at++) half[at] = 0x20 + random.below(95)
    pieces.push(half, half)
  }
  return Buffer.concat(pieces)
}

/** Random printable bytes, as YCSB's RandomByteIterator makes them: six bits each. */
export function printablePool(seed: number, bytes = poolBytes): Buffer {
  const random = seededRandom(seed)
  const pool = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at++) pool[at] = 0x20 + (random.next() & 63)
  return pool
}
