/** A memtable with what the store must know about it. */
import { Memtable } from '../memtable/memtable.js'
import type { FlushUnit } from './flush-unit.js'

export class MemtableSlot {
  readonly memtable: Memtable
  /** Sequence of the first mutation in it, or of one shortly before that; 0 = empty. */
  firstSequence = 0
  /** Delete markers in it, and those of them that are markers of a family. */
  deleteCount = 0
  familyDeleteCount = 0
  /** Some of its mutations are not in the log (SKIP_WAL). */
  hasUnloggedMutations = false
  /**
   * Set when it is frozen: every mutation of the store with a sequence up to this one is in this
   * memtable or in older ones.
   */
  sequenceCovered = 0
  /** Set when it is frozen: what is flushed together with it. */
  unit: FlushUnit | undefined = undefined

  /** Scans that may come back to it. */
  pinCount = 0
  /** A job may be reading it in another thread. */
  jobRunning = false

  /** `arenaBytesInitial` avoids copies while the arena grows; undefined = start small. */
  constructor(arenaBytesInitial?: number, recycled?: SharedArrayBuffer) {
    const size = arenaBytesInitial === undefined ? {} : { arenaBytesInitial }
    this.memtable = new Memtable({ ...size, recycled })
  }

  /** What it counts in the memory budget: nothing while it is empty. */
  get bytesCharged(): number {
    const { memtable } = this
    return memtable.entryCount === 0 ? 0 : memtable.bytesUsed
  }

  get isEmpty(): boolean {
    return this.memtable.entryCount === 0
  }
}
