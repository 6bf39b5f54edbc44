/**
 * What became of the operations of a list: those that fail do not keep the others from being
 * applied, and all failures are reported together.
 */
import { stronger } from '../../api/checks/durability.js'
import { ListFailures } from '../../api/checks/list-failures.js'
import type { Durability } from '../../wal/log.js'
import { isBlockMissing } from '../reads/block-loading.js'

/** Gathers what became of the operations of a list. */
export class ListOutcome extends ListFailures {
  /** What has to be committed: the strongest of what was applied. */
  strongest: Durability | undefined = undefined

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
}
