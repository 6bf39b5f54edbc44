/** Exponential backoff with jitter, up to a deadline, and waits on an injected clock. */
import { randomInt } from 'node:crypto'
import {
  declareOptions,
  number,
  systemClock,
  timerMillisecondsMax,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { elapsed, later, type LeaseClock } from './lease-clock.js'

/** The declaration of {@link BackoffOptions}. */
export const backoffOptions = declareOptions('a backoff', {
  /** The first wait. Default 5. */
  initialMilliseconds: number({ min: 0, default: 5 }),
  /** The longest wait. Default 3,000. */
  maxMilliseconds: number({ min: 0, default: 3_000 }),
  /** Time after which there are no more attempts. Default 30,000; 0 = a single attempt. */
  stopMilliseconds: number({ min: 0, default: 30_000 }),
})

/** Settings of the waits between attempts. */
export interface BackoffOptions extends OptionsOf<typeof backoffOptions> {}

type BackoffSettings = SettingsOf<typeof backoffOptions>

/** The default settings. */
export const backoffDefaults: BackoffSettings = Object.freeze(backoffOptions.read({}))

/** Settings of a single attempt. */
export const withoutBackoff: BackoffSettings = Object.freeze({
  initialMilliseconds: 0,
  maxMilliseconds: 0,
  stopMilliseconds: 0,
})

/** The sources of time and randomness. */
export interface BackoffSources {
  readonly clock: LeaseClock
  /** Random numbers of at least 0 and below 1. */
  readonly random: () => number
}

export { systemClock }

/** A random number of at least 0 and below 1, from `node:crypto`. */
export function systemRandom(): number {
  return randomInt(2 ** 32) / 2 ** 32
}

/** The waits between the attempts of one operation. */
export class Backoff {
  /** Whether there is only one attempt. */
  readonly isSingle: boolean
  readonly #sources: BackoffSources
  readonly #max: number
  readonly #stopAt: number
  #next: number

  constructor(settings: BackoffSettings, sources: BackoffSources) {
    this.isSingle = settings.stopMilliseconds === 0
    this.#sources = sources
    this.#next = settings.initialMilliseconds
    this.#max = settings.maxMilliseconds
    this.#stopAt = elapsed(sources.clock) + settings.stopMilliseconds
  }

  /** Waits before the next attempt; false after the deadline. */
  async wait(): Promise<boolean> {
    const { clock, random } = this.#sources
    const left = this.#stopAt - elapsed(clock)
    if (left <= 0) return false
    const wait = Math.min(this.#next * (0.5 + random() / 2), left)
    this.#next = Math.min(this.#next * 2, this.#max)
    await pause(clock, wait)
    return true
  }
}

/**
 * Resolves after a time that a caller awaits. Unlike {@link after}, the default timer keeps the
 * process alive: otherwise a program that only awaits this call would exit before its result.
 */
export function pause(clock: LeaseClock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => laterForCaller(clock, milliseconds, resolve))
}

/** As {@link later}, for an action that a caller awaits; see {@link pause}. */
export function laterForCaller(
  clock: LeaseClock,
  milliseconds: number,
  action: () => void,
): () => void {
  if (clock.after !== undefined) return later(clock, milliseconds, action)
  const timer = setTimeout(action, Math.min(milliseconds, timerMillisecondsMax))
  return () => clearTimeout(timer)
}

/** Resolves after a time. The default timer does not keep the process alive. */
export function after(clock: LeaseClock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => later(clock, milliseconds, resolve))
}
