/**
 * Gives out times and sequences that ascend strictly, whatever the clock does: a clock that stands
 * or steps back goes on with the last millisecond, and a full millisecond goes on with the next.
 */
import type { Place } from './stored-message.js'

/** Largest sequence of a millisecond. */
export const sequenceMax = 0xffff

export class AscendingClock {
  /** The place that was given out last. */
  timestamp: number
  sequence: number

  /** All places up to `timestamp` count as given out. */
  constructor(timestamp: number) {
    this.timestamp = timestamp
    this.sequence = sequenceMax
  }

  /** Starts a batch: a later time starts a new millisecond. */
  advance(now: number): void {
    if (now <= this.timestamp) return
    this.timestamp = now
    this.sequence = -1
  }

  /** The next place. */
  next(): Place {
    if (this.sequence === sequenceMax) {
      this.timestamp++
      this.sequence = -1
    }
    this.sequence++
    return { publishTimestamp: this.timestamp, sequenceId: this.sequence }
  }
}
