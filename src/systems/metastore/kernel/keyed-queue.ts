/** Runs tasks of the same key one at a time, in order, and tasks of different keys concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles as `task` does. A task that waits for a later task of its own key deadlocks. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const result = before === undefined ? task() : before.then(task, task)
    this.#last.set(key, result)
    const forget = (): void => {
      if (this.#last.get(key) === result) this.#last.delete(key)
    }
    result.then(forget, forget)
    return result
  }
}
