/**
 * Decides which memtables are flushed when memory or the log runs full.
 *
 * Three bounds lead here: a memtable that is full, the memory budget of all memtables together, and
 * the length of the log. In each case memtables are frozen and handed to the flusher; only a
 * synchronous writer waits for the end.
 *
 * Failure behaviour: freezing cannot fail; a flush that fails is reported by the flusher.
 */
import type { Store } from '../store/store.js'
import type { Flusher } from './flusher.js'
import type { WritePath } from './write-path.js'

/** Part of the budget that relief leaves in memtables that are not being flushed. */
const keptPart = 0.5

export class MemoryRelief {
  /** The log's length is looked at when so many bytes have been appended. */
  private checkAt = 0
  private readonly stores: ReadonlyMap<number, Store>
  private readonly writes: WritePath
  private readonly flusher: Flusher
  private readonly logBytesMax: number

  constructor(
    stores: ReadonlyMap<number, Store>,
    writes: WritePath,
    flusher: Flusher,
    { logBytesMax }: { readonly logBytesMax: number },
  ) {
    this.stores = stores
    this.writes = writes
    this.flusher = flusher
    this.logBytesMax = logBytesMax
  }

  /** Freezes a store's active memtable and starts flushing it. */
  freeze(store: Store): boolean {
    if (!store.freeze(this.writes.lastSequence)) return false
    this.flusher.schedule(store)
    return true
  }

  /**
   * Starts flushing the largest memtables until what is not yet being flushed is below the mark.
   */
  start(): void {
    const { stores, flusher } = this
    const { budget } = this.writes
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
    const { stores, flusher } = this
    const { budget } = this.writes
    this.start()
    for (const store of [...stores.values()]) {
      if (!budget.isExceeded) return
      flusher.drainSync(store)
    }
  }

  /** Looks now and then whether the log has outgrown its bound, and frees its oldest segment. */
  checkLog(): void {
    const { logBytesMax } = this
    const { logBytesWritten, log } = this.writes
    if (logBytesWritten < this.checkAt) return
    this.checkAt = logBytesWritten + logBytesMax / 16
    if (log.bytesTotal > logBytesMax) this.freeOldestSegment()
  }

  /** Counts the memtables afresh; puts only add what they grew by. */
  account(): void {
    let bytes = 0
    for (const store of this.stores.values()) bytes += store.memtableBytes
    this.writes.budget.update(bytes)
  }

  private largest(): Store | undefined {
    let largest: Store | undefined
    for (const store of this.stores.values()) {
      if (store.active.isEmpty) continue
      const bytes = store.active.memtable.bytesUsed
      if (largest === undefined || bytes > largest.active.memtable.bytesUsed) largest = store
    }
    return largest
  }

  /** Flushes the store that keeps the oldest log segment in use. */
  private freeOldestSegment(): void {
    let oldest: Store | undefined
    for (const store of this.stores.values()) {
      const sequence = store.oldestUnflushedSequence
      if (sequence === Infinity) continue
      if (oldest === undefined || sequence < oldest.oldestUnflushedSequence) oldest = store
    }
    if (oldest !== undefined && oldest.frozen.length === 0) this.freeze(oldest)
  }
}
