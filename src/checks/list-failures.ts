/** Failures of single operations of a list; the other operations are applied nevertheless. */
import { CellarError, ErrorCode } from '../base/errors.js'

export class ListFailures {
  #failures: Map<number, CellarError> | undefined = undefined

  /**
   * Records the failure of an operation. Throws an error that concerns the whole database, which
   * ends the list.
   */
  failed(index: number, error: unknown): void {
    const mine =
      error instanceof CellarError &&
      error.code !== ErrorCode.closed &&
      error.code !== ErrorCode.poisoned
    if (!mine) throw error
    this.#failures ??= new Map()
    this.#failures.set(index, error)
  }

  /** As {@link failed} for the operations `[from, to)`, except those that failed before. */
  failedTogether(from: number, to: number, error: unknown): void {
    for (let i = from; i < to; i++) if (!this.#failures?.has(i)) this.failed(i, error)
  }

  /** Throws `ERR_BATCH_FAILED` if any of the `total` operations failed. */
  throwFailures(total: number): void {
    if (this.#failures === undefined) return
    const [first] = this.#failures.values()
    const message =
      `${this.#failures.size} of ${total} operations failed, the others were applied; ` +
      `the first failure: ${first.message}`
    const options = { failures: this.#failures, cause: first }
    throw new CellarError(ErrorCode.batchFailed, message, options)
  }
}
