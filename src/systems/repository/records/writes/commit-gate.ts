/**
 * Waits for the commits that run at present. A commit that began before the declaration of an index
 * does not write rows of that index. A build must wait for it.
 */

interface Generation {
  running: number
  whenIdle: (() => void) | undefined
}

/** Counts running commits by generation. */
export class CommitGate {
  #generation: Generation = { running: 0, whenIdle: undefined }
  #earlier: Promise<void> = Promise.resolve()

  /** Starts a commit; the result is passed to {@link leave}. */
  enter(): Generation {
    this.#generation.running++
    return this.#generation
  }

  leave(generation: Generation): void {
    generation.running--
    if (generation.running === 0) generation.whenIdle?.()
  }

  /** Resolves when all commits that run now have ended. */
  turn(): Promise<void> {
    const old = this.#generation
    this.#generation = { running: 0, whenIdle: undefined }
    const { promise, resolve } = withResolver()
    if (old.running === 0) resolve()
    else old.whenIdle = resolve
    this.#earlier = Promise.all([this.#earlier, promise]).then(() => undefined)
    return this.#earlier
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}
