/** A memtable with its state in the store. */
import { assert } from '../../base/assert.js'
import { Memtable, type MemtableOptions } from '../memtable/memtable.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { FlushUnit } from './flush-unit.js'

/** The SSTables that replace a memtable. */
export interface FlushedTables {
  readonly tables: readonly SsTableReader[]
  /** Cells up to this sequence are all in the SSTables; newer ones may have been dropped. */
  readonly sequenceSame: number
}

/** A reader that pins a memtable until its SSTable is installed. */
export interface MemtableUser {
  /** The newest sequence visible to the reader. */
  readonly readPoint: number
  /**
   * Called when the memtable is flushed: `tables` hold all its entries up to {@link readPoint}. The
   * reader switches to them, at once or at its next step, and then calls
   * {@link MemtableSlot.endUse}.
   */
  memtableFlushed(slot: MemtableSlot, tables: readonly SsTableReader[]): void
}

export class MemtableSlot {
  readonly memtable: Memtable
  /** Sequence of its first mutation, or a slightly lower one; 0: empty. */
  firstSequence = 0
  /** Number of delete markers; `familyDeleteCount`: of those that are markers of the family. */
  deleteCount = 0
  familyDeleteCount = 0
  /** Newest timestamp of its markers of single versions; -1: it has none. */
  versionMarkerTimestamp = -1
  /** Newest timestamp of all its markers; -1: it has none. */
  markerTimestamp = -1
  /** Whether some of its mutations are not in the log (SKIP_WAL). */
  hasUnloggedMutations = false
  /**
   * Set by the freeze: every mutation of the store up to this sequence is in this memtable or in
   * older ones.
   */
  sequenceCovered = 0
  /** Set by the freeze: the unit that is flushed together. */
  unit: FlushUnit | undefined = undefined

  /** Open scans that pin the memtable. */
  private readonly users = new Set<MemtableUser>()
  /** Whether a job in another thread may read the memtable. */
  private jobRunning = false
  /** Called after the last read; set when SSTables have replaced the memtable. */
  private onUnused: (() => void) | undefined = undefined
  /** Whether SSTables have replaced the memtable. */
  private retired = false

  /** Makes an empty memtable; without options it starts small. */
  constructor(options: MemtableOptions = {}) {
    this.memtable = new Memtable(options)
  }

  /** Bytes charged to the memory budget; 0 while empty. */
  get bytesCharged(): number {
    const { memtable } = this
    return memtable.entryCount === 0 ? 0 : memtable.bytesUsed
  }

  /** Whether an open scan pins the memtable. */
  get isUsed(): boolean {
    return this.users.size > 0
  }

  /** The newest read point of the scans that pin the memtable; 0 without one. */
  get readPointNewest(): number {
    let newest = 0
    for (const { readPoint } of this.users) if (readPoint > newest) newest = readPoint
    return newest
  }

  /** Pins the memtable for a scan until {@link endUse}. */
  startUse(user: MemtableUser): void {
    this.users.add(user)
  }

  /** Releases the pin of {@link startUse}. REQUIRES one call per `startUse`. */
  endUse(user: MemtableUser): void {
    assert(this.users.delete(user), 'only a user of a memtable ends its use')
    this.tellIfUnused()
  }

  /** Called when a job in another thread starts or ends to read the memtable. */
  startJob(): void {
    this.jobRunning = true
  }

  endJob(): void {
    this.jobRunning = false
    this.tellIfUnused()
  }

  /**
   * Called when SSTables have replaced the memtable. Scans switch to them, except those that would
   * miss cells because they were opened while the manifest was written. `onUnused` is called once
   * the last scan and the last job are done, possibly at once.
   */
  retire({ tables, sequenceSame }: FlushedTables, onUnused: () => void): void {
    assert(!this.retired, 'a memtable is retired once')
    this.retired = true
    this.onUnused = onUnused
    for (const user of [...this.users]) {
      if (user.readPoint <= sequenceSame) user.memtableFlushed(this, tables)
    }
    this.tellIfUnused()
  }

  private tellIfUnused(): void {
    if (this.jobRunning || this.users.size > 0) return
    const { onUnused } = this
    this.onUnused = undefined
    onUnused?.()
  }

  get isEmpty(): boolean {
    return this.memtable.entryCount === 0
  }
}
