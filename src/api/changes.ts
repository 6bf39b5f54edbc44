/** The change feed: the mutations of a database in the order in which they were applied. */
import type { Cell } from './result.js'

/** A cell that a mutation wrote: a put or a delete marker. */
export interface ChangedCell extends Cell {
  readonly table: string
  /** Cell TTL in milliseconds; 0 = none. */
  readonly ttlMilliseconds: number
}

/** One mutation, whole, in the order in which mutations were applied. */
export interface Change {
  /** Ascending, never used twice; `sequence + 1` is where a feed goes on behind the change. */
  readonly sequence: number
  /** Timestamp that the store's clock gave to it; undefined if every cell brought its own. */
  readonly timestamp: number | undefined
  readonly cells: readonly ChangedCell[]
}

/** Which changes a feed shows, and when. */
export interface ChangeOptions {
  /** The first sequence of interest, inclusive. Default: what is written from now on. */
  readonly fromSequence?: number | undefined
  /** Only cells of these tables; mutations without any are left out. Default all. */
  readonly table?: string | readonly string[] | undefined
  /**
   * 'FSYNC_WAL': a change is shown when it is on the disk, so that it can never be lost behind the
   * reader; costs a sync per batch. 'SYNC_WAL': when it was handed to the system. Default
   * 'FSYNC_WAL'.
   */
  readonly durability?: 'SYNC_WAL' | 'FSYNC_WAL' | undefined
  /** Ends the feed with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}
