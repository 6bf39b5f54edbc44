/**
 * Sorted runs, for the policies that do not look at keys (exploring, tiered). Each file of level 0
 * is one run, and all deeper files together are the oldest run. Deeper files exist only if the
 * store had another policy before.
 *
 * Runs are merged with neighbours only. A merge with the oldest run stays on the deepest level of
 * that run. On level 0, files are ordered by their newest entry, and the output could come before
 * newer files of other rows.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import type { MergeChoice, PolicyInput } from './choice.js'
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
