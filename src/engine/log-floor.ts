/**
 * How much of the log is still needed: the oldest sequence that no SSTable holds, and the segment
 * with it.
 */
import type { FlushMember } from '../store/flush-unit.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Store } from '../store/store.js'
import type { Engine } from './engine.js'

/** The floor of one engine's log; see the file header. */
export class LogFloor {
  private readonly engine: Engine
  /** Highest floor that an edit was made with. */
  private highest = 0

  constructor(engine: Engine) {
    this.engine = engine
  }

  /**
   * Number of the oldest log segment that is still needed once some memtables are on disk. Ends the
   * current segment if nothing in it would be needed; throws what the log throws.
   */
  after(flushed: readonly FlushMember[]): number {
    const { writes, versions } = this.engine
    const { log } = writes
    const oldest = this.oldestUnflushed(flushed)
    // With nothing left in it, even the current segment need not stay on disk.
    if (oldest > writes.lastSequence) log.rollIfLong()
    // Edits of other flushes may be on their way; what they allow to go stays gone.
    const floor = log.floorFor(oldest - 1)
    this.highest = Math.max(this.highest, floor, versions.current.logFileNumberFloor)
    return this.highest
  }

  /** Removes the segments that nothing needs any more. */
  removeSegments(): void {
    const { writes, versions } = this.engine
    if (writes.log.failure !== undefined) return
    writes.log.removeObsolete(this.oldestUnflushed([]) - 1, versions.current.logFileNumberFloor)
  }

  /**
   * Oldest sequence that only the log holds once some memtables are on disk; behind the newest if
   * there is none.
   */
  private oldestUnflushed(flushed: readonly FlushMember[]): number {
    const { writes, stores } = this.engine
    let oldest = writes.lastSequence + 1
    for (const store of stores.values()) {
      const slot = flushed.find((member) => member.store === store)?.slot
      const sequence =
        slot === undefined ? store.oldestUnflushedSequence : oldestBehind(store, slot)
      oldest = Math.min(oldest, sequence)
    }
    return oldest
  }
}

/** Oldest sequence of a store that is not on disk once `slot` is. */
function oldestBehind(store: Store, slot: MemtableSlot): number {
  const position = store.frozen.indexOf(slot)
  const next = position > 0 ? store.frozen[position - 1] : store.active
  return next.isEmpty ? Infinity : next.firstSequence
}
