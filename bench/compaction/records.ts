/** Random records as `db_bench fillrandom` writes them: 16 digits, values that halve under LZ4. */
import { seededRandom, type Random } from '../harness/draws/random.js'
import { compressiblePool, ValuePool } from '../harness/draws/values.js'

const valueBytes = 100

/** A stream of keys and values. */
export class RandomRecords {
  readonly #random: Random
  readonly #keys: number
  readonly #values: ValuePool

  /** Keys are below `keys`. */
  constructor(seed: number, keys: number) {
    this.#random = seededRandom(seed)
    this.#keys = keys
    this.#values = new ValuePool(compressiblePool(seed), valueBytes)
  }

  /** 16 digits. */
  key(): string {
    return String(this.#random.below(this.#keys)).padStart(16, '0')
  }

  /** Borrowed from a pool. */
  value(): Buffer {
    return this.#values.next()
  }
}
