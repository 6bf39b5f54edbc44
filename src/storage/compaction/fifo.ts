/**
 * The FIFO policy: files are never merged, only dropped when all of their cells have expired. For
 * families with a time to live and without minimum versions. A read of a row may have to look into
 * every file, so the policy suits data that is read by time range, or not at all.
 */
import type { CompactionPolicy } from './choice.js'
import { noDebt } from './debt.js'
import { expiredChoice } from './expired.js'
import { completeOptions } from './options.js'

/** Options of the FIFO policy: none. */
export type FifoOptions = Record<never, never>

/** No options. */
export const fifoDefaults: FifoOptions = {}

/** Throws `ERR_INVALID_ARGUMENT` if there are any options. */
export function fifoOptions(options?: unknown): FifoOptions {
  return completeOptions('fifo', fifoDefaults, {}, options)
}

/** Makes the policy. As in HBase, a requested major compaction only drops expired files. */
export function fifoPolicy(_options: FifoOptions): CompactionPolicy {
  return {
    name: 'fifo',
    choose: expiredChoice,
    chooseMajor: (input) => expiredChoice(input),
    // This policy keeps many files by design.
    debt: () => noDebt,
  }
}
