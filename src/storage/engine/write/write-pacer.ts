/**
 * Holds writers back when compactions lag, as little as possible. Only promises wait: the
 * event loop is not blocked, and synchronous writers are not held back.
 *
 * The pressure is the compaction debt divided by its limit: the sorted runs of the worst store, or
 * the bytes of all stores. Up to half of the limit writers are free. Above, they share a rate that
 * falls linearly from their former rate to zero at the limit. The debt stops growing where the rate
 * equals what compactions can process. So there is no sudden stop, and no rate to configure.
 *
 * When the database is closed or poisoned, waiting writers are rejected.
 */
import type { CompactionDebt } from '../../compaction/choice.js'
import { Waiters } from './waiters.js'

/** How writers are treated: not held back, slowed down, or stopped. */
export type PressureState = 'none' | 'slow' | 'stop'

/** The state of the back-pressure. */
export interface Pressure {
  /** What happens to writers. */
  readonly state: PressureState
  /** Debt divided by its limit: from 0.5 on `slow`, from 1 on `stop`. */
  readonly level: number
  /** Largest number of sorted runs of a store that wait to be merged. */
  readonly runs: number
  /** Bytes of all stores that wait to be rewritten. */
  readonly bytes: number
  /** Rate that all writers share; Infinity if nothing holds them back. */
  readonly bytesPerSecondMax: number
}

/** Limits of the compaction debt. */
export interface PacerLimits {
  readonly compactionDebtRunsMax: number
  readonly compactionDebtBytesMax: number
}

/** Pressure at which the rate begins to fall. */
const slowLevel = 0.5
/** How often waiting writers are checked. */
const tickMilliseconds = 5
/** Longest time for which unused tokens are kept. */
const burstMilliseconds = 20
/** Largest number of waiting writers that continue in one turn of the event loop. */
const wakeMax = 256
/** The former rate counts as at least this many bytes per second. */
const rateMin = 1024 * 1024

export class WritePacer {
  /** How often writers began to be held back. */
  stallCount = 0
  /** Whether writers are held back at all; every write checks only this. */
  isPacing = false
  private readonly limits: PacerLimits
  private readonly onChange: (pressure: Pressure) => void
  private readonly bytesPerWriter: () => number
  private readonly clock: () => number
  private runs = 0
  /** Bytes of keys and values that users have written since the open; the write path counts. */
  userBytes = 0
  private bytes = 0
  private level = 0
  private state: PressureState = 'none'
  /** Bytes per second that writers wrote while nothing held them back. */
  private freeRate = 0
  private measuredBytes = 0
  private measuredAt: number
  /** Bytes that may be written now; negative if the last writer wrote more. */
  private tokens = 0
  private filledAt = 0
  private readonly waiters = new Waiters()
  private timer: NodeJS.Timeout | undefined = undefined

  /**
   * `onChange` is called when the state changes. `bytesPerWriter` returns the average bytes of a
   * mutation. `clock` returns milliseconds from any origin.
   */
  constructor(
    limits: PacerLimits,
    onChange: (pressure: Pressure) => void,
    bytesPerWriter: () => number,
    clock: () => number = () => performance.now(),
  ) {
    this.limits = limits
    this.onChange = onChange
    this.bytesPerWriter = bytesPerWriter
    this.clock = clock
    this.measuredAt = clock()
  }

  /** The present state. */
  get pressure(): Pressure {
    const { state, level, runs, bytes } = this
    return { state, level, runs, bytes, bytesPerSecondMax: this.rate }
  }

  /** Whether a writer has to wait now. */
  get isHeld(): boolean {
    if (!this.isPacing) return false
    if (this.waiters.count > 0) return true
    this.fill()
    return this.tokens <= 0
  }

  /** Calls `run` when the writer may continue, or `fail` when it cannot. */
  whenFree(run: () => void, fail: (error: unknown) => void): void {
    this.waiters.add(run, fail)
    this.startTimer()
  }

  /** Counts written bytes. */
  spend(bytes: number): void {
    this.tokens -= bytes
  }

  /** Sets the debts of all stores. */
  update(debts: Iterable<CompactionDebt>): void {
    this.runs = 0
    this.bytes = 0
    for (const { runs, bytes } of debts) {
      this.runs = Math.max(this.runs, runs)
      this.bytes += bytes
    }
    const { compactionDebtRunsMax, compactionDebtBytesMax } = this.limits
    this.level = Math.max(this.runs / compactionDebtRunsMax, this.bytes / compactionDebtBytesMax)
    this.measure()
    this.enter(this.level < slowLevel ? 'none' : this.level < 1 ? 'slow' : 'stop')
  }

  /** Rejects all waiting writers. */
  fail(error: unknown): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.waiters.fail(error)
  }

  private get rate(): number {
    if (this.state === 'none') return Infinity
    const left = Math.max(0, 1 - this.level) / (1 - slowLevel)
    return Math.max(this.freeRate, rateMin) * left
  }

  /** Measures the rate of writers while nothing holds them back. */
  private measure(): void {
    const now = this.clock()
    const seconds = (now - this.measuredAt) / 1000
    // Over a shorter time, a burst would count as the rate.
    if (seconds < 0.05) return
    const rate = (this.userBytes - this.measuredBytes) / seconds
    if (this.state === 'none') this.freeRate = Math.max(rate, (this.freeRate + rate) / 2)
    this.measuredBytes = this.userBytes
    this.measuredAt = now
  }

  private enter(state: PressureState): void {
    const before = this.state
    this.state = state
    this.isPacing = state !== 'none'
    if (before === state) return
    if (before === 'none') {
      this.stallCount++
      this.tokens = 0
      this.filledAt = this.clock()
    }
    this.onChange(this.pressure)
    this.release()
  }

  private fill(): void {
    const now = this.clock()
    const { rate } = this
    if (rate === Infinity) return
    const most = (rate * burstMilliseconds) / 1000
    this.tokens = Math.min(most, this.tokens + (rate * (now - this.filledAt)) / 1000)
    this.filledAt = now
  }

  /**
   * Releases as many waiting writers as the tokens allow. Some write later, so the average size is
   * assumed.
   */
  private release(): void {
    if (this.isPacing) this.fill()
    const expected = Math.max(1, this.bytesPerWriter())
    const fitting = this.isPacing ? Math.ceil(this.tokens / expected) : wakeMax
    for (let count = Math.min(fitting, wakeMax); count > 0; count--) {
      if (this.waiters.count === 0 || (this.isPacing && this.tokens <= 0)) break
      this.waiters.runNext()
    }
    this.startTimer()
  }

  private startTimer(): void {
    if (this.timer !== undefined || this.waiters.count === 0) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      this.release()
    }, tickMilliseconds)
  }
}
