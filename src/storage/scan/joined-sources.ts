/**
 * One cursor over the sources of a read: the cursor of the only source, or a merge. In invariants
 * mode the merge is checked as well.
 */
import { checksInvariants } from '../../base/invariants.js'
import { CheckedCursor } from '../cursor/checked-cursor.js'
import type { Cursor } from '../cursor/cursor.js'
import type { DeferredCursor } from '../cursor/deferred-cursor.js'
import { MergeCursor } from '../cursor/merge-cursor.js'
import type { StoreRowRead } from './store-read.js'

/** Joins the sources of successive reads; see the file header. */
export class JoinedSources {
  private readonly merge = new MergeCursor()

  /** Joins sources, newest first, into a cursor that is not positioned yet. */
  join(chosen: readonly Cursor[], deferring: readonly (DeferredCursor | undefined)[]): Cursor {
    if (chosen.length === 1 && deferring.length === 0) return chosen[0]
    this.merge.setChildren(chosen, deferring)
    return this.merged()
  }

  /**
   * Joins the sources of a row read, whose cursors are already positioned at the row. The result is
   * positioned at the first wanted entry. Sources without a wanted entry are left out.
   */
  joinWithin({ chosen, deferring, row, wantedLength }: StoreRowRead): Cursor {
    if (chosen.length === 1 && deferring.length === 0) return chosen[0]
    this.merge.setChildren(chosen, deferring)
    this.merge.startWithin(row, wantedLength)
    return this.merged()
  }

  /** Releases the sources; returns a cursor over none. */
  release(): Cursor {
    this.merge.setChildren([])
    return this.merge
  }

  private merged(): Cursor {
    return checksInvariants ? new CheckedCursor(this.merge, false) : this.merge
  }
}
