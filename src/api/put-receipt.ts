/** The receipt of a put. */

/** What {@link Table.put} resolves to: where the put stands among the mutations of the database. */
export interface PutReceipt {
  /**
   * Timestamp in milliseconds that the engine's clock gave to the cells; undefined if every cell
   * had its own, or the put one for all.
   */
  readonly timestamp: number | undefined
  /** Sequence of the put in the change feed. A feed from `sequence + 1` continues after the put. */
  readonly sequence: number | undefined
}

/**
 * The receipt of a put whose clock is not known: of a backend without the capability `changes`, and
 * of a put that an observer has replaced.
 */
export const emptyReceipt: PutReceipt = Object.freeze({
  timestamp: undefined,
  sequence: undefined,
})
