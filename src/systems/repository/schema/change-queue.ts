/**
 * The changes of the schema that a type manager makes, and the reads by which it follows other
 * managers, one after the other.
 */
import { repositoryError } from '../errors.js'

const attemptsMax = 100

/** The queue of one type manager; see the file header. */
export class ChangeQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves when the calls before this one have ended. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** A failed read is ignored; the next read of the type or a refresh repairs the cache. */
  follow(read: () => Promise<unknown>): void {
    this.#last = this.#last.then(read).catch(() => undefined)
  }

  /**
   * Runs a change exclusively. An attempt returns undefined if its checks failed, and is repeated.
   */
  run<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    const run = async (): Promise<T> => {
      for (let attempts = 0; attempts < attemptsMax; attempts++) {
        const result = await attempt()
        if (result !== undefined) return result
      }
      const message = 'the schema changes too often at the moment'
      throw repositoryError('concurrentRecordUpdate', message)
    }
    const result = this.#last.then(run, run)
    this.#last = result.catch(() => undefined)
    return result
  }
}
