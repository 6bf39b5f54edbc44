/**
 * Determines the part of the log that is still needed: from the segment with the oldest sequence
 * that no SSTable holds.
 */
import type { FlushMember } from '../../store/flush-unit.js'
import type { MemtableSlot } from '../../store/memtable-slot.js'
import type { Store } from '../../store/store.js'
import type { OpenedParts } from '../engine.js'

/** The parts of an engine that the floor depends on. */
type FloorParts = Pick<OpenedParts, 'catalog' | 'log' | 'readPoints' | 'versions'>

/** The floor of one engine's log; see the file header. */
export class LogFloor {
  private readonly parts: FloorParts
  /** Highest floor of any edit so far. */
  private highest = 0

  constructor(parts: FloorParts) {
    this.parts = parts
  }

  /**
   * Number of the oldest log segment that is still needed when the given memtables are on disk.
   * Begins a new segment if the current one would not be needed. Throws errors of the log.
   */
  after(flushed: readonly FlushMember[]): number {
    const { log, readPoints, versions } = this.parts
    const oldest = this.oldestUnflushed(flushed)
    // If nothing in the current segment is needed, a new segment lets the old one be removed.
    if (oldest > readPoints.lastSequence) log.rollIfLong()
    // Unpublished edits of other flushes may have a higher floor. The floor must not decrease.
    const floor = log.floorFor(oldest - 1)
    this.highest = Math.max(this.highest, floor, versions.current.logFileNumberFloor)
    return this.highest
  }

  /** Removes the segments that are not needed any more. */
  removeSegments(): void {
    const { log, versions } = this.parts
    if (log.failure !== undefined) return
    log.removeObsolete(this.oldestUnflushed([]) - 1, versions.current.logFileNumberFloor)
  }

  /**
   * The oldest sequence that only the log holds when the given memtables are on disk. If there is
   * none, one above the newest sequence.
   */
  private oldestUnflushed(flushed: readonly FlushMember[]): number {
    const { catalog, readPoints } = this.parts
    let oldest = readPoints.lastSequence + 1
    for (const store of catalog.stores.values()) {
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
