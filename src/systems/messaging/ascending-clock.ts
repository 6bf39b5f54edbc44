/**
 * Assigns strictly ascending times and sequences for any behaviour of the clock. If the clock
 * stands still or steps back, the last millisecond continues; a full millisecond continues in the
 * next.
 */
import { assert } from '../../api/index.js'
import { placeAfter, sequenceMax, type Place } from './store/stored-batch.js'

/** Consecutive places of one millisecond. */
export interface PlaceRange {
  readonly publishTimestamp: number
  readonly firstSequence: number
  readonly count: number
}

export class AscendingClock {
  /** Time of the last assigned place. */
  timestamp: number
  sequence: number

  /** All places up to `timestamp` count as assigned. */
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

  /** The next place, which is not assigned yet. */
  peek(): Place {
    return placeAfter({ publishTimestamp: this.timestamp, sequenceId: this.sequence })
  }

  /** Assigns the next places, at least one and at most `count`, within one millisecond. */
  take(count: number): PlaceRange {
    assert(count > 0, 'a request takes at least one place')
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
