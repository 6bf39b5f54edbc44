/** The cleanup rules of systems/messaging/FORMAT.md as functions of numbers; prune-hook.ts applies them. */

/**
 * Whether rows of `dataGeneration` belong to a generation that ended: it is below the current one,
 * or the topic is deleted and it was the last one. A generation above the current one is never
 * older: whoever asks knows stale metadata.
 */
export function isOlderGeneration(dataGeneration: number, currentGeneration: number): boolean {
  if (currentGeneration < 0) return dataGeneration <= -currentGeneration
  return dataGeneration < currentGeneration
}

/** What becomes of a row. */
export const RowFate = {
  keep: 0,
  /** Its topic's TTL has passed. */
  expired: 1,
  /** The generation that it was written in has ended. */
  ended: 2,
  /** Nothing is known of its topic: it stays as it is. */
  unknownTopic: 3,
  /** It has not the form of the table's rows: it stays as it is. */
  foreign: 4,
} as const
/** One of the codes of {@link RowFate}. */
export type RowFate = (typeof RowFate)[keyof typeof RowFate]

/**
 * Judges a row of a known topic by generation and time. `timeOldest` is the earliest time that has
 * not expired, now minus the TTL; a row of exactly that time is kept. Times are milliseconds. The
 * TTL is for the current generation of a topic that exists; all other generations have ended, or
 * are newer than the metadata.
 */
export function judgeRow(
  currentGeneration: number,
  timeOldest: number,
  dataGeneration: number,
  time: number,
): RowFate {
  if (isOlderGeneration(dataGeneration, currentGeneration)) return RowFate.ended
  return dataGeneration === currentGeneration && time < timeOldest ? RowFate.expired : RowFate.keep
}

/**
 * Writes the negative of the eight bytes at `start`, two's complement, into `target`. The most
 * negative number is its own negative.
 */
export function negatePointer(source: Uint8Array, start: number, target: Uint8Array): void {
  let carry = 1
  for (let i = 7; i >= 0; i--) {
    const sum = (~source[start + i] & 0xff) + carry
    target[i] = sum & 0xff
    carry = sum >>> 8
  }
}
