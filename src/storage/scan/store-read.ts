/**
 * A read of one store with the chosen sources. The store makes it, because it knows its sources;
 * the scanner only knows cursors.
 */
import type { Moment } from '../../base/clock.js'
import type { CellView } from '../cell/cell-view.js'
import type { Cursor, DeferredCursor } from '../cursor/cursor.js'
import type { RetentionOptions, StoreQuery } from './query.js'

/** A query of a store, and the chosen sources, newest first. Constant during the read. */
export interface StoreRead {
  readonly query: StoreQuery
  readonly settings: RetentionOptions
  /** See {@link asksForNewest}. */
  readonly isNewest: boolean
  /** See {@link wantsPlainRows}. */
  readonly wantsPlainRows: boolean
  readonly readPoint: number
  /** Puts of a lower timestamp in milliseconds are expired by the family's TTL; 0: none is. */
  readonly oldest: number
  readonly moment: Moment
  /** If false, a block that is not in memory throws `BlockMissing`. */
  readonly mayBlock: boolean
  readonly chosen: readonly Cursor[]
  /** As in `MergeCursor.setChildren`. */
  readonly deferring: readonly (DeferredCursor | undefined)[]
  /** Whether the read may see delete markers; `hasFamilyMarkers`: those of the family. */
  readonly hasMarkers: boolean
  readonly hasFamilyMarkers: boolean
  /** Whether steps are tried before a seek. Not with deferred cursors: a step makes them seek. */
  readonly mayStep: boolean
}

/** A read of one row, at which the cursors are positioned. */
export interface StoreRowRead extends StoreRead {
  /** The row (escaped) is `row[0, rowLength)`; borrowed. */
  readonly row: Buffer
  readonly rowLength: number
  /** All wanted keys begin with `row[0, wantedLength)`. */
  readonly wantedLength: number
  /**
   * Whether that prefix includes the only requested column; otherwise it is the row with
   * terminator.
   */
  readonly isColumn: boolean
}

/** Resolves value references of cells. */
export interface ValueSource {
  /**
   * Resolves the value reference of a cell: points the view at a copy of the cell with its content,
   * in memory of its own. Throws `BlockMissing`, with the view unchanged, if the content is not in
   * memory and `mayBlock` is false; `ERR_CORRUPTION`. REQUIRES `cell.isReference`.
   */
  resolve(cell: CellView, mayBlock: boolean): void
}
