/** A queue of callers that wait for something, the oldest first. */

/** Somebody who waits: two functions instead of a chain of promises, because there may be many. */
export interface Waiter {
  readonly run: () => void
  readonly fail: (error: unknown) => void
}

/** Places at the front that may be empty before the others move up. */
const emptyMax = 1024

/** The queue. Callers that are let go or fail may add others meanwhile. */
export class Waiters {
  private waiting: (Waiter | undefined)[] = []
  /** Place of the oldest. */
  private front = 0

  get count(): number {
    return this.waiting.length - this.front
  }

  add(run: () => void, fail: (error: unknown) => void): void {
    this.waiting.push({ run, fail })
  }

  /** Lets the oldest go. REQUIRES that somebody waits. */
  runNext(): void {
    const { run } = this.waiting[this.front]!
    this.waiting[this.front++] = undefined
    if (this.front === this.waiting.length) {
      this.waiting = []
      this.front = 0
    } else if (this.front >= emptyMax && this.front * 2 > this.waiting.length) {
      this.waiting.splice(0, this.front)
      this.front = 0
    }
    run()
  }

  /** All are told why nobody is let go any more. */
  fail(error: unknown): void {
    const failed = this.waiting.slice(this.front)
    this.waiting = []
    this.front = 0
    for (const waiter of failed) waiter!.fail(error)
  }
}
