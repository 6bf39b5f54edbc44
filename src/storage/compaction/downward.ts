/**
 * Merges or moves the oldest files of level 0 to a deeper level. Files are moved if they overlap no
 * file on their way. Otherwise they are merged with the files that they overlap there.
 *
 * Only the oldest neighbours of level 0 may go down, because a file must not pass an older one with
 * the same rows. No level in between may hold files.
 */
import { assert } from '../../base/assert.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionChoice, PolicyInput } from './choice.js'
import { hullOf, overlapsRows, spanOf, totalBytes, type RowRange } from './rows.js'
import { busyHull, isBusy, mergeOf, rangesOverlap } from './selection.js'

/**
 * Files that are smaller on average than this part of the wanted size are merged instead of moved.
 */
const movedPart = 0.25

/** How outputs in the deeper level are made. */
export interface DownwardOutput {
  readonly outputLevel: number
  /** Wanted size of a file in bytes. */
  readonly fileBytes: number
  readonly outputBytesMax: number
  /** Escaped rows at which the outputs of these inputs are cut. */
  boundaries(inputs: readonly FileMetadata[]): readonly Buffer[]
}

/** The oldest files of level 0 that no job reads, newest first. */
export function oldestIdle(input: PolicyInput): readonly FileMetadata[] {
  const files = input.levels[0]
  let from = files.length
  while (from > 0 && !isBusy(input, files[from - 1])) from--
  return files.slice(from)
}

/** Moves or merges the oldest files of level 0. Undefined if running jobs prevent it. */
export function downwardChoice(
  input: PolicyInput,
  files: readonly FileMetadata[],
  output: DownwardOutput,
): CompactionChoice | undefined {
  if (files.length === 0) return undefined
  const { levels } = input
  const { outputLevel } = output
  for (let level = 1; level < outputLevel; level++) {
    assert((levels[level]?.length ?? 0) === 0, 'level 0 must not pass by files of a level')
  }
  const moved = movableFiles(input, files, output)
  if (moved.length > 0) return { kind: 'move', files: moved, outputLevel }
  const target = levels[outputLevel] ?? []
  const { from, to } = spanOf(target, hullOf(files))
  const inputs = [...files, ...target.slice(from, to)]
  if (isObstructed(input, inputs)) return undefined
  const boundaries = output.boundaries(inputs)
  const { outputBytesMax } = output
  return mergeOf(levels, inputs, { outputLevel, outputBytesMax, boundaries })
}

/** Whether a running job reads one of the inputs or may write files with their rows. */
export function isObstructed(input: PolicyInput, inputs: readonly FileMetadata[]): boolean {
  if (inputs.some((file) => isBusy(input, file))) return true
  return rangesOverlap(busyHull(input), hullOf(inputs))
}

/**
 * The oldest of these files that share no row with each other or the target level, newest first.
 * None if they are so small that they should be merged.
 */
export function movableFiles(
  input: PolicyInput,
  files: readonly FileMetadata[],
  output: Pick<DownwardOutput, 'outputLevel' | 'fileBytes'>,
): readonly FileMetadata[] {
  const target = input.levels[output.outputLevel] ?? []
  const busy = busyHull(input)
  const passes = (range: RowRange): boolean => {
    const { from, to } = spanOf(target, range)
    return from === to && !rangesOverlap(busy, range)
  }
  let start = files.length
  while (start > 0) {
    const file = files[start - 1]
    const range = hullOf([file])
    const disjoint = files.slice(start).every((other) => !overlapsRows(other, range))
    if (!disjoint || !passes(range)) break
    start--
  }
  const moved = files.slice(start)
  const small = totalBytes(moved) < moved.length * movedPart * output.fileBytes
  return small && files.length > 1 ? [] : moved
}
