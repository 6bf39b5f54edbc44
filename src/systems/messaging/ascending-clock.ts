/**
 * Gives out times and sequences that ascend strictly, whatever the clock does: a clock that stands
 * or steps back goes on with the last millisecond, and a full millisecond goes on with the next.
 */
import type { Place } from './store/stored-batch.js'

/** Largest sequence of a millisecond. */
export const sequenceMax = 0xffff

/** Consecutive places of one millisecond. */
export interface PlaceRange {
  readonly publishTimestamp: number
  readonly firstSequence: number
  readonly count: number
}

export class AscendingClock {
  /** The place that was given out last. */
  timestamp: number
  sequence: number

  /** All places up to `timestamp` count as given out. */
  constructor(timestamp: number) {
    this.timestamp = timestamp
    this.sequence = sequenceMax
  }

  /** Starts a request: a later time starts a new millisecond. */
  advance(now: number): void {
    if (now <= this.timestamp) return
    this.timestamp = now
    this.sequence = -1
  }

  /** The next place, which is not given out yet. */
  peek(): Place {
    return this.sequence === sequenceMax
      ? { publishTimestamp: this.timestamp + 1, sequenceId: 0 }
      : { publishTimestamp: this.timestamp, sequenceId: this.sequence + 1 }
  }

  /** The next places, at least one and at most `count`: those that the millisecond still has. */
  take(count: number): PlaceRange {
    if (this.sequence === sequenceMax) {
      this.timestamp++
      this.sequence = -1
    }
    const firstSequence = this.sequence + 1
    const taken = Math.min(count, sequenceMax - this.sequence)
    this.sequence += taken
    return { publishTimestamp: this.timestamp, firstSequence, count: taken }
  }
}
