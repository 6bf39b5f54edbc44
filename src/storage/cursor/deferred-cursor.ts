/**
 * Lazy seek: the cursor is positioned at a lower bound, and seeks when its entry is needed.
 *
 * The bound is at or below every entry that the seek could find. A merge orders the cursor by the
 * bound and calls `settle` only when the cursor comes first. A read that ends before that saves the
 * seek, and the load of a block.
 */
import type { Cursor } from './cursor.js'

/** A cursor with lazy seek; see the file header. */
export interface DeferredCursor extends Cursor {
  /** Whether the key is a bound; the value is then undefined. */
  readonly deferred: boolean
  /**
   * Carries out the seek; the cursor may become invalid. If it throws as `Cursor.seek` does, the
   * call may be repeated. REQUIRES deferred.
   */
  settle(): void
}
