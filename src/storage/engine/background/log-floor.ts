/**
 * Determines the part of the log that is still needed: from the segment with the oldest sequence
 * that no SSTable holds.
 */
import type { FlushMember } from '../../store/flush-unit.js'
import type { MemtableSlot } from '../../store/memtable-slot.js'
import type { Store } from '../../store/store.js'
import type { Engine } from '../engine.js'

/** The floor of one engine's log; see the file header. */
export class LogFloor {
  private readonly engine: Engine
  /** Highest floor of any edit so far. */
  private highest = 0

  constructor(engine: Engine) {
    this.engine = engine
  }

  /**
   * Number of the oldest log segment that is still needed when the given memtables are on disk.
   * Begins a new segment if the current one would not be needed. Throws errors of the log.
   */
  after(flushed: readonly FlushMember[]): number {
    const { writes, versions } = this.engine
    const { log } = writes
    const oldest = this.oldestUnflushed(flushed)
    // If nothing in the current segment is needed, a new segment lets the old one be removed.
    if (oldest > writes.lastSequence) log.rollIfLong()
    // Unpublished edits of other flushes may have a higher floor. The floor must not decrease.
    const floor = log.floorFor(oldest - 1)
    this.highest = Math.max(this.highest, floor, versions.current.logFileNumberFloor)
    return this.highest
  }

  /** Removes the segments that are not needed any more. */
  removeSegments(): void {
    const { writes, versions } = this.engine
    if (writes.log.failure !== undefined) return
    writes.log.removeObsolete(this.oldestUnflushed([]) - 1, versions.current.logFileNumberFloor)
  }

  /**
   * The oldest sequence that only the log holds when the given memtables are on disk. If there is
   * none, one above the newest sequence.
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

/** The oldest sequence of a store that is not on disk when `slot` is. */
function oldestBehind(store: Store, slot: MemtableSlot): number {
  const position = store.frozen.indexOf(slot)
  const next = position > 0 ? store.frozen[position - 1] : store.active
  return next.isEmpty ? Infinity : next.firstSequence
}
