/** A clock with timers that tests move by hand. */
import type { LeaseClock } from '../../src/systems/metastore/index.js'

interface Timer {
  readonly at: number
  readonly action: () => void
}

/** Timers go off when {@link advance} reaches them; `milliseconds` moves time without them. */
export class ManualTimer implements LeaseClock {
  milliseconds: number
  readonly #timers = new Set<Timer>()

  constructor(milliseconds = 1_000_000) {
    this.milliseconds = milliseconds
  }

  readonly now = (): number => this.milliseconds

  readonly after = (milliseconds: number, action: () => void): (() => void) => {
    const timer = { at: this.milliseconds + milliseconds, action }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Timers that wait. */
  get size(): number {
    return this.#timers.size
  }

  /** Moves time, and lets the timers go off that it reaches. */
  advance(milliseconds: number): void {
    this.milliseconds += milliseconds
    this.goOff()
  }

  /** Lets the timers go off whose time has come. */
  goOff(): void {
    for (const timer of [...this.#timers]) {
      if (timer.at > this.milliseconds || !this.#timers.delete(timer)) continue
      timer.action()
    }
  }
}
