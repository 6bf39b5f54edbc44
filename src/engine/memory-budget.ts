/**
 * Accounts for the bytes in memtables and makes writers wait when they pass the budget, and when
 * this turn of the event loop has taken as many bytes as it should: promises wait, the event loop
 * never does.
 */
import type { TurnBudget } from '../base/turn-budget.js'
import { Waiters } from './waiters.js'

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
  private readonly turn: TurnBudget
  private readonly waiters = new Waiters()
  private isWakePlanned = false

  constructor(bytesMax: number, turn: TurnBudget) {
    this.bytesMax = bytesMax
    this.turn = turn
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
    return this.waiters.count > 0
  }

  /**
   * Calls `run` when memory is free, in a turn that takes further bytes and behind those that wait
   * already; or `fail` if flushing fails.
   */
  whenFree(run: () => void, fail: (error: unknown) => void): void {
    this.waiters.add(run, fail)
    if (this.isExceeded) this.stallCount++
    else this.planWake()
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
    const { waiters, turn } = this
    if (this.isExceeded || waiters.count === 0) return
    const free = this.bytesMax - this.bytesUsed
    const fitting = Math.max(1, Math.min(wakeMax, Math.floor(free / (4 * this.bytesPerWriter))))
    for (let count = Math.min(fitting, waiters.count); count > 0; count--) {
      // Most write at once.
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

  /** Flushing failed: whoever waits is told why. */
  fail(error: unknown): void {
    this.waiters.fail(error)
  }
}
