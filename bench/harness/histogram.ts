/**
 * A histogram of durations with a relative error below 1.6 %: 64 steps for each doubling, as in
 * HdrHistogram.
 */

/** Steps per doubling, as a power of two. */
const stepBits = 6
const steps = 1 << stepBits
/** Doublings above the first `steps` values: durations up to 2^47 ns, more than a day. */
const doublings = 42

/** Counts durations in whole nanoseconds. */
export class Histogram {
  readonly #counts = new Float64Array(steps * (doublings + 1))
  #count = 0
  #max = 0

  /** Number of recorded durations. */
  get count(): number {
    return this.#count
  }

  /** The longest, in nanoseconds; 0 if there is none. */
  get max(): number {
    return this.#max
  }

  /** Records a duration in nanoseconds; fractions are cut, negative ones count as 0. */
  record(nanoseconds: number): void {
    const value = nanoseconds > 0 ? Math.floor(nanoseconds) : 0
    this.#counts[slotOf(value)]++
    this.#count++
    if (value > this.#max) this.#max = value
  }

  /** Adds all that another one has recorded. */
  add(other: Histogram): void {
    for (let slot = 0; slot < this.#counts.length; slot++) this.#counts[slot] += other.#counts[slot]
    this.#count += other.#count
    this.#max = Math.max(this.#max, other.#max)
  }

  /** The duration that `part` (0 to 1) of all do not exceed, in nanoseconds; 0 if there is none. */
  quantile(part: number): number {
    const wanted = Math.max(1, Math.ceil(part * this.#count))
    let seen = 0
    for (let slot = 0; slot < this.#counts.length; slot++) {
      seen += this.#counts[slot]
      if (seen >= wanted) return Math.min(upperEndOf(slot), this.#max)
    }
    return this.#max
  }
}

/** Values below `steps` have a slot of their own; above, the top bits choose it. */
function slotOf(value: number): number {
  if (value < steps) return value
  // Exact for integers below 2^53, unlike Math.log2.
  let doubling = 0
  let rest = value
  while (rest >= 2 ** 31) {
    rest = Math.floor(rest / 2)
    doubling++
  }
  const shift = 31 - Math.clz32(rest) - stepBits
  doubling += shift
  const slot = (doubling + 1) * steps + ((rest >>> shift) - steps)
  return Math.min(slot, steps * (doublings + 1) - 1)
}

/** The largest value of a slot. */
function upperEndOf(slot: number): number {
  if (slot < steps) return slot
  const doubling = Math.floor(slot / steps) - 1
  const top = steps + (slot % steps)
  return (top + 1) * 2 ** doubling - 1
}
