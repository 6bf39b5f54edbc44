/**
 * Waits for the commits that run at present. A commit that began before the declaration of an index
 * does not write rows of that index. A build must wait for it.
 */
import { assert } from '../../../../api/index.js'

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
    assert(generation.running >= 0, 'a commit leaves its generation once')
    if (generation.running === 0) generation.whenIdle?.()
  }

  /** Resolves when all commits that run now have ended. */
  turn(): Promise<void> {
    const old = this.#generation
    this.#generation = { running: 0, whenIdle: undefined }
    const idle = new Promise<void>((resolve) => {
      if (old.running === 0) resolve()
      else old.whenIdle = resolve
    })
    this.#earlier = this.#earlier.then(() => idle)
    return this.#earlier
  }
}
