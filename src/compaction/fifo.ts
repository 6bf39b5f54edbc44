/**
 * First in, first out: files are never rewritten, only dropped when all they hold has expired. For
 * families with a time to live and without minimum versions; reads of a row may meet every file,
 * so it suits data that is read by time range or not at all.
 */
import type { CompactionPolicy } from './choice.js'
import { noDebt } from './debt.js'
import { expiredChoice } from './expired.js'
import { completeOptions } from './options.js'

/** Options of the FIFO policy: none. */
export type FifoOptions = Record<never, never>

/** See {@link FifoOptions}. */
export const fifoDefaults: FifoOptions = {}

/** Checks that there are no options; throws `ERR_INVALID_ARGUMENT`. */
export function fifoOptions(options?: unknown): FifoOptions {
  return completeOptions('fifo', fifoDefaults, {}, options)
}

/** Makes the policy. As in HBase, a requested major compaction drops what has expired, no more. */
export function fifoPolicy(_options: FifoOptions): CompactionPolicy {
  return {
    name: 'fifo',
    choose: expiredChoice,
    chooseMajor: (input) => expiredChoice(input),
    // Files are many by design.
    debt: () => noDebt,
  }
}
