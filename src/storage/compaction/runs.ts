/**
 * Sorted runs, and the common part of the policies that merge neighbouring runs and do not look at
 * keys. Each file of level 0 is one run, and all deeper files together are the oldest run. Deeper
 * files exist only if the store had another policy before.
 *
 * Runs are merged with neighbours only. A merge with the oldest run stays on the deepest level of
 * that run. On level 0, files are ordered by their newest entry, and the output could come before
 * newer files of other rows.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import {
  blocked,
  nothing,
  type CompactionChoice,
  type CompactionDebt,
  type CompactionPolicy,
  type MergeChoice,
  type PolicyInput,
} from './choice.js'
import { majorChoice } from './major.js'
import { totalBytes } from './rows.js'
import { isBusy, mergeOf } from './selection.js'

/** One sorted run. */
export interface Run {
  readonly files: readonly FileMetadata[]
  readonly bytes: number
  readonly busy: boolean
}

function runOf(input: PolicyInput, files: readonly FileMetadata[]): Run {
  return {
    files,
    bytes: totalBytes(files),
    busy: files.some((file) => isBusy(input, file)),
  }
}

/** The files of level 0 as runs, newest first. */
export function flushedRuns(input: PolicyInput): Run[] {
  return input.levels[0].map((file) => runOf(input, [file]))
}

/** All files as runs, newest first. */
export function runsOf(input: PolicyInput): Run[] {
  const runs = flushedRuns(input)
  const deep = input.levels.slice(1).flat()
  // A running job may write to a deep level, whatever the levels of its inputs.
  const busy = input.levels.flat().some((file) => isBusy(input, file))
  if (deep.length > 0) runs.push({ ...runOf(input, deep), busy })
  return runs
}

/** Number of the deepest level with files. */
export function deepestLevel(levels: PolicyInput['levels']): number {
  let level = levels.length - 1
  while (level > 0 && levels[level].length === 0) level--
  return level
}

/** Merges neighbouring runs into one file. */
export function mergeRuns(input: PolicyInput, runs: readonly Run[]): MergeChoice {
  const files = runs.flatMap((run) => run.files)
  const outputLevel = files.some((file) => file.level > 0) ? deepestLevel(input.levels) : 0
  return mergeOf(input.levels, files, { outputLevel, outputBytesMax: Infinity })
}

/** The longest sequences of neighbouring runs that are not busy, newest first. */
export function idleStretches(runs: readonly Run[]): Run[][] {
  const stretches: Run[][] = [[]]
  for (const run of runs) {
    if (run.busy) stretches.push([])
    else stretches[stretches.length - 1].push(run)
  }
  return stretches.filter((stretch) => stretch.length > 0)
}

/** No debt. */
export const noDebt: CompactionDebt = { runs: 0, bytes: 0 }

/** The newest files of level 0, beyond the number that the policy keeps at rest. */
export function flushedDebt(
  { levels }: Pick<PolicyInput, 'levels'>,
  filesAtRest: number,
): CompactionDebt {
  const waiting = Math.max(0, levels[0].length - filesAtRest)
  return waiting === 0 ? noDebt : { runs: waiting, bytes: totalBytes(levels[0].slice(0, waiting)) }
}

/** The part in which policies of runs differ. */
export interface RunRules extends Pick<CompactionPolicy, 'debt'> {
  /** The runs to choose among, newest first. */
  runsOf(input: PolicyInput): readonly Run[]
  /** The neighbouring idle runs to merge; none if there is nothing to do. */
  chooseRuns(runs: readonly Run[], input: PolicyInput): readonly Run[]
}

function choose(input: PolicyInput, rules: RunRules): CompactionChoice {
  const runs = rules.runsOf(input)
  const chosen = rules.chooseRuns(runs, input)
  if (chosen.length > 0) return mergeRuns(input, chosen)
  if (!runs.some((run) => run.busy)) return nothing
  const idle = runs.map((run) => ({ ...run, busy: false }))
  return rules.chooseRuns(idle, input).length > 0 ? blocked : nothing
}

/**
 * Makes a policy that chooses among idle runs, notices when running jobs prevent a choice, and
 * makes one file of everything in a major compaction.
 */
export function runPolicy(rules: RunRules): CompactionPolicy {
  return {
    choose: (input) => choose(input, rules),
    chooseMajor: (input, rows = {}) =>
      majorChoice(input, rows, {
        outputLevel: deepestLevel(input.levels),
        outputBytesMax: Infinity,
      }),
    debt: (input) => rules.debt(input),
  }
}
