/** The waits of an election: of callers, of readers, and of the election between two attempts. */
import { laterForCaller } from '../kernel/backoff.js'
import { later, type LeaseClock } from '../kernel/lease-clock.js'

/** What a participant is. */
export type LeaderElectionState = 'NoLeader' | 'Leading' | 'Following'

interface Caller {
  readonly resolve: (state: LeaderElectionState) => void
  readonly reject: (error: unknown) => void
}

/** How an election ended for the callers. */
export type ElectionOutcome =
  | { readonly state: LeaderElectionState }
  | {
      /** The error that the callers reject with. */
      readonly error: unknown
    }

/** See the file header. */
export class ElectionWaits {
  readonly #clock: LeaseClock
  #isElecting = false
  #callers: Caller[] = []
  readonly #onSettled = new Set<() => void>()
  #mustGoOn = false
  #endPause: (() => void) | undefined = undefined

  constructor(clock: LeaseClock) {
    this.#clock = clock
  }

  /** Whether an election is under way. */
  get isElecting(): boolean {
    return this.#isElecting
  }

  /** Calls that the next outcome answers. */
  get callers(): number {
    return this.#callers.length
  }

  /** Whether something has changed since `attempt`, so that another one has to follow. */
  get mustGoOn(): boolean {
    return this.#mustGoOn
  }

  /** Waits for the outcome. */
  call(): Promise<LeaderElectionState> {
    return new Promise((resolve, reject) => this.#callers.push({ resolve, reject }))
  }

  /** Begins an election; false if one is under way, which makes another attempt then. */
  begin(): boolean {
    if (this.#isElecting) {
      this.goOn()
      return false
    }
    this.#isElecting = true
    return true
  }

  /** An attempt begins. */
  attempt(): void {
    this.#mustGoOn = false
  }

  /** Another attempt follows at once. */
  goOn(): void {
    this.#mustGoOn = true
    this.#endPause?.()
  }

  /** Ends the election, in the turn of its last attempt: what happens later begins another. */
  settle(outcome: ElectionOutcome): void {
    this.#isElecting = false
    const callers = this.#callers
    this.#callers = []
    for (const tell of this.#onSettled) tell()
    for (const { resolve, reject } of callers) {
      if ('state' in outcome) resolve(outcome.state)
      else reject(outcome.error)
    }
  }

  /** Resolves when no election is under way. `onWait` gets a function that ends the wait before. */
  settled(onWait?: (wake: () => void) => void): Promise<void> {
    if (!this.#isElecting) return Promise.resolve()
    return new Promise((resolve) => {
      const tell = (): void => {
        this.#onSettled.delete(tell)
        resolve()
      }
      this.#onSettled.add(tell)
      onWait?.(tell)
    })
  }

  /** Waits before the next attempt, or until another one has to follow at once. */
  pause(milliseconds: number): Promise<void> {
    if (this.#mustGoOn) return Promise.resolve()
    return new Promise((resolve) => {
      // Only a call that waits keeps the process alive.
      const start = this.#callers.length > 0 ? laterForCaller : later
      const stop = start(this.#clock, milliseconds, () => this.#endPause?.())
      this.#endPause = () => {
        this.#endPause = undefined
        stop()
        resolve()
      }
    })
  }
}
