/**
 * The outcome of a list of operations. A failure does not prevent the other operations, and all
 * failures are reported together.
 */
import { stronger } from '../../api/durability.js'
import { ListFailures } from '../../checks/list-failures.js'
import type { Durability } from '../../storage/wal/log-options.js'
import { isBlockMissing } from '../reads/block-loading.js'

/** Collects the outcomes of the operations of a list. */
export class ListOutcome extends ListFailures {
  /**
   * The durability to commit: the strongest of all applied operations; undefined if none was
   * applied.
   */
  strongest: Durability | undefined = undefined

  /** Records that operations of this durability were applied. */
  applied(durability: Durability): void {
    this.strongest =
      this.strongest === undefined ? durability : stronger(this.strongest, durability)
  }

  /**
   * Carries out one operation of the list. Returns the index after it. May throw `BlockMissing`.
   */
  attempt(at: number, apply: () => Durability): number {
    try {
      this.applied(apply())
    } catch (error) {
      if (isBlockMissing(error)) throw error
      this.failed(at, error)
    }
    return at + 1
  }
}
