/**
 * Counts the bytes in memtables. Writers wait when these exceed the budget, and when this turn of
 * the event loop has taken its share of bytes. Only promises wait; the event loop is never blocked.
 */
import type { TurnBudget } from '../../../base/turn-budget.js'
import { Waiters } from '../write/waiters.js'

/** Largest number of waiting writers that continue in one turn of the event loop. */
const wakeMax = 256

export class MemoryBudget {
  readonly bytesMax: number
  /** Bytes in all memtables. */
  bytesUsed = 0
  /** How often a writer had to wait for memory. */
  stallCount = 0
  /** Average bytes of a mutation; the write path keeps it up to date. */
  bytesPerWriter = 1024
  private readonly turn: TurnBudget
  private readonly waiters = new Waiters()
  private isWakePlanned = false

  constructor(bytesMax: number, turn: TurnBudget) {
    this.bytesMax = bytesMax
    this.turn = turn
  }

  /** Above this mark the largest memtables are flushed although they are not full. */
  get isHigh(): boolean {
    return this.bytesUsed > this.bytesMax * 0.75
  }

  /** Above this mark writers wait. */
  get isExceeded(): boolean {
    return this.bytesUsed > this.bytesMax
  }

  get hasWaiters(): boolean {
    return this.waiters.count > 0
  }

  /**
   * Calls `run` when there is memory and the turn takes further bytes, after all earlier waiters;
   * or calls `fail` if flushing fails.
   */
  whenFree(run: () => void, fail: (error: unknown) => void): void {
    this.waiters.add(run, fail)
    if (this.isExceeded) this.stallCount++
    else this.planWake()
  }

  /** Sets the bytes of all memtables, after some were added or freed. */
  update(bytes: number): void {
    this.bytesUsed = bytes
    this.wake()
  }

  /**
   * Lets as many waiters continue as surely fit, the oldest first. Looks again in the next turn,
   * when these have written: all waiters at once would exceed the budget.
   */
  private wake(): void {
    const { waiters, turn } = this
    if (this.isExceeded || waiters.count === 0) return
    const free = this.bytesMax - this.bytesUsed
    const fitting = Math.max(1, Math.min(wakeMax, Math.floor(free / (4 * this.bytesPerWriter))))
    for (let count = Math.min(fitting, waiters.count); count > 0; count--) {
      // Most waiters write immediately, which changes both conditions.
      if (this.isExceeded || turn.isFull || waiters.count === 0) break
      waiters.runNext()
    }
    if (!this.isExceeded && waiters.count > 0) this.planWake()
  }

  private planWake(): void {
    if (this.isWakePlanned) return
    this.isWakePlanned = true
    setImmediate(() => {
      this.isWakePlanned = false
      this.wake()
    })
  }

  /** Rejects all waiting writers, because a flush has failed. */
  fail(error: unknown): void {
    this.waiters.fail(error)
  }
}
