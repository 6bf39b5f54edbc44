/**
 * The lazy-leveled policy. Flushes are merged by size on level 0, and only one deep level is kept,
 * as a single run of files. Writes cost little more than with the tiered policy. Most of the data
 * is in one run, so stale data and the work of a read stay near those of the leveled policy.
 *
 * When level 0 has grown to a part of the deep level, all of level 0 is merged down, or moved if
 * its files overlap nothing. That merge needs as much free space as the files that it overlaps. It
 * waits until there are several runs, unless the store is at rest.
 */
import { declareOptions, integer, number, type SettingsOf } from '../../base/options.js'
import { unalignedFactor } from './boundaries.js'
import {
  blocked,
  nothing,
  type CompactionChoice,
  type CompactionPolicy,
  type PolicyInput,
} from './choice.js'
import { downwardChoice, movableFiles, oldestIdle } from './downward.js'
import { majorChoice } from './major.js'
import { totalBytes } from './rows.js'
import { deepestLevel, flushedDebt, flushedRuns, mergeRuns } from './runs.js'
import { isBusy, mergeOf } from './selection.js'
import { tierRuns } from './tiered.js'

/** The declaration of {@link LazyLeveledOptions}. */
export const lazyLeveledOptions = declareOptions('compaction policy lazy-leveled', {
  /** Most runs of level 0 at rest, from 2. Default 8, as in the tiered policy. */
  runsMax: integer({ min: 2, default: 8 }),
  /** Fewest runs of similar size that are merged, from 2. Default 4. */
  widthMin: integer({ min: 2, default: 4 }),
  /** As `sizeTolerance` of the tiered policy, from 0. Default 0.25. */
  sizeTolerance: number({ min: 0, default: 0.25 }),
  /**
   * Level 0 goes down when its bytes times this number reach those of the deep level, 1 to 100.
   * Default 5: at most a sixth of the data is stale, and the deep level is rewritten five times
   * while it doubles. Loads write about as much with 2, which leaves a third stale
   * (docs/decisions.md).
   */
  levelRatio: number({ min: 1, max: 100, default: 5 }),
  /**
   * Wanted size of a file of the deep level in bytes, from 1. Default 32 MiB: a flush, which may be
   * moved, is not much smaller.
   */
  fileBytes: integer({ min: 1, default: 32 * 1024 * 1024 }),
})

/** Options of the lazy-leveled policy. */
export type LazyLeveledOptions = SettingsOf<typeof lazyLeveledOptions>

function outputBytesMax(options: LazyLeveledOptions): number {
  return Math.ceil(options.fileBytes * unalignedFactor)
}

/** Takes all of level 0 down. Undefined if running jobs prevent it. */
function chooseDown(input: PolicyInput, options: LazyLeveledOptions): CompactionChoice | undefined {
  const { levels } = input
  if (input.busyFiles.size > 0 && levels.flat().some((file) => isBusy(input, file))) {
    return undefined
  }
  const deepLevels = levels.slice(1).filter((files) => files.length > 0)
  const outputLevel = Math.max(1, deepestLevel(levels))
  if (deepLevels.length > 1) {
    // Several deep levels of an earlier policy become one.
    return mergeOf(levels, levels.flat(), { outputLevel, outputBytesMax: outputBytesMax(options) })
  }
  return downwardChoice(input, levels[0], {
    outputLevel,
    fileBytes: options.fileBytes,
    outputBytesMax: outputBytesMax(options),
    boundaries: () => [],
  })
}

/** Moves files that overlap nothing down at once, because that costs nothing. */
function moveChoice(input: PolicyInput, options: LazyLeveledOptions): CompactionChoice | undefined {
  const outputLevel = Math.max(1, deepestLevel(input.levels))
  if (input.levels.slice(1, outputLevel).some((files) => files.length > 0)) return undefined
  const { fileBytes } = options
  const files = movableFiles(input, oldestIdle(input), { outputLevel, fileBytes })
  return files.length === 0 ? undefined : { kind: 'move', files, outputLevel }
}

function choose(input: PolicyInput, options: LazyLeveledOptions): CompactionChoice {
  const runs = flushedRuns(input)
  const isFew = runs.length < options.widthMin
  // At rest no run will join them, and they may hold as much stale data as the deep level allows.
  if (isFew && (!input.resting || runs.length === 0)) return nothing
  const deepBytes = totalBytes(input.levels.slice(1).flat())
  const full = totalBytes(input.levels[0]) * options.levelRatio >= deepBytes
  const down = full ? chooseDown(input, options) : undefined
  if (down !== undefined) return down
  if (isFew) return full ? blocked : nothing
  const move = moveChoice(input, options)
  if (move !== undefined) return move
  const chosen = tierRuns(runs, options)
  if (chosen.length > 0) return mergeRuns(input, chosen)
  return full ? blocked : nothing
}

/** Makes the policy. */
export function lazyLeveledPolicy(options: LazyLeveledOptions): CompactionPolicy {
  return {
    choose: (input) => choose(input, options),
    chooseMajor: (input, rows = {}) =>
      majorChoice(input, rows, {
        outputLevel: Math.max(1, deepestLevel(input.levels)),
        outputBytesMax: outputBytesMax(options),
      }),
    debt: (input) => flushedDebt(input, options.runsMax),
  }
}
