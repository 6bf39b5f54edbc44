/**
 * Turns of the event loop, bounded by time: work that memory can do ends in microtasks, and a loop
 * of such work would keep timers and sockets from ever having their turn.
 */

/** Time that work may take of a turn, in milliseconds. */
const turnMilliseconds = 8

/** The budget of one kind of work; see the file header. */
export class Turns {
  #isBegun = false
  #endsAt = 0
  readonly #next = (): void => void (this.#isBegun = false)

  /** Whether the work has had its part of this turn. */
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
