/**
 * The changes of the schema that a type manager makes, and the reads by which it follows other
 * managers, one after the other.
 */
import { CallOrder } from '../../../comfort/call-order.js'
import { repositoryError } from '../errors.js'

const attemptsMax = 100

/** The queue of one type manager; see the file header. */
export class ChangeQueue {
  readonly #order = new CallOrder()

  /** Resolves when the calls before this one have ended. */
  settled(): Promise<void> {
    return this.#order.run(() => undefined)
  }

  /** A failed read is ignored; the next read of the type or a refresh repairs the cache. */
  follow(read: () => Promise<unknown>): void {
    this.#order.run(read).catch(() => undefined)
  }

  /**
   * Runs a change exclusively. An attempt returns undefined if its checks failed, and is repeated.
   */
  run<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    return this.#order.run(async () => {
      for (let attempts = 0; attempts < attemptsMax; attempts++) {
        const result = await attempt()
        if (result !== undefined) return result
      }
      const message = 'the schema changes too often at the moment'
      throw repositoryError('concurrentRecordUpdate', message)
    })
  }
}
