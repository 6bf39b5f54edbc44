/**
 * Decides which memtables are flushed when memory or the log runs full.
 *
 * Three bounds lead here: a memtable that is full, the memory budget of all memtables together, and
 * the length of the log. In each case memtables are frozen and handed to the flusher; only a
 * synchronous writer waits for the end.
 *
 * Failure behaviour: freezing cannot fail; a flush that fails is reported by the flusher.
 */
import type { FlushMember } from '../store/flush-unit.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Store } from '../store/store.js'
import type { Log } from '../wal/log.js'
import type { Flusher } from './flusher.js'
import type { MemoryBudget } from './memory-budget.js'

/** The engine, as far as memory is concerned. */
export interface ReliefHost {
  readonly stores: ReadonlyMap<number, Store>
  readonly budget: MemoryBudget
  readonly flusher: Flusher
  readonly log: Log
  readonly lastSequence: number
  /** Bytes of mutations appended to the log since the open. */
  readonly logBytesWritten: number
  readonly options: { readonly logBytesMax: number }
}

/** Part of the budget that relief leaves in memtables that are not being flushed. */
const keptPart = 0.5

export class MemoryRelief {
  /** The log's length is looked at when so many bytes have been appended. */
  private checkAt = 0
  private readonly host: ReliefHost

  constructor(host: ReliefHost) {
    this.host = host
  }

  /** Freezes a store's active memtable and starts flushing it. */
  freeze(store: Store): boolean {
    if (!store.freeze(this.host.lastSequence)) return false
    this.host.flusher.schedule(store)
    return true
  }

  /**
   * Starts flushing the largest memtables until what is not yet being flushed is below the mark.
   */
  start(): void {
    const { stores, budget, flusher } = this.host
    let freeable = 0
    for (const store of stores.values()) {
      for (const slot of store.frozen) freeable += slot.memtable.bytesUsed
      if (store.frozen.length > 0) flusher.schedule(store)
    }
    const mark = budget.bytesMax * keptPart
    while (budget.bytesUsed - freeable > mark) {
      const largest = this.largest()
      if (largest === undefined) return
      this.freeze(largest)
      // Memtables that are tied to it are frozen with it.
      freeable += largest.frozen[0].unit!.bytes
    }
  }

  /** A synchronous writer pays for the memory that it used: flushes until below the budget. */
  finishSync(): void {
    const { stores, budget, flusher } = this.host
    this.start()
    for (const store of [...stores.values()]) {
      if (!budget.isExceeded) return
      flusher.drainSync(store)
    }
  }

  /** Looks now and then whether the log has outgrown its bound, and frees its oldest segment. */
  checkLog(): void {
    const { logBytesWritten, log, options } = this.host
    if (logBytesWritten < this.checkAt) return
    this.checkAt = logBytesWritten + options.logBytesMax / 16
    if (log.bytesTotal > options.logBytesMax) this.freeOldestSegment()
  }

  /** Counts the memtables afresh; puts only add what they grew by. */
  account(): void {
    let bytes = 0
    for (const store of this.host.stores.values()) bytes += store.memtableBytes
    this.host.budget.update(bytes)
  }

  /** Oldest sequence that only the log holds; behind the newest if there is none. */
  oldestUnflushed(): number {
    let oldest = this.host.lastSequence + 1
    for (const store of this.host.stores.values()) {
      oldest = Math.min(oldest, store.oldestUnflushedSequence)
    }
    return oldest
  }

  /** As {@link oldestUnflushed}, once the oldest memtables of some stores are on disk. */
  oldestUnflushedAfter(flushed: readonly FlushMember[]): number {
    let oldest = this.host.lastSequence + 1
    for (const store of this.host.stores.values()) {
      const slot = flushed.find((member) => member.store === store)?.slot
      const sequence =
        slot === undefined ? store.oldestUnflushedSequence : oldestBehind(store, slot)
      oldest = Math.min(oldest, sequence)
    }
    return oldest
  }

  private largest(): Store | undefined {
    let largest: Store | undefined
    for (const store of this.host.stores.values()) {
      if (store.active.isEmpty) continue
      const bytes = store.active.memtable.bytesUsed
      if (largest === undefined || bytes > largest.active.memtable.bytesUsed) largest = store
    }
    return largest
  }

  /** Flushes the store that keeps the oldest log segment in use. */
  private freeOldestSegment(): void {
    let oldest: Store | undefined
    for (const store of this.host.stores.values()) {
      const sequence = store.oldestUnflushedSequence
      if (sequence === Infinity) continue
      if (oldest === undefined || sequence < oldest.oldestUnflushedSequence) oldest = store
    }
    if (oldest !== undefined && oldest.frozen.length === 0) this.freeze(oldest)
  }
}

/** Oldest sequence of a store that is not on disk once `slot` is. */
function oldestBehind(store: Store, slot: MemtableSlot): number {
  const position = store.frozen.indexOf(slot)
  const next = position > 0 ? store.frozen[position - 1] : store.active
  return next.isEmpty ? Infinity : next.firstSequence
}
