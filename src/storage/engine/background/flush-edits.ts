/**
 * The edits of flushes, and the part of the log that is still needed after them: from the segment
 * with the oldest sequence that no SSTable holds.
 *
 * When an edit becomes visible, the memtables are replaced by their SSTables at that moment, so no
 * reader sees the cells twice, or not at all.
 */
import type { FlushJob, JobResult } from '../../job/job.js'
import type { FlushMember } from '../../store/flush-unit.js'
import type { MemtableSlot } from '../../store/memtable-slot.js'
import type { Store } from '../../store/store.js'
import type { VersionEdit } from '../../version/version-edit.js'
import type { Version } from '../../version/version.js'
import type { OpenedParts } from '../engine.js'

/** The files of one memtable. */
export interface FlushOutput extends FlushMember {
  readonly job: FlushJob
  readonly result: JobResult
  /** See {@link FlushedTables}. */
  readonly sequenceSame: number
}

type EditParts = Pick<
  OpenedParts,
  'catalog' | 'clock' | 'log' | 'readers' | 'readPoints' | 'versions'
>

export class FlushEdits {
  private readonly parts: EditParts
  /** Highest floor of the log in any edit so far. */
  private logFloor = 0

  constructor(parts: EditParts) {
    this.parts = parts
  }

  /**
   * Makes an edit, and opens the readers first, so that their failure comes before the manifest
   * names the files.
   */
  prepare(outputs: readonly FlushOutput[]): VersionEdit {
    const { clock, readers, readPoints } = this.parts
    const files = outputs.flatMap(({ store, result }) =>
      result.files.map((file) => ({ storeId: store.storeId, file })),
    )
    try {
      for (const { file } of files) readers.open(file)
      return {
        filesAdded: files,
        flushedSequences: outputs.map(({ store, slot }) => {
          return { storeId: store.storeId, sequence: slot.sequenceCovered }
        }),
        logFileNumberFloor: this.logFloorAfter(outputs),
        lastSequence: readPoints.lastSequence,
        lastServerTimestamp: clock.highest,
      }
    } catch (error) {
      for (const { file } of files) readers.close(file.fileNumber)
      throw error
    }
  }

  /** Replaces the memtables by their SSTables, when the edit becomes visible. */
  install(outputs: readonly FlushOutput[], version: Version): void {
    const { readers, readPoints } = this.parts
    for (const { store, slot, job, result, sequenceSame } of outputs) {
      const flushed = { tables: result.files.map((file) => readers.open(file)), sequenceSame }
      readPoints.memtableReplaced(store, slot, sequenceSame)
      store.installFlush(
        slot,
        flushed,
        readers.openLevels(version.stores.get(store.storeId)?.levels),
      )
      readers.lend(result, job.segments)
    }
  }

  /**
   * Number of the oldest log segment that is still needed when the given memtables are on disk.
   * Begins a new segment if the current one would not be needed. Throws errors of the log.
   */
  private logFloorAfter(flushed: readonly FlushMember[]): number {
    const { log, readPoints, versions } = this.parts
    const oldest = this.oldestUnflushed(flushed)
    // If nothing in the current segment is needed, a new segment lets the old one be removed.
    if (oldest > readPoints.lastSequence) log.rollIfLong()
    // Unpublished edits of other flushes may have a higher floor. The floor must not decrease.
    const floor = log.floorFor(oldest - 1)
    this.logFloor = Math.max(this.logFloor, floor, versions.current.logFileNumberFloor)
    return this.logFloor
  }

  /** Removes the segments of the log that are not needed any more. */
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
