/** The change feed: the mutations of a database in the order in which they were applied. */
import type { OptionsOf } from '../base/options.js'
import type { changeOptions } from './checks/changes.js'
import type { Cell } from './results/result.js'

/** A cell that a mutation wrote: a put or a delete marker. */
export interface ChangedCell extends Cell {
  /** Name of the table. */
  readonly table: string
  /** Cell TTL in milliseconds; 0 = none. */
  readonly ttlMilliseconds: number
}

/** One whole mutation; a feed yields mutations in the order in which they were applied. */
export interface Change {
  /** Ascending and unique. A feed from `sequence + 1` continues after this change. */
  readonly sequence: number
  /**
   * Timestamp in milliseconds that the engine's clock gave to the mutation; undefined if every cell
   * had its own.
   */
  readonly timestamp: number | undefined
  /** In the order of the mutation; only those of the tables that the feed was asked for. */
  readonly cells: readonly ChangedCell[]
}

/** Which changes a feed yields, and when. */
export interface ChangeOptions extends OptionsOf<typeof changeOptions> {}
