/**
 * HBase's exploring policy. It considers all stretches of neighbouring files whose sizes are in
 * ratio. It chooses the one with the most files and, among equals, the smallest. It assumes little
 * about the data, and limits the number of files.
 */
import type { CompactionPolicy } from './choice.js'
import { flushedDebt } from './debt.js'
import { checkOrder, completeOptions } from './options.js'
import { runPolicy } from './run-policy.js'
import { idleStretches, runsOf, type Run } from './runs.js'

/** Options of the exploring policy, with HBase's names in parentheses. */
export interface ExploringOptions {
  /** Fewest files that are merged (hbase.hstore.compaction.min), from 2. Default 3. */
  readonly filesMin: number
  /**
   * Most files in one compaction (hbase.hstore.compaction.max), from 2, at least `filesMin`.
   * Default 10.
   */
  readonly filesMax: number
  /**
   * A stretch is in ratio if no file is larger than this times the sum of the others
   * (…compaction.ratio), from
   * 0. Default 1.2: a file is rewritten only together with about as much other data.
   */
  readonly ratio: number
  /**
   * A stretch with fewer bytes than this is always in ratio (…compaction.min.size), from 0. Default
   * 8 MiB, about the size of a small flush. HBase's default of 128 MiB is its flush size.
   */
  readonly ratioBytesMin: number
  /**
   * A larger file in bytes, and all older files, are merged by major compactions only
   * (…compaction.max.size), from 1. Default Infinity, as in HBase.
   */
  readonly inputBytesMax: number
  /**
   * Number of files from which a stretch is merged although none is in ratio (…blockingStoreFiles),
   * from 2: the stretch that removes most files per byte. Default 16, as in HBase.
   */
  readonly filesBlocking: number
}

/** HBase's defaults, except `ratioBytesMin`: files of an embedded store are smaller. */
export const exploringDefaults: ExploringOptions = {
  filesMin: 3,
  filesMax: 10,
  ratio: 1.2,
  ratioBytesMin: 8 * 1024 * 1024,
  inputBytesMax: Infinity,
  filesBlocking: 16,
}

/** Fills in defaults and checks the options. Throws `ERR_INVALID_ARGUMENT`. */
export function exploringOptions(options?: unknown): ExploringOptions {
  const complete = completeOptions('exploring', exploringDefaults, exploringRanges, options)
  checkOrder('exploring', 'filesMin', complete.filesMin, 'filesMax', complete.filesMax)
  return complete
}

const exploringRanges = {
  filesMin: { min: 2 },
  filesMax: { min: 2 },
  ratio: { min: 0, fractions: true },
  ratioBytesMin: { min: 0 },
  inputBytesMax: { min: 1, fractions: true },
  filesBlocking: { min: 2 },
}

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

/** Makes the policy. */
export function exploringPolicy(options: ExploringOptions): CompactionPolicy {
  return runPolicy({
    name: 'exploring',
    runsOf,
    chooseRuns: (runs) => exploreRuns(runs, options),
    debt: (input) => flushedDebt(input, options.filesBlocking),
  })
}
