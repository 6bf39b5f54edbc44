/** A queue of waiting callers, the oldest first. */

/**
 * A waiting caller: two functions instead of a chain of promises, because there may be very many.
 */
export interface Waiter {
  readonly run: () => void
  readonly fail: (error: unknown) => void
}

/** Number of empty elements at the front after which the array is shortened. */
const emptyMax = 1024

/** The queue. Functions called by it may add callers. */
export class Waiters {
  private waiting: (Waiter | undefined)[] = []
  /** Index of the oldest waiting caller. */
  private front = 0

  get count(): number {
    return this.waiting.length - this.front
  }

  add(run: () => void, fail: (error: unknown) => void): void {
    this.waiting.push({ run, fail })
  }

  /** Lets the oldest caller continue. REQUIRES that there is one. */
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

  /** Rejects all waiting callers. */
  fail(error: unknown): void {
    const failed = this.waiting.slice(this.front)
    this.waiting = []
    this.front = 0
    for (const waiter of failed) waiter!.fail(error)
  }
}
