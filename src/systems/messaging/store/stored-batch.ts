/**
 * The messages of one row of the message table: of one millisecond, with consecutive sequences, and
 * of one transaction or none. The *last* message names the row. A scan from any place therefore
 * finds first the row that holds this place.
 */
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
