/**
 * HBase's exploring policy. It considers all stretches of neighbouring files whose sizes are in
 * ratio. It chooses the one with the most files and, among equals, the smallest. It assumes little
 * about the data, and limits the number of files.
 */
import { invalidArgument } from '../../base/errors.js'
import { declareOptions, integer, number, type SettingsOf } from '../../base/options.js'
import type { CompactionPolicy } from './choice.js'
import { flushedDebt, idleStretches, runPolicy, runsOf, type Run } from './runs.js'

/**
 * The declaration of {@link ExploringOptions}, with HBase's defaults, except `ratioBytesMin`: files
 * of an embedded store are smaller.
 */
export const exploringOptions = declareOptions('compaction policy exploring', {
  /** Fewest files that are merged (hbase.hstore.compaction.min), from 2. Default 3. */
  filesMin: integer({ min: 2, default: 3 }),
  /**
   * Most files in one compaction (hbase.hstore.compaction.max), from 2, at least `filesMin`.
   * Default 10.
   */
  filesMax: integer({ min: 2, default: 10 }),
  /**
   * A stretch is in ratio if no file is larger than this times the sum of the others
   * (…compaction.ratio), from 0. Default 1.2: a file is rewritten only together with about as much
   * other data.
   */
  ratio: number({ min: 0, default: 1.2 }),
  /**
   * A stretch with fewer bytes than this is always in ratio (…compaction.min.size), from 0. Default
   * 8 MiB, about the size of a small flush. HBase's default of 128 MiB is its flush size.
   */
  ratioBytesMin: integer({ min: 0, default: 8 * 1024 * 1024 }),
  /**
   * A larger file in bytes, and all older files, are merged by major compactions only
   * (…compaction.max.size), from 1. Default Infinity, as in HBase.
   */
  inputBytesMax: number({ min: 1, default: Infinity }),
  /**
   * Number of files from which a stretch is merged although none is in ratio (…blockingStoreFiles),
   * from 2: the stretch that removes most files per byte. Default 16, as in HBase.
   */
  filesBlocking: integer({ min: 2, default: 16 }),
})

/** Options of the exploring policy, with HBase's names in parentheses. */
export type ExploringOptions = SettingsOf<typeof exploringOptions>

interface Found {
  inRatio: readonly Run[]
  inRatioBytes: number
  /** The stretch with the most files per byte, in ratio or not. */
  dense: readonly Run[]
  denseBytes: number
}

function explore(stretch: readonly Run[], options: ExploringOptions, found: Found): void {
  for (let start = 0; start + options.filesMin <= stretch.length; start++) {
    const endMax = Math.min(stretch.length, start + options.filesMax)
    let bytes = 0
    let largest = 0
    for (let end = start + 1; end <= endMax; end++) {
      const run = stretch[end - 1]
      bytes += run.bytes
      largest = Math.max(largest, run.bytes)
      const count = end - start
      if (count < options.filesMin) continue
      // If the largest file is in ratio, all files are.
      const fits = bytes < options.ratioBytesMin || largest <= (bytes - largest) * options.ratio
      const more = count - found.inRatio.length
      if (fits && (more > 0 || (more === 0 && bytes < found.inRatioBytes))) {
        found.inRatio = stretch.slice(start, end)
        found.inRatioBytes = bytes
      }
      if (found.dense.length === 0 || count * found.denseBytes > found.dense.length * bytes) {
        found.dense = stretch.slice(start, end)
        found.denseBytes = bytes
      }
    }
  }
}

/** The neighbouring runs to merge, newest first; none if there is nothing to do. */
export function exploreRuns(runs: readonly Run[], options: ExploringOptions): readonly Run[] {
  const tooLarge = runs.findIndex((run) => run.bytes > options.inputBytesMax)
  const candidates = tooLarge < 0 ? runs : runs.slice(0, tooLarge)
  const found: Found = { inRatio: [], inRatioBytes: 0, dense: [], denseBytes: 0 }
  for (const stretch of idleStretches(candidates)) explore(stretch, options, found)
  if (found.inRatio.length > 0) return found.inRatio
  return runs.length >= options.filesBlocking ? found.dense : []
}

/** Makes the policy. Throws `ERR_INVALID_ARGUMENT` if `filesMin` is greater than `filesMax`. */
export function exploringPolicy(options: ExploringOptions): CompactionPolicy {
  if (options.filesMin > options.filesMax) {
    throw invalidArgument('option filesMin must not be greater than filesMax')
  }
  return runPolicy({
    runsOf,
    chooseRuns: (runs) => exploreRuns(runs, options),
    debt: (input) => flushedDebt(input, options.filesBlocking),
  })
}
