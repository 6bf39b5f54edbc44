/**
 * Drops files of which every cell has expired, without reading them, and the FIFO policy, which
 * does nothing else: it never merges. FIFO is for families with a time to live and without minimum
 * versions. A read of a row may have to look into every file, so the policy suits data that is read
 * by time range, or not at all.
 *
 * A cell has expired if its timestamp is less than now minus the time to live; a cell of exactly
 * that age has not expired. Markers count like cells. If the family keeps no expired versions, an
 * expired marker masks nothing, because all cells that it could mask have expired too.
 */
import { declareOptions, type SettingsOf } from '../../base/options.js'
import type { FileMetadata } from '../version/file-metadata.js'
import {
  nothing,
  type CompactionChoice,
  type CompactionPolicy,
  type PolicyInput,
} from './choice.js'
import { noDebt } from './runs.js'
import { isBusy } from './selection.js'

/** Whether every entry of the file has expired and may be dropped. */
function isExpired(input: PolicyInput, file: FileMetadata): boolean {
  if (input.ttlMilliseconds === Infinity || input.minVersions > 0) return false
  return file.maxTimestamp < input.now - input.ttlMilliseconds
}

/** Drops all files that have expired and that no job reads. */
export function expiredChoice(input: PolicyInput): CompactionChoice {
  const expired = input.levels.flat().filter((file) => isExpired(input, file))
  const files = expired.filter((file) => !isBusy(input, file))
  if (files.length === 0) return nothing
  return { kind: 'drop', files }
}

/** The declaration of {@link FifoOptions}. */
export const fifoOptions = declareOptions('compaction policy fifo', {})

/** Options of the FIFO policy: none. */
export type FifoOptions = SettingsOf<typeof fifoOptions>

/** Makes the policy. As in HBase, a requested major compaction only drops expired files. */
export function fifoPolicy(_options: FifoOptions): CompactionPolicy {
  return {
    choose: expiredChoice,
    chooseMajor: expiredChoice,
    // This policy keeps many files by design.
    debt: () => noDebt,
  }
}
