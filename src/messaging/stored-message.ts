/** One row of the message table in memory, and its place in the order. */

/** A row of the message table. */
export interface StoredMessage {
  /** Milliseconds since the epoch. */
  readonly publishTimestamp: number
  /** 0 to 65535. */
  readonly sequenceId: number
  /** Write pointer; negative if rolled back; undefined if not transactional. */
  readonly pointer: bigint | undefined
  /** Undefined: the row stands for the payloads of its pointer. */
  readonly payload: Buffer | undefined
}

/** A place in a topic. */
export type Place = Pick<StoredMessage, 'publishTimestamp' | 'sequenceId'>

/** The order of places. */
export function comparePlaces(a: Place, b: Place): number {
  return a.publishTimestamp - b.publishTimestamp || a.sequenceId - b.sequenceId
}

/** Bytes of memory that a row takes in the cache, about. */
export function weightOf({ payload }: StoredMessage): number {
  return (payload?.length ?? 0) + 96
}
