/**
 * What a scanner of one store is asked to read, and the sources chosen for that: made by the store,
 * which knows its sources, for the scanner, which knows only cursors.
 */
import type { Moment } from '../../base/clock.js'
import type { Cursor } from '../cursor/cursor.js'
import type { DeferredCursor } from '../cursor/deferred-cursor.js'
import type { RetentionOptions, StoreQuery } from './query.js'

/** What a store is asked for, and the sources chosen for that, newest first. */
export interface StoreRead {
  readonly query: StoreQuery
  readonly settings: RetentionOptions
  /** See {@link asksForNewest}. */
  readonly isNewest: boolean
  readonly readPoint: number
  readonly moment: Moment
  /** Without it, a block that is not in memory throws `BlockMissing`. */
  readonly mayBlock: boolean
  readonly chosen: readonly Cursor[]
  /** As in `MergeCursor.setChildren`. */
  readonly deferring: readonly (DeferredCursor | undefined)[]
  /** Delete markers that the sources hold at most, and those of them that are of the family. */
  readonly deletes: number
  readonly familyDeletes: number
}

/** A read of one row, to which the cursors were moved. */
export interface StoreRowRead extends StoreRead {
  /** The row (escaped) is `row[0, rowLength)`; borrowed. */
  readonly row: Buffer
  readonly rowLength: number
  /** All keys that are wanted begin with `row[0, wantedLength)`. */
  readonly wantedLength: number
  /** That is the only column which the query names; else the row with its terminator. */
  readonly isColumn: boolean
}
