/**
 * The cleanup rules of systems/messaging/FORMAT.md as functions of numbers; used by prune-hook.ts.
 */

/**
 * Whether rows of `dataGeneration` belong to an ended generation: below the current one, or the
 * last one of a deleted topic. A generation above the current one has not ended: the metadata of
 * the caller is stale.
 */
export function isOlderGeneration(dataGeneration: number, currentGeneration: number): boolean {
  if (currentGeneration < 0) return dataGeneration <= -currentGeneration
  return dataGeneration < currentGeneration
}

/** The outcomes of the decision about a row. */
export const RowFate = {
  keep: 0,
  /** The TTL of its topic has passed. */
  expired: 1,
  /** The generation of the row has ended. */
  ended: 2,
  /** Its topic is unknown: the row is kept unchanged. */
  unknownTopic: 3,
  /** It does not have the form of the table's rows: the row is kept unchanged. */
  foreign: 4,
} as const
/** One of the codes of {@link RowFate}. */
export type RowFate = (typeof RowFate)[keyof typeof RowFate]

/**
 * The decision about a row of a known topic, by generation and time. `timeOldest` is the earliest
 * unexpired time: now minus the TTL; a row of exactly that time is kept. Times are milliseconds.
 * The TTL applies to the current generation of an existing topic only. Any other generation has
 * ended, or is newer than the metadata.
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
 * Writes the negative (two's complement) of the eight bytes at `start` into `target`. The most
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
