/** Clocks and timers of leases and sessions. All can be injected. */
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

/** Calls an action when the wall clock may have reached a time; see {@link LeaseClock.after}. */
export function at(time: number, clock: LeaseClock, action: () => void): () => void {
  return later(clock, time - clock.now(), action)
}

function afterTimeout(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds).unref()
  return () => clearTimeout(timer)
}
