/** Time as leases and sessions need it: clocks, and a timer that goes by them. All are injected. */

/** The clocks and the timer of a registry of leases or of a store with sessions. */
export interface LeaseClock {
  /** The wall clock in milliseconds, as `Date.now`: for times that are stored or shown. */
  readonly now: () => number
  /**
   * Milliseconds since any moment, of a clock that nobody sets: for timeouts and ages. Default:
   * `performance.now`; or `now`, if the clock has a timer of its own.
   */
  readonly elapsed?: (() => number) | undefined
  /**
   * Calls `action` once after so many milliseconds and returns a function that takes that back.
   * Default: `setTimeout`, which does not keep the process alive.
   */
  readonly after?: ((milliseconds: number, action: () => void) => () => void) | undefined
}

/** Timers of Node cannot wait longer. */
const waitMax = 2 ** 31 - 1

/** The time for timeouts and ages; see {@link LeaseClock.elapsed}. */
export function elapsed(clock: LeaseClock): number {
  if (clock.elapsed !== undefined) return clock.elapsed()
  return clock.after === undefined ? performance.now() : clock.now()
}

/** Calls an action after a time, or after 24 days if that is sooner. Returns what ends that. */
export function later(clock: LeaseClock, milliseconds: number, action: () => void): () => void {
  const wait = Math.min(Math.max(0, milliseconds), waitMax)
  return (clock.after ?? afterTimeout)(wait, action)
}

/** Calls an action when the wall clock may have reached a time; see {@link LeaseClock.after}. */
export function at(time: number, clock: LeaseClock, action: () => void): () => void {
  return later(clock, time - clock.now(), action)
}

function afterTimeout(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds).unref()
  return () => clearTimeout(timer)
}
