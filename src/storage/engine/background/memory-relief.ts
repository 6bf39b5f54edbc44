/**
 * Decides which memtables are flushed when memory or the log is full.
 *
 * Three limits lead here: the size of one memtable, the budget of all memtables, and the length of
 * the log. In each case memtables are frozen and passed to the flusher. Only a synchronous writer
 * waits for the end of the flush.
 *
 * Freezing cannot fail. The flusher reports a flush that fails.
 */
import type { Store } from '../../store/store.js'
import type { Flusher } from './flusher.js'
import type { OpenedParts } from '../engine.js'
import type { MemoryBudget } from './memory-budget.js'

/** Part of the budget that may stay in memtables that are not being flushed. */
const keptPart = 0.5

type ReliefParts = Pick<OpenedParts, 'budget' | 'catalog' | 'log' | 'options' | 'readPoints'>

export class MemoryRelief {
  /** Bytes of the log at which {@link checkLog} does something next. */
  private checkAt = 0
  private readonly parts: ReliefParts
  private readonly stores: ReadonlyMap<number, Store>
  private readonly budget: MemoryBudget
  private readonly flusher: Flusher
  private readonly bytesPerCheck: number
  private readonly prepare: () => void

  /** `prepare` is called now and then while data is written that will be flushed. */
  constructor(parts: ReliefParts, flusher: Flusher, prepare: () => void) {
    this.parts = parts
    this.stores = parts.catalog.stores
    this.budget = parts.budget
    this.flusher = flusher
    const { logBytesMax, flushBytes } = parts.options
    this.bytesPerCheck = Math.min(logBytesMax / 16, flushBytes / 4)
    this.checkAt = this.bytesPerCheck
    this.prepare = prepare
  }

  /**
   * Freezes a store's active memtable and starts to flush it. Returns false if the memtable is
   * empty.
   */
  freeze(store: Store): boolean {
    if (!store.freeze(this.parts.readPoints.lastSequence)) return false
    this.flusher.schedule(store)
    return true
  }

  /**
   * Starts to flush the largest memtables, until the bytes in memtables that are not being flushed
   * are below the mark.
   */
  start(): void {
    const { budget, flusher } = this
    let freeable = 0
    for (const store of this.stores.values()) {
      for (const slot of store.frozen) freeable += slot.memtable.bytesUsed
      if (store.frozen.length > 0) flusher.schedule(store)
    }
    const mark = budget.bytesMax * keptPart
    while (budget.bytesUsed - freeable > mark) {
      const largest = this.largest()
      if (largest === undefined) return
      this.freeze(largest)
      // Memtables of the same flush unit are frozen with it.
      freeable += largest.frozen[0].unit!.bytes
    }
  }

  /** Makes a synchronous writer flush memtables until they are within the budget. */
  finishSync(): void {
    const { budget, flusher } = this
    this.start()
    for (const store of [...this.stores.values()]) {
      if (!budget.isExceeded) return
      flusher.drainSync(store, () => budget.isExceeded)
    }
  }

  /**
   * From time to time, checks the length of the log; `logBytesWritten` counts its bytes. If the log
   * is too long, frees its oldest segment. Then a quarter of a memtable or more has been written,
   * so that a flush may come.
   */
  checkLog(logBytesWritten: number): void {
    if (logBytesWritten < this.checkAt) return
    this.checkAt = logBytesWritten + this.bytesPerCheck
    this.prepare()
    const { log, options } = this.parts
    if (log.bytesTotal > options.logBytesMax) this.freeOldestSegment()
  }

  /** Counts the bytes of all memtables anew. Between two calls, writes only add their growth. */
  account(): void {
    let bytes = 0
    for (const store of this.stores.values()) bytes += store.memtableBytes
    this.budget.update(bytes)
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

  /**
   * Flushes all stores that need the oldest log segment. A segment goes only when no store needs
   * it, and many stores may have written little to it.
   */
  private freeOldestSegment(): void {
    let oldest = Infinity
    for (const store of this.stores.values()) {
      oldest = Math.min(oldest, store.oldestUnflushedSequence)
    }
    const segment = this.parts.log.segments.find(({ lastSequence }) => lastSequence >= oldest)
    const end = segment?.lastSequence ?? Infinity
    for (const store of this.stores.values()) {
      if (store.oldestUnflushedSequence <= end && store.frozen.length === 0) this.freeze(store)
    }
  }
}
