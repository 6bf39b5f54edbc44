/**
 * HBase's exploring policy: of all stretches of neighbouring files that are in ratio, the one with
 * most files, then the smallest. It assumes little and bounds the number of files.
 */
import type { CompactionPolicy } from './choice.js'
import { flushedDebt } from './debt.js'
import { checkOrder, completeOptions } from './options.js'
import { runPolicy } from './run-policy.js'
import { idleStretches, runsOf, type Run } from './runs.js'

/** Options of the exploring policy, with HBase's names in the comments. */
export interface ExploringOptions {
  /** Fewest files worth a compaction (hbase.hstore.compaction.min), from 2. Default 3. */
  readonly filesMin: number
  /** Most files in one compaction (hbase.hstore.compaction.max). Default 10. */
  readonly filesMax: number
  /**
   * No file may be larger than this times the sum of the others (…compaction.ratio), from 0.
   * Default 1.2: a file is rewritten only together with about as much other data.
   */
  readonly ratio: number
  /**
   * A stretch smaller than this is always in ratio (…compaction.min.size). Default 8 MiB: about a
   * small flush; HBase's 128 MiB is its flush size.
   */
  readonly ratioBytesMin: number
  /**
   * A larger file, and all older ones, are left to major compactions (…compaction.max.size).
   * Default Infinity, as in HBase.
   */
  readonly inputBytesMax: number
  /**
   * At this many files the stretch that removes most files a byte is taken although it is out of
   * ratio (…blockingStoreFiles). Default 16, as in HBase.
   */
  readonly filesBlocking: number
}

/** HBase's defaults, but for the smaller files of an embedded store. */
export const exploringDefaults: ExploringOptions = {
  filesMin: 3,
  filesMax: 10,
  ratio: 1.2,
  ratioBytesMin: 8 * 1024 * 1024,
  inputBytesMax: Infinity,
  filesBlocking: 16,
}

/** Fills in and checks the options; throws `ERR_INVALID_ARGUMENT`. */
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
  /** Most files a byte, whatever the ratio. */
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
      // If the largest is in ratio, so are the others.
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

/** The neighbours to merge among runs, newest first; none if there is nothing to do. */
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
