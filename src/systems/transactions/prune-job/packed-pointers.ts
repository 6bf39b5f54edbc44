/**
 * Write pointers as plain data for a worker thread: sorted, in 32-bit halves. A transfer is one
 * copy, and a lookup allocates no bigint.
 */

/** Write pointers, ascending and unique, in halves. */
export interface PackedPointers {
  /** Number of pointers. */
  readonly count: number
  /** The upper 32 bits of each pointer. */
  readonly high: Uint32Array
  /** The lower 32 bits of each pointer. */
  readonly low: Uint32Array
}

/** Whether a write pointer is in a list; remembers the last answer. */
export class PointerSet {
  readonly #pointers: PackedPointers
  #lastHigh = 0
  #lastLow = 0
  #lastFound = false

  /** REQUIRES that the list does not contain 0, which is not a pointer. */
  constructor(pointers: PackedPointers) {
    this.#pointers = pointers
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
    const { count, high: highs, low: lows } = this.#pointers
    let first = 0
    let last = count - 1
    while (first <= last) {
      const middle = (first + last) >>> 1
      const order = highs[middle] === high ? lows[middle] - low : highs[middle] - high
      if (order === 0) return true
      if (order < 0) first = middle + 1
      else last = middle - 1
    }
    return false
  }
}
