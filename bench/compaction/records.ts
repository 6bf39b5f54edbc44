/** Random records as `db_bench fillrandom` writes them: 16 digits, values that halve under LZ4. */
import { seededRandom, type Random } from '../harness/random.js'

const valueBytes = 100
const poolBytes = 1 << 20

/** A stream of keys and values. */
export class RandomRecords {
  readonly #random: Random
  readonly #keys: number
  readonly #pool: Buffer

  /** Keys are below `keys`. */
  constructor(seed: number, keys: number) {
    this.#random = seededRandom(seed)
    this.#keys = keys
    this.#pool = Buffer.alloc(poolBytes)
    for (let at = 0; at + valueBytes <= poolBytes; at += valueBytes) {
      const half = valueBytes / 2
      for (let i = 0; i < half; i++) this.#pool[at + i] = 32 + this.#random.below(95)
      this.#pool.copy(this.#pool, at + half, at, at + half)
    }
  }

  /** 16 digits. */
  key(): string {
    return String(this.#random.below(this.#keys)).padStart(16, '0')
  }

  /** Borrowed from a pool. */
  value(): Buffer {
    const at = this.#random.below(poolBytes - 2 * valueBytes)
    return this.#pool.subarray(at, at + valueBytes)
  }
}
