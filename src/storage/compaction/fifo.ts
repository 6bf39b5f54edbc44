/**
 * The FIFO policy: files are never merged, only dropped when all of their cells have expired. For
 * families with a time to live and without minimum versions. A read of a row may have to look into
 * every file, so the policy suits data that is read by time range, or not at all.
 */
import { declareOptions, type SettingsOf } from '../../base/options.js'
import type { CompactionPolicy } from './choice.js'
import { noDebt } from './debt.js'
import { expiredChoice } from './expired.js'

/** The declaration of {@link FifoOptions}. */
export const fifoOptions = declareOptions('compaction policy fifo', {})

/** Options of the FIFO policy: none. */
export type FifoOptions = SettingsOf<typeof fifoOptions>

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
