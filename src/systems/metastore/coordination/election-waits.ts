/** The waits of an election: of callers, of readers, and between two attempts. */
import { laterForCaller } from '../kernel/backoff.js'
import { later, type LeaseClock } from '../kernel/lease-clock.js'

/** The state of a participant. */
export type LeaderElectionState = 'NoLeader' | 'Leading' | 'Following'

interface Caller {
  readonly resolve: (state: LeaderElectionState) => void
  readonly reject: (error: unknown) => void
}

/** The outcome of an election for its callers. */
export type ElectionOutcome =
  | { readonly state: LeaderElectionState }
  | {
      /** The error that the callers reject with. */
      readonly error: unknown
    }

/** The waits of one participant; see the file header. */
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

  /** Whether an election is in progress. */
  get isElecting(): boolean {
    return this.#isElecting
  }

  /** Number of calls that wait for the next outcome. */
  get callers(): number {
    return this.#callers.length
  }

  /** Whether another attempt must follow, because of a change since `attempt`. */
  get mustGoOn(): boolean {
    return this.#mustGoOn
  }

  /** Waits for the outcome. */
  call(): Promise<LeaderElectionState> {
    return new Promise((resolve, reject) => this.#callers.push({ resolve, reject }))
  }

  /**
   * Begins an election. If one is in progress, requests another attempt of it and returns false.
   */
  begin(): boolean {
    if (this.#isElecting) {
      this.goOn()
      return false
    }
    this.#isElecting = true
    return true
  }

  /** Called at the start of each attempt. */
  attempt(): void {
    this.#mustGoOn = false
  }

  /** Requests another attempt without a wait. */
  goOn(): void {
    this.#mustGoOn = true
    this.#endPause?.()
  }

  /** Ends the election, in the turn of its last attempt: later changes begin another election. */
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

  /**
   * Resolves when no election is in progress. `onWait` receives a function that ends the wait
   * early.
   */
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

  /** Waits before the next attempt; `goOn` ends the wait. */
  pause(milliseconds: number): Promise<void> {
    if (this.#mustGoOn) return Promise.resolve()
    return new Promise((resolve) => {
      // Only waiting calls keep the process alive.
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
