/**
 * Tells when every commit has ended that began before a moment: a commit that began earlier does
 * not know of an index that was declared meanwhile.
 */

interface Generation {
  running: number
  whenIdle: (() => void) | undefined
}

/** Counts the commits that run. */
export class CommitGate {
  #generation: Generation = { running: 0, whenIdle: undefined }
  #earlier: Promise<void> = Promise.resolve()

  /** A commit begins; what it returns is given to {@link leave}. */
  enter(): Generation {
    this.#generation.running++
    return this.#generation
  }

  leave(generation: Generation): void {
    generation.running--
    if (generation.running === 0) generation.whenIdle?.()
  }

  /** Resolves when all commits have ended that run now. */
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
