/**
 * Merges that reads have paid for. Every run beyond the first that a read meets costs the read
 * time. When the reads of a store at rest have lost as much as a merge would take, the merge is
 * chosen: at the best all files become one run, else the runs of level 0 do.
 *
 * So these merges write at most as many bytes as reads have paid for, however often the store is
 * written to. A store that gets a file, or that nobody reads, has none of them.
 */
import {
  nothing,
  type CompactionChoice,
  type CompactionPolicy,
  type PolicyInput,
} from './choice.js'
import { totalBytes } from './rows.js'
import { flushedRuns, mergeRuns } from './runs.js'

/**
 * What a run beyond the first costs a scan, in bytes that are merged in that time: a seek, and a
 * block entered or loaded. It took 11 µs, in which a thread merges 4 KiB. Twice as much counts,
 * because the thread of the reads is the scarcer one.
 */
export const bytesPerScannedRun = 8192

/** The same for the get of a row, which the Bloom filter of the run has not excluded. */
export const bytesPerReadRun = 1024

/** What a merge costs beside its bytes: a thread may have to start, and an edit is synced. */
const bytesPerMerge = 1024 * 1024

/** Fewest runs of level 0 that are merged alone, so that the merge removes two of them. */
const flushedRunsMin = 3

/** The merge that reads have paid for, of a policy that merges without regard to ages. */
export function choiceByReads(
  policy: Pick<CompactionPolicy, 'chooseMajor'>,
  input: PolicyInput,
): CompactionChoice {
  const { busyFiles, levels, readBytes, resting } = input
  if (!resting || readBytes <= bytesPerMerge || busyFiles.size > 0) return nothing
  const flushed = flushedRuns(input)
  const deep = levels.slice(1).filter((files) => files.length > 0)
  if (flushed.length + deep.length < 2) return nothing
  const isPaid = (bytes: number): boolean => bytes + bytesPerMerge <= readBytes
  if (isPaid(totalBytes(levels.flat()))) return policy.chooseMajor(input)
  const pays = flushed.length >= flushedRunsMin && isPaid(totalBytes(levels[0]))
  return pays ? mergeRuns(input, flushed) : nothing
}
