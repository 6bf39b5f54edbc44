/** Leases, and the clocks and timers of leases and sessions. All can be injected. */
import { callback, required, timerMillisecondsMax, type GivenOptions } from '../../../api/index.js'

/** The declaration of {@link LeaseClock}. */
export const leaseClock = {
  /** The wall clock in milliseconds, as `Date.now`: for times that are stored or shown. */
  now: required(callback<() => number>()),
  /**
   * A monotonic clock in milliseconds, for timeouts and ages. Default: `performance.now`, or `now`
   * if `after` is given.
   */
  elapsed: callback<() => number>(),
  /**
   * Calls `action` once after a number of milliseconds and returns a function that cancels the
   * call. Default: `setTimeout`, unreferenced so that it does not keep the process alive.
   */
  after: callback<(milliseconds: number, action: () => void) => () => void>(),
}

/** The clocks and the timer of a registry of leases or a store with sessions. */
export interface LeaseClock extends GivenOptions<typeof leaseClock> {}

/** The monotonic time; see {@link LeaseClock.elapsed}. */
export function elapsed(clock: LeaseClock): number {
  if (clock.elapsed !== undefined) return clock.elapsed()
  return clock.after === undefined ? performance.now() : clock.now()
}

/** Calls an action after a time, at most 24 days. Returns a function that cancels the call. */
export function later(clock: LeaseClock, milliseconds: number, action: () => void): () => void {
  const wait = Math.min(Math.max(0, milliseconds), timerMillisecondsMax)
  return (clock.after ?? afterTimeout)(wait, action)
}

/** Parts of a wait, of which a stall of the event loop takes one at most. */
const waitParts = 8

/**
 * Calls an action after a time in which the event loop runs: it has read what arrived in the first
 * parts of the time, also if it stalled. `wait` is a timer. Returns a function that cancels the
 * call.
 */
export function laterWhileRunning(
  wait: (milliseconds: number, action: () => void) => () => void,
  milliseconds: number,
  action: () => void,
): () => void {
  let left = waitParts
  let cancel: () => void = () => undefined
  const next = (): void => {
    if (left-- === 0) action()
    else cancel = wait(milliseconds / waitParts, next)
  }
  next()
  return () => cancel()
}

/**
 * A lease, or the time of a session: held until an end that renewals move. A timer notices the end,
 * which is final.
 */
export class Lease {
  /** False when the end was noticed, or after {@link end}. */
  isHeld = true
  readonly #clock: LeaseClock
  readonly #onEnd: () => void
  #elapsedEnd: number
  #wallEnd: number
  #cancel!: () => void

  /** Calls `onEnd` when the end is noticed. The ends are those of {@link renew}. */
  constructor(clock: LeaseClock, onEnd: () => void, elapsedEnd: number, wallEnd = Infinity) {
    this.#clock = clock
    this.#onEnd = onEnd
    this.#elapsedEnd = elapsedEnd
    this.#wallEnd = wallEnd
    this.#wait()
  }

  /** Moves the ends by the monotonic clock and by the wall clock. The earlier one counts. */
  renew(elapsedEnd: number, wallEnd = Infinity): void {
    this.#elapsedEnd = elapsedEnd
    this.#wallEnd = wallEnd
  }

  /** Whether the lease is held; notices the end. */
  check(): boolean {
    if (this.#left <= 0 && this.end()) this.#onEnd()
    return this.isHeld
  }

  /** Ends the lease, without a call of `onEnd`. Returns whether it was held. */
  end(): boolean {
    const wasHeld = this.isHeld
    this.isHeld = false
    this.#cancel()
    return wasHeld
  }

  get #left(): number {
    const clock = this.#clock
    return Math.min(this.#wallEnd - clock.now(), this.#elapsedEnd - elapsed(clock))
  }

  #wait(): void {
    this.#cancel = later(this.#clock, this.#left, () => {
      if (this.check()) this.#wait()
    })
  }
}

function afterTimeout(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds).unref()
  return () => clearTimeout(timer)
}
