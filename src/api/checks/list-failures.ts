/** Failures of the operations of a list, which do not keep the others from being applied. */
import { BatchError, CellarError, ErrorCode } from '../../base/errors.js'

/** Gathers failures by position. */
export class ListFailures {
  private failures: Map<number, CellarError> | undefined = undefined

  /** Errors that concern the whole database end the list at once. */
  failed(index: number, error: unknown): void {
    const mine =
      error instanceof CellarError &&
      error.code !== ErrorCode.closed &&
      error.code !== ErrorCode.poisoned
    if (!mine) throw error
    this.failures ??= new Map()
    this.failures.set(index, error)
  }

  /** As {@link failed} for the operations `[from, to)`, except for those that failed before. */
  failedTogether(from: number, to: number, error: unknown): void {
    for (let i = from; i < to; i++) if (!this.failures?.has(i)) this.failed(i, error)
  }

  /** Throws `ERR_BATCH_FAILED` if any of the `total` operations failed. */
  throwFailures(total: number): void {
    if (this.failures === undefined) return
    const [first] = this.failures.values()
    const message =
      `${this.failures.size} of ${total} operations failed, the others were applied; ` +
      `the first failure: ${first.message}`
    throw new BatchError(message, this.failures, first)
  }
}
