/**
 * The messages of one row of the message table: of one millisecond, with consecutive sequences, and
 * of one transaction or none. The *last* message names the row. A scan from any place therefore
 * finds first the row that holds this place. `AscendingClock` gives out the places.
 */
import { assert } from '../../../api/index.js'
import type { PackedPayloads } from './packed-payloads.js'

/** A place in a topic: the time and the sequence of a message. */
export interface Place {
  /** Milliseconds since the epoch. */
  readonly publishTimestamp: number
  /** 0 to 65535. */
  readonly sequenceId: number
}

/** A row of the message table; `sequenceId` is the sequence of the last message. */
export interface StoredBatch extends Place {
  /** Write pointer; negative if rolled back; undefined if not transactional. */
  readonly pointer: bigint | undefined
  /** Undefined: the row is one message that refers to the stored payloads of its pointer. */
  readonly payloads: PackedPayloads | undefined
}

/** The order of places. */
export function comparePlaces(a: Place, b: Place): number {
  return a.publishTimestamp - b.publishTimestamp || a.sequenceId - b.sequenceId
}

/** Largest sequence of a millisecond. */
export const sequenceMax = 0xffff

/** The first place after a place. */
export function placeAfter({ publishTimestamp, sequenceId }: Place): Place {
  return sequenceId < sequenceMax
    ? { publishTimestamp, sequenceId: sequenceId + 1 }
    : { publishTimestamp: publishTimestamp + 1, sequenceId: 0 }
}

/** The sequence of the first message of a row. */
export function firstSequence(row: Pick<StoredBatch, 'sequenceId' | 'payloads'>): number {
  const { sequenceId, payloads } = row
  return payloads === undefined ? sequenceId : sequenceId + 1 - payloads.count
}

/** The place of the last message of a row, without the row. */
export function placeOf({ publishTimestamp, sequenceId }: Place): Place {
  return { publishTimestamp, sequenceId }
}

/** Approximate bytes of a row in the cache. */
export function weightOf({ payloads }: StoredBatch): number {
  return (payloads?.value.length ?? 0) + 160
}

/**
 * Assigns strictly ascending times and sequences for any behaviour of the clock. If the clock
 * stands still or steps back, the last millisecond continues; a full millisecond continues in the
 * next.
 */
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
