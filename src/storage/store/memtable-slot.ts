/** A memtable with what the store must know about it. */
import { assert } from '../../base/assert.js'
import { Memtable, type MemtableOptions } from '../memtable/memtable.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { FlushUnit } from './flush-unit.js'

/** The replacement of a memtable. */
export interface FlushedTables {
  readonly tables: readonly SsTableReader[]
  /** Up to this sequence they hold the same cells; newer ones may have been dropped. */
  readonly sequenceSame: number
}

/** A reader that pins a memtable until its SSTable is installed. */
export interface MemtableUser {
  /** Newest sequence that it sees. */
  readonly readPoint: number
  /**
   * The memtable was flushed: `tables` hold all its entries up to {@link readPoint}. The user goes
   * on in them, at once or at its next step, and then calls {@link MemtableSlot.endUse}.
   */
  memtableFlushed(slot: MemtableSlot, tables: readonly SsTableReader[]): void
}

export class MemtableSlot {
  readonly memtable: Memtable
  /** Sequence of the first mutation in it, or of one shortly before that; 0 = empty. */
  firstSequence = 0
  /** Delete markers in it, and those of them that are markers of a family. */
  deleteCount = 0
  familyDeleteCount = 0
  /** Newest timestamp of its markers of single versions; -1 = it has none. */
  versionMarkerTimestamp = -1
  /** Some of its mutations are not in the log (SKIP_WAL). */
  hasUnloggedMutations = false
  /**
   * Set when it is frozen: every mutation of the store with a sequence up to this one is in this
   * memtable or in older ones.
   */
  sequenceCovered = 0
  /** Set when it is frozen: the unit that is flushed with it. */
  unit: FlushUnit | undefined = undefined

  /** Open scans that come back to it. */
  private readonly users = new Set<MemtableUser>()
  /** A job may be reading it in another thread. */
  private jobRunning = false
  /** Called after the last read; set when an SSTable has taken its place. */
  private onUnused: (() => void) | undefined = undefined
  /** Tables have taken its place. */
  private retired = false

  /** A memtable that starts small if nothing is said. */
  constructor(options: MemtableOptions = {}) {
    this.memtable = new Memtable(options)
  }

  /** Its bytes in the memory budget: none while it is empty. */
  get bytesCharged(): number {
    const { memtable } = this
    return memtable.entryCount === 0 ? 0 : memtable.bytesUsed
  }

  /** Whether a scan is open that may come back to it. */
  get isUsed(): boolean {
    return this.users.size > 0
  }

  /** The newest read point of the scans that use it; 0 if there are none. */
  get readPointNewest(): number {
    let newest = 0
    for (const { readPoint } of this.users) if (readPoint > newest) newest = readPoint
    return newest
  }

  /** A scan comes back to this memtable until {@link endUse}. */
  startUse(user: MemtableUser): void {
    this.users.add(user)
  }

  /** Ends {@link startUse}; once. */
  endUse(user: MemtableUser): void {
    assert(this.users.delete(user), 'only a user of a memtable ends its use')
    this.tellIfUnused()
  }

  /** A job in another thread begins or ends to read the memtable. */
  startJob(): void {
    this.jobRunning = true
  }

  endJob(): void {
    this.jobRunning = false
    this.tellIfUnused()
  }

  /**
   * Tables have taken its place. Users go on there, but for those that would miss cells: scans that
   * were opened while the manifest was written. `onUnused` is called when the last user and the
   * last job have gone, perhaps at once.
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
