/** Promises that a later call settles. */

/** As `Promise.withResolvers` of Node 22 returns it. */
export interface Deferred<T> {
  /** Settles as the first call of the other two says. */
  readonly promise: Promise<T>
  /** Resolves the promise. */
  readonly resolve: (value: T) => void
  /** Rejects the promise. */
  readonly reject: (reason: unknown) => void
}

/** Makes a {@link Deferred}. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/** Callers that wait for the next change of something. */
export class Waiters {
  private readonly waiting = new Set<() => void>()

  /** Number of waiting callers. */
  get size(): number {
    return this.waiting.size
  }

  /** Ends all waits that have begun. */
  wake(): void {
    if (this.waiting.size === 0) return
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const end of waiting) end()
  }

  /** Resolves at the next `wake`, when the signal fires, or after a time if one is given. */
  wait(signal?: AbortSignal, milliseconds?: number): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.waiting.delete(end)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = milliseconds === undefined ? undefined : setTimeout(end, milliseconds)
      this.waiting.add(end)
      signal?.addEventListener('abort', end)
    })
  }
}
