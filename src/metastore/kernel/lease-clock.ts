/** Time as leases and sessions need it: a clock, and a timer that goes by it. Both are injected. */

/** The clock and the timer of a registry of leases or of a store with sessions. */
export interface LeaseClock {
  /** The wall clock in milliseconds, as `Date.now`. It must not go back. */
  readonly now: () => number
  /**
   * Calls `action` once after so many milliseconds and returns a function that takes that back.
   * Default: `setTimeout`, which does not keep the process alive.
   */
  readonly after?: (milliseconds: number, action: () => void) => () => void
}

/** Timers of Node cannot wait longer. */
const waitMax = 2 ** 31 - 1

/** Calls an action when the clock may have reached a time; see {@link LeaseClock.after}. */
export function at(time: number, clock: LeaseClock, action: () => void): () => void {
  const wait = Math.min(Math.max(0, time - clock.now()), waitMax)
  return (clock.after ?? afterTimeout)(wait, action)
}

function afterTimeout(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds).unref()
  return () => clearTimeout(timer)
}
