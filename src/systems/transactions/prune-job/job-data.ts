/**
 * Plain data between an observer and the cell hooks of its jobs, which run in worker threads: write
 * pointers, and the reports of prunings. Pointers are a sorted array: a transfer is one copy, and a
 * lookup in 32-bit halves allocates no bigint.
 */

/** The members of the context of a job that its report repeats. */
export interface PruneBounds {
  /** `pruneUpperBound` of the transactions of the job; undefined if they are unknown. */
  readonly pruneBound: bigint | undefined
  /** See `PruneState.epoch`. */
  readonly epoch: number
}

/** The report of a hook to the observer after the last cell of a job, or of one part of it. */
export interface PruneJobReport<Counts> extends PruneBounds {
  /** Numbers of cells by outcome. */
  readonly counts: Counts
  /**
   * The smallest invalid pointer that the hook left in the store. Its transaction must stay in the
   * invalid list.
   */
  readonly pointerLeft: bigint | undefined
}

/**
 * A copy of write pointers, ascending; pointers that are not positive are left out. The fastest
 * argument is a `BigInt64Array`, because a million bigints would block the event loop.
 */
export function packPointers(pointers: Iterable<bigint>): BigInt64Array {
  const isTyped = pointers instanceof BigInt64Array || pointers instanceof BigUint64Array
  const sorted = (isTyped ? new BigInt64Array(pointers) : BigInt64Array.from(pointers)).sort()
  return sorted.subarray(sorted.findIndex((pointer) => pointer > 0n) >>> 0)
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

/** Whether a write pointer is in a list; remembers the last answer. */
export class PointerSet {
  /** Each pointer as two words. */
  readonly #words: Uint32Array
  #lastHigh = 0
  #lastLow = 0
  #lastFound = false

  /** REQUIRES an ascending list without 0, which is not a pointer. */
  constructor(pointers: BigInt64Array) {
    const { buffer, byteOffset, length } = pointers
    this.#words = new Uint32Array(buffer, byteOffset, 2 * length)
  }

  /** `high` and `low` are unsigned 32-bit halves. */
  has(high: number, low: number): boolean {
    if (high !== this.#lastHigh || low !== this.#lastLow) {
      this.#lastHigh = high
      this.#lastLow = low
      this.#lastFound = this.#search(high, low)
    }
    return this.#lastFound
  }

  #search(high: number, low: number): boolean {
    const words = this.#words
    const highWord = isLittleEndian ? 1 : 0
    let first = 0
    let last = words.length / 2 - 1
    while (first <= last) {
      const middle = (first + last) >>> 1
      const order = words[2 * middle + highWord] - high || words[2 * middle + 1 - highWord] - low
      if (order === 0) return true
      if (order < 0) first = middle + 1
      else last = middle - 1
    }
    return false
  }
}
