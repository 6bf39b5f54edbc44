/** Locks by key in this process, for engines whose updates are not atomic by themselves. */

/** Runs what is given under one key after the other, under different keys at the same time. */
export class KeyLocks {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Calls `step` when all earlier steps of the key have ended, however they ended. */
  run<T>(key: Buffer, step: () => Promise<T>): Promise<T> {
    const name = key.toString('latin1')
    const tail = this.#tails.get(name)
    const run = tail === undefined ? step() : tail.then(step)
    const ended = run.catch(() => undefined)
    this.#tails.set(name, ended)
    void ended.then(() => {
      if (this.#tails.get(name) === ended) this.#tails.delete(name)
    })
    return run
  }
}
