/**
 * Accounts for the bytes in memtables and makes writers wait when they pass the budget (design
 * D12): promises wait, the event loop never does.
 */

/** Somebody who waits: two functions instead of a chain of promises, because there may be many. */
interface Waiter {
  readonly run: () => void
  readonly fail: (error: unknown) => void
}

/** Most writers that are let go in one turn of the event loop. */
const wakeMax = 256

export class MemoryBudget {
  readonly bytesMax: number
  /** Bytes in all memtables. */
  bytesUsed = 0
  /** How often a writer had to wait. */
  stallCount = 0
  /** What a writer is expected to write; the engine keeps it up to date. */
  bytesPerWriter = 1024
  private waiters: Waiter[] = []

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

  get hasWaiters(): boolean {
    return this.waiters.length > 0
  }

  /** Calls `run` when memory has become free, or `fail` if flushing fails. */
  whenFree(run: () => void, fail: (error: unknown) => void): void {
    this.stallCount++
    this.waiters.push({ run, fail })
  }

  /** Memtables came or went: all together hold `bytes` bytes now. */
  update(bytes: number): void {
    this.bytesUsed = bytes
    this.wake()
  }

  /**
   * Lets go as many waiters as surely fit, the oldest first, and looks again in the next turn, when
   * they have written: all at once they would overrun the budget together.
   */
  private wake(): void {
    if (this.isExceeded || this.waiters.length === 0) return
    const free = this.bytesMax - this.bytesUsed
    const count = Math.max(1, Math.min(wakeMax, Math.floor(free / (4 * this.bytesPerWriter))))
    for (const waiter of this.waiters.splice(0, count)) waiter.run()
    if (this.waiters.length > 0) setImmediate(() => this.wake())
  }

  /** Flushing failed: whoever waits is told why. */
  fail(error: unknown): void {
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter.fail(error)
  }
}
