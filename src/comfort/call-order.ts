/** Keeps calls in their order although some of them must wait for a read. */
export class CallOrder {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** Whether no call waits, so the next one may run at once. */
  get isIdle(): boolean {
    return this.#waiting === 0
  }

  /** Runs a call after all earlier ones. */
  async run<T>(call: () => T | Promise<T>): Promise<T> {
    this.#waiting++
    const own = this.#last.then(call)
    this.#last = own.catch(() => undefined)
    try {
      return await own
    } finally {
      this.#waiting--
    }
  }
}
