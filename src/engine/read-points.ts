/** The read points that are open, so that flushes and compactions keep what they can see. */
import { assert } from '../base/assert.js'

export class ReadPoints {
  private readonly counts = new Map<number, number>()

  /** Number of open read points. */
  get size(): number {
    let total = 0
    for (const count of this.counts.values()) total += count
    return total
  }

  /** Opens a read point. */
  add(sequence: number): void {
    this.counts.set(sequence, (this.counts.get(sequence) ?? 0) + 1)
  }

  /** Closes a read point. REQUIRES that it is open. */
  remove(sequence: number): void {
    const count = this.counts.get(sequence)
    assert(count !== undefined, 'a read point is closed more often than it was opened')
    if (count === 1) this.counts.delete(sequence)
    else this.counts.set(sequence, count - 1)
  }

  /** The newest open read point, 0 if none is open. */
  get newest(): number {
    let newest = 0
    for (const sequence of this.counts.keys()) if (sequence > newest) newest = sequence
    return newest
  }

  /** The oldest open read point, or `lastSequence` if none is open. */
  oldest(lastSequence: number): number {
    let oldest = lastSequence
    for (const sequence of this.counts.keys()) if (sequence < oldest) oldest = sequence
    return oldest
  }
}
