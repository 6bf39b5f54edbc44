/**
 * Holds writers back when compactions fall behind, by as much as is needed and no more: promises
 * wait, the event loop never does, and synchronous writers are not held back.
 *
 * The pressure is the debt of all stores by its limits: sorted runs of the worst store, bytes of
 * all together. Up to half, writers go on unhindered. Above, they share a rate that falls in a
 * straight line from what they wrote before to nothing at the limit; where it meets what
 * compactions can take, the debt stands still. There is no cliff, and no rate to configure.
 *
 * Failure behaviour: whoever waits is told when the database is closed or poisoned.
 */
import type { CompactionDebt } from '../compaction/choice.js'
import { Waiters } from './waiters.js'

/** How writers are treated. */
export type PressureState = 'none' | 'slow' | 'stop'

/** The state of the back-pressure. */
export interface Pressure {
  readonly state: PressureState
  /** Debt by its limit; 0.5 and more is slow, 1 and more is stop. */
  readonly level: number
  /** Most sorted runs of a store that wait to be merged. */
  readonly runs: number
  /** Bytes of all stores that wait to be rewritten. */
  readonly bytes: number
  /** What writers together may write; Infinity if nothing holds them back. */
  readonly bytesPerSecondMax: number
}

/** What the debt is measured by. */
export interface PacerLimits {
  readonly compactionDebtRunsMax: number
  readonly compactionDebtBytesMax: number
}

/** Pressure at which the rate begins to fall. */
const slowLevel = 0.5
/** How often held writers are looked at. */
const tickMilliseconds = 5
/** Most that is saved up while nobody writes. */
const burstMilliseconds = 20
/** Most writers that are let go in one turn of the event loop. */
const wakeMax = 256
/** Writers that have not written yet are not slowed down below this. */
const rateMin = 1024 * 1024

/** Holds writers back; see the file header. */
export class WritePacer {
  /** How often writers began to be held back. */
  stallCount = 0
  /** Whether writers are held back at all: the only thing that is looked at on every write. */
  isPacing = false
  private readonly limits: PacerLimits
  private readonly onChange: (pressure: Pressure) => void
  private readonly bytesPerWriter: () => number
  private readonly clock: () => number
  private runs = 0
  private bytes = 0
  private level = 0
  private state: PressureState = 'none'
  /** Bytes per second that writers wrote when nothing held them back. */
  private freeRate = 0
  private measuredBytes = 0
  private measuredAt: number
  /** Bytes that may be written now; negative if the last writer took more. */
  private tokens = 0
  private filledAt = 0
  private readonly waiters = new Waiters()
  private timer: NodeJS.Timeout | undefined = undefined

  /**
   * `onChange` is told when the state changes, `bytesPerWriter` what a writer is expected to write;
   * `clock` gives milliseconds from any start.
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

  /** The state of this moment. */
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

  /** Calls `run` when a writer's turn has come, or `fail`. */
  whenFree(run: () => void, fail: (error: unknown) => void): void {
    this.waiters.add(run, fail)
    this.startTimer()
  }

  /** Somebody has written. */
  spend(bytes: number): void {
    this.tokens -= bytes
  }

  /** The debts of all stores have changed; `userBytes` is all that was written so far. */
  update(debts: Iterable<CompactionDebt>, userBytes: number): void {
    this.runs = 0
    this.bytes = 0
    for (const { runs, bytes } of debts) {
      this.runs = Math.max(this.runs, runs)
      this.bytes += bytes
    }
    const { compactionDebtRunsMax, compactionDebtBytesMax } = this.limits
    this.level = Math.max(this.runs / compactionDebtRunsMax, this.bytes / compactionDebtBytesMax)
    this.measure(userBytes)
    this.enter(this.level < slowLevel ? 'none' : this.level < 1 ? 'slow' : 'stop')
  }

  /** Nobody is let go any more: whoever waits is told why. */
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

  /** Learns how fast writers are, as long as nothing holds them back. */
  private measure(userBytes: number): void {
    const now = this.clock()
    const seconds = (now - this.measuredAt) / 1000
    // Shorter stretches would mistake a burst for a rate.
    if (seconds < 0.05) return
    const rate = (userBytes - this.measuredBytes) / seconds
    if (this.state === 'none') this.freeRate = Math.max(rate, (this.freeRate + rate) / 2)
    this.measuredBytes = userBytes
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

  /** Lets go those whose turn has come. Some write a moment later, so what they will is guessed. */
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
