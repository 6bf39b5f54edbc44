/**
 * Plain data between an observer and the cell hooks of its jobs, which run in worker threads: write
 * pointers, and the reports of prunings. Pointers are sorted, in 32-bit halves: a transfer is one
 * copy, and a lookup allocates no bigint.
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

/** Write pointers, ascending and unique, in halves. */
export interface PackedPointers {
  /** Number of pointers. */
  readonly count: number
  /** The upper 32 bits of each pointer. */
  readonly high: Uint32Array
  /** The lower 32 bits of each pointer. */
  readonly low: Uint32Array
}

/** Packs write pointers in any order; pointers that are not positive are left out. */
export function packPointers(pointers: Iterable<bigint>): PackedPointers {
  if (pointers instanceof BigUint64Array || pointers instanceof BigInt64Array) {
    const packed = splitHalves(pointers)
    if (isAscending(packed)) return packed
  }
  const sorted = BigUint64Array.from(new Set([...pointers].filter((pointer) => pointer > 0n)))
  return splitHalves(sorted.sort())
}

/** The largest of some packed pointers, or undefined if there are none. */
export function largestPointer({ count, high, low }: PackedPointers): bigint | undefined {
  return count === 0 ? undefined : (BigInt(high[count - 1]) << 32n) | BigInt(low[count - 1])
}

/** Allocates no bigint per pointer: a million of them would block the event loop. */
function splitHalves(pointers: BigUint64Array | BigInt64Array): PackedPointers {
  const count = pointers.length
  const words = new Uint32Array(pointers.buffer, pointers.byteOffset, 2 * count)
  const lowWord = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1
  const high = new Uint32Array(count)
  const low = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    low[i] = words[2 * i + lowWord]
    high[i] = words[2 * i + 1 - lowWord]
  }
  return { count, high, low }
}

/** Whether pointers ascend strictly, and all are positive as signed numbers. */
function isAscending({ count, high, low }: PackedPointers): boolean {
  let previousHigh = 0
  let previousLow = 0
  for (let i = 0; i < count; i++) {
    if (high[i] > 0x7fff_ffff) return false
    if (high[i] < previousHigh || (high[i] === previousHigh && low[i] <= previousLow)) return false
    previousHigh = high[i]
    previousLow = low[i]
  }
  return true
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
