/**
 * The size-tiered policy: merges runs of similar size, so an entry is written about as often as the
 * logarithm of the number of flushes. It is the cheapest to write among the policies that keep all
 * data. Reads look into several runs, and a full merge needs as much free space as the store has
 * data.
 */
import { declareOptions, integer, number, type SettingsOf } from '../../base/options.js'
import type { CompactionPolicy } from './choice.js'
import { flushedDebt, idleStretches, runPolicy, runsOf, type Run } from './runs.js'

/** The declaration of {@link TieredOptions}. */
export const tieredOptions = declareOptions('compaction policy tiered', {
  /**
   * Most runs at rest, from 2. Default 8: a read of one row asks at most eight Bloom filters. Fewer
   * runs cost more writes.
   */
  runsMax: integer({ min: 2, default: 8 }),
  /** Fewest runs of similar size that are merged, from 2. Default 4: two writes for 16 flushes. */
  widthMin: integer({ min: 2, default: 4 }),
  /**
   * A run is similar to the newer runs of a merge if it is larger than their sum by at most this
   * part, from 0. Default 0.25: flushes of the same number of cells differ by their compression.
   */
  sizeTolerance: number({ min: 0, default: 0.25 }),
  /**
   * All runs are merged if the newer runs together are larger than this times the oldest, from 0.
   * Default 2: at worst two thirds of the store are stale.
   */
  spaceRatioMax: number({ min: 0, default: 2 }),
})

/** Options of the tiered policy. */
export type TieredOptions = SettingsOf<typeof tieredOptions>

/** The options that decide which neighbours are merged. */
export type TierShape = Pick<TieredOptions, 'runsMax' | 'widthMin' | 'sizeTolerance'>

/**
 * The neighbouring runs to merge, newest first; none if there is nothing to do. Runs of similar
 * size come first. If there are too many runs nevertheless, the newest idle runs are merged, as
 * many as are needed.
 */
export function tierRuns(runs: readonly Run[], shape: TierShape): readonly Run[] {
  const stretches = idleStretches(runs)
  for (const stretch of stretches) {
    for (let start = 0; start + shape.widthMin <= stretch.length; start++) {
      const similar = similarRuns(stretch, start, shape.sizeTolerance)
      if (similar.length >= shape.widthMin) return similar
    }
  }
  if (runs.length <= shape.runsMax) return []
  const longest = stretches.find((stretch) => stretch.length > 1)
  return longest?.slice(0, Math.max(2, runs.length - shape.runsMax + 1)) ?? []
}

function similarRuns(stretch: readonly Run[], start: number, tolerance: number): readonly Run[] {
  let bytes = stretch[start].bytes
  let end = start + 1
  while (end < stretch.length && stretch[end].bytes <= bytes * (1 + tolerance)) {
    bytes += stretch[end].bytes
    end++
  }
  return stretch.slice(start, end)
}

function chooseRuns(runs: readonly Run[], options: TieredOptions): readonly Run[] {
  if (runs.length < options.widthMin) return []
  const newer = runs.slice(0, -1).reduce((sum, run) => sum + run.bytes, 0)
  const oldest = runs[runs.length - 1]
  const stale = newer > oldest.bytes * options.spaceRatioMax
  if (stale && !runs.some((run) => run.busy)) return runs
  return tierRuns(runs, options)
}

/** Makes the policy. */
export function tieredPolicy(options: TieredOptions): CompactionPolicy {
  return runPolicy({
    runsOf,
    chooseRuns: (runs) => chooseRuns(runs, options),
    debt: (input) => flushedDebt(input, options.runsMax),
  })
}
