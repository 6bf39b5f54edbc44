/** One election: its attempts until an outcome, and the calls that wait for the outcome. */
import { assert } from '../../../api/index.js'
import { laterForCaller } from '../kernel/backoff.js'
import { later, type LeaseClock } from '../kernel/lease-clock.js'

/** The state of a participant. */
export type LeaderElectionState = 'NoLeader' | 'Leading' | 'Following'

/** The outcome of an election for its callers. */
export type ElectionOutcome =
  | { readonly state: LeaderElectionState }
  | {
      /** The error that the callers reject with. */
      readonly error: unknown
    }

/** One election of a participant; see the file header. */
export class ElectionRound {
  /** Number of calls that wait for the outcome. */
  callers = 0
  /** Whether another attempt must follow, because of a change since the last one began. */
  mustGoOn = false
  readonly #waiting = new Set<(outcome: ElectionOutcome) => void>()
  #endPause: (() => void) | undefined = undefined
  #isSettled = false

  /** Waits for the outcome as a caller. */
  call(): Promise<LeaderElectionState> {
    this.callers++
    return new Promise((resolve, reject) => {
      this.onSettled((outcome) => {
        if ('state' in outcome) resolve(outcome.state)
        else reject(outcome.error)
      })
    })
  }

  /** Calls a function with the outcome. Returns a function that unregisters the function. */
  onSettled(listener: (outcome: ElectionOutcome) => void): () => void {
    this.#waiting.add(listener)
    return () => void this.#waiting.delete(listener)
  }

  /** Ends the election. */
  settle(outcome: ElectionOutcome): void {
    assert(!this.#isSettled, 'an election has one outcome')
    this.#isSettled = true
    for (const listener of this.#waiting) listener(outcome)
  }

  /** Requests another attempt without a wait. */
  goOn(): void {
    this.mustGoOn = true
    this.#endPause?.()
  }

  /** Waits before the next attempt; `goOn` ends the wait. */
  pause(clock: LeaseClock, milliseconds: number): Promise<void> {
    if (this.mustGoOn) return Promise.resolve()
    return new Promise((resolve) => {
      // Only waiting calls keep the process alive.
      const start = this.callers > 0 ? laterForCaller : later
      const stop = start(clock, milliseconds, () => this.#endPause?.())
      this.#endPause = () => {
        this.#endPause = undefined
        stop()
        resolve()
      }
    })
  }
}
