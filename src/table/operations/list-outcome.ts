/**
 * What became of the operations of a list: those that fail do not keep the others from being
 * applied, and all failures are reported together.
 */
import { BatchError, CellarError, ErrorCode } from '../../base/errors.js'
import type { Durability } from '../../wal/log.js'
import { isBlockMissing } from '../reads/block-loading.js'
import { stronger } from './durability.js'

/** Gathers what became of the operations of a list. */
export class ListOutcome {
  /** What has to be committed: the strongest of what was applied. */
  strongest: Durability | undefined = undefined
  private failures: Map<number, CellarError> | undefined = undefined

  /** Operations of this durability were applied. */
  applied(durability: Durability): void {
    this.strongest =
      this.strongest === undefined ? durability : stronger(this.strongest, durability)
  }

  /** Carries out one operation of the list; returns the place behind it. May miss a block. */
  attempt(at: number, apply: () => Durability): number {
    try {
      this.applied(apply())
    } catch (error) {
      if (isBlockMissing(error)) throw error
      this.failed(at, error)
    }
    return at + 1
  }

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
