/**
 * Accounts for the bytes in memtables and makes writers wait when they pass the budget (design
 * D12): promises wait, the event loop never does.
 */
import { deferred, type Deferred } from '../base/deferred.js'

export class MemoryBudget {
  readonly bytesMax: number
  /** Bytes in all memtables. */
  bytesUsed = 0
  /** How often a writer had to wait. */
  stallCount = 0
  private waiters: Deferred<void>[] = []

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Above this, the largest memtable is flushed although it is not full. */
  get isHigh(): boolean {
    return this.bytesUsed > this.bytesMax * 0.75
  }

  /** Above this, writers wait. */
  get isExceeded(): boolean {
    return this.bytesUsed > this.bytesMax
  }

  /** Resolves when memory has become free, rejects if flushing fails. */
  wait(): Promise<void> {
    this.stallCount++
    const waiter = deferred<void>()
    this.waiters.push(waiter)
    return waiter.promise
  }

  /** Memtables of `bytes` bytes were dropped. */
  release(bytes: number): void {
    this.bytesUsed -= bytes
    if (this.isExceeded) return
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter.resolve()
  }

  /** Flushing failed: whoever waits is told why. */
  fail(error: unknown): void {
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter.reject(error)
  }
}
