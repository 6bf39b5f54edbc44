/**
 * A cursor that puts off its seeks until somebody needs the entry.
 *
 * A deferred cursor stands at a key that is not there: a bound that lies at or below every entry
 * that the seek could find. A merge orders it by that bound and calls `settle` only when it comes
 * to the top; a read that has found what it wants by then has spared the seek, and the block.
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
