/**
 * Lazy seek: the cursor is positioned at a lower bound, and seeks when its entry is needed.
 *
 * The bound lies at or below every entry that the seek could find. A merge orders the cursor by the
 * bound and calls `settle` only when the cursor comes to the top. A read that ends before that has
 * saved the seek, and the load of a block.
 */
import type { Cursor } from './cursor.js'

/** See the file header. */
export interface DeferredCursor extends Cursor {
  /** The key is a bound; the value is undefined. */
  readonly deferred: boolean
  /**
   * Carries out the seek; the cursor may become invalid. Throws as `Cursor.seek` does, and may then
   * be called again. REQUIRES deferred.
   */
  settle(): void
}
