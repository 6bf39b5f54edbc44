/**
 * Time-bounded turns of the event loop. In-memory work completes in microtasks, so a loop of such
 * work would starve timers and sockets.
 */

/** Longest time of work in one turn, in milliseconds. */
const turnMilliseconds = 8

/** The time budget of one kind of work; see the file header. */
export class Turns {
  #isBegun = false
  #endsAt = 0
  readonly #next = (): void => void (this.#isBegun = false)

  /** Whether the budget of this turn is used up. */
  get isSpent(): boolean {
    const now = performance.now()
    if (!this.#isBegun) {
      this.#isBegun = true
      this.#endsAt = now + turnMilliseconds
      setImmediate(this.#next)
    }
    return now >= this.#endsAt
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve))
  }
}
