/**
 * One cursor over the sources of a read: that of the only source itself, or a merge. While
 * invariants are checked, the merge is checked as well.
 */
import { checksInvariants } from '../../base/invariants.js'
import { CheckedCursor } from '../cursor/checked-cursor.js'
import type { Cursor } from '../cursor/cursor.js'
import type { DeferredCursor } from '../cursor/deferred-cursor.js'
import { MergeCursor } from '../cursor/merge-cursor.js'
import type { StoreRowRead } from './store-read.js'

/** Joins the sources of one read after the other; see the file header. */
export class JoinedSources {
  private readonly merge = new MergeCursor()

  /** A cursor over the sources, newest first; it has to seek. */
  join(chosen: readonly Cursor[], deferring: readonly (DeferredCursor | undefined)[]): Cursor {
    if (chosen.length === 1 && deferring.length === 0) return chosen[0]
    this.merge.setChildren(chosen, deferring)
    return this.merged()
  }

  /**
   * A cursor over the sources of a row, which were moved to the row; it stands at the first entry
   * that is wanted. Sources that hold none of the entries wanted take no part.
   */
  joinWithin({ chosen, deferring, row, wantedLength }: StoreRowRead): Cursor {
    if (chosen.length === 1 && deferring.length === 0) return chosen[0]
    this.merge.setChildren(chosen, deferring)
    this.merge.startWithin(row, wantedLength)
    return this.merged()
  }

  /** Lets go of the sources; a cursor over none. */
  release(): Cursor {
    this.merge.setChildren([])
    return this.merge
  }

  private merged(): Cursor {
    return checksInvariants ? new CheckedCursor(this.merge, false) : this.merge
  }
}
