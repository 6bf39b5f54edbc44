/**
 * Assigns strictly ascending times and sequences for any behaviour of the clock. If the clock
 * stands still or steps back, the last millisecond continues; a full millisecond continues in the
 * next.
 */
import { assert } from '../../api/index.js'
import type { PackedPayloads } from './store/packed-payloads.js'
import { placeAfter, sequenceMax, type Place } from './store/stored-batch.js'

/** See the file header. */
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

  /** Assigns the next place. */
  take(): Place {
    return this.#take(1).last
  }

  /**
   * Assigns the next places to payloads. `each` gets all payloads of one millisecond, and the place
   * of the last one.
   */
  assign(payloads: PackedPayloads, each: (part: PackedPayloads, last: Place) => void): void {
    let rest = payloads
    for (;;) {
      const { last, count } = this.#take(rest.count)
      if (count === rest.count) {
        each(rest, last)
        return
      }
      each(rest.slice(0, count), last)
      rest = rest.slice(count, rest.count)
    }
  }

  /** Assigns places of one millisecond, at least one and at most `count`. */
  #take(count: number): { last: Place; count: number } {
    assert(count > 0, 'a request takes at least one place')
    if (this.sequence === sequenceMax) {
      this.timestamp++
      this.sequence = -1
    }
    const taken = Math.min(count, sequenceMax - this.sequence)
    this.sequence += taken
    const last = { publishTimestamp: this.timestamp, sequenceId: this.sequence }
    return { last, count: taken }
  }
}
