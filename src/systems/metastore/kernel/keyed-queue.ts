/** Runs tasks of one key one after the other, in order, and those of different keys at once. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles as `task` does. A task must not wait for a later one of its own key. */
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
