/**
 * Sets of files that may be merged, moved or dropped together, and the assertions for every choice
 * of every policy (see the order in choice.ts).
 */
import { assert } from '../../base/assert.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionChoice, MergeChoice, MoveChoice, PolicyInput } from './choice.js'
import { compareRows, hullOf, overlapsRows, shareRow, spanOf, type RowRange } from './rows.js'

type Levels = PolicyInput['levels']

/** The level of the outputs of a merge, and how the outputs are cut. */
export interface MergeOutput {
  readonly outputLevel: number
  readonly outputBytesMax: number
  readonly boundaries?: readonly Buffer[]
}

/** Makes a merge of files, given in any order. Determines whether the merge is major. */
export function mergeOf(
  levels: Levels,
  files: Iterable<FileMetadata>,
  output: MergeOutput,
): MergeChoice {
  const chosen = new Set(files)
  const sorted = levels.flat().filter((file) => chosen.has(file))
  assert(sorted.length === chosen.size && sorted.length > 0, 'inputs must be files of the store')
  const hull = hullOf(sorted)
  let major = true
  forEachRank(levels, (file) => {
    if (!chosen.has(file) && overlapsRows(file, hull)) major = false
  })
  const { outputLevel, outputBytesMax, boundaries = [] } = output
  return { kind: 'merge', files: sorted, outputLevel, outputBytesMax, boundaries, major }
}

/**
 * The files that share a row with the range, the files that share a row with the range of these,
 * and so on: the smallest set whose merge is major.
 */
export function overlapClosure(levels: Levels, range: RowRange): Set<FileMetadata> {
  const chosen = new Set<FileMetadata>()
  let hull = range
  for (;;) {
    const before = chosen.size
    levels.forEach((files, level) => {
      if (level === 0) {
        for (const file of files) if (overlapsRows(file, hull)) chosen.add(file)
      } else {
        const { from, to } = spanOf(files, hull)
        for (let i = from; i < to; i++) chosen.add(files[i])
      }
    })
    if (chosen.size === before) return chosen
    hull = hullOf(Array.from(chosen))
  }
}

/** Whether a running job reads the file. */
export function isBusy(input: PolicyInput, file: FileMetadata): boolean {
  return input.busyFiles.has(file.fileNumber)
}

/**
 * The rows of files that running jobs may write. The input does not tell which job reads which
 * file, so all busy files count as one job's. Undefined if no job runs.
 */
export function busyHull(input: PolicyInput): RowRange | undefined {
  if (input.busyFiles.size === 0) return undefined
  const busy = input.levels.flat().filter((file) => isBusy(input, file))
  return busy.length === 0 ? undefined : hullOf(busy)
}

/** Whether two ranges share a row; an absent range shares none. */
export function rangesOverlap(a: RowRange | undefined, b: RowRange): boolean {
  return a !== undefined && compareRows(a.first, b.last) <= 0 && compareRows(a.last, b.first) >= 0
}

/**
 * Calls `visit` with each file and its rank by age: newest 0; equal for all files of a level deeper
 * than 0.
 */
function forEachRank(levels: Levels, visit: (file: FileMetadata, rank: number) => void): void {
  levels[0].forEach(visit)
  for (let level = 1; level < levels.length; level++) {
    const rank = rankOfLevel(levels, level)
    for (const file of levels[level]) visit(file, rank)
  }
}

function rankOfLevel(levels: Levels, level: number): number {
  return levels[0].length + level
}

function rankOfFirst(levels: Levels, chosen: ReadonlySet<FileMetadata>): number {
  let first = Infinity
  forEachRank(levels, (file, rank) => {
    if (chosen.has(file)) first = Math.min(first, rank)
  })
  return first
}

/** Returns the choice. Throws an `InvariantError` if the choice is unsafe. */
export function checkedChoice<Choice extends CompactionChoice>(
  input: PolicyInput,
  choice: Choice,
): Choice {
  if (choice.kind === 'nothing') return choice
  assert(choice.files.length > 0, 'a choice must name files')
  const known = new Set(input.levels.flat())
  for (const file of choice.files) {
    assert(known.delete(file), 'a choice must name files of the store, once each')
    assert(!isBusy(input, file), 'a choice must not name a file that is being compacted')
  }
  if (choice.kind === 'merge') checkMerge(input, choice)
  else if (choice.kind === 'move') checkMove(input, choice)
  return choice
}

function checkMerge(input: PolicyInput, choice: MergeChoice): void {
  const { levels } = input
  const { outputLevel } = choice
  const chosen = new Set(choice.files)
  const hull = hullOf(choice.files)
  const newest = rankOfFirst(levels, chosen)
  let oldest = outputLevel === 0 ? 0 : rankOfLevel(levels, outputLevel)
  forEachRank(levels, (file, rank) => {
    if (chosen.has(file)) oldest = Math.max(oldest, rank)
  })
  const limit = outputLevel === 0 ? levels[0].length : rankOfLevel(levels, outputLevel)
  assert(oldest <= limit, 'outputs must not stand above an input')
  forEachRank(levels, (file, rank) => {
    if (chosen.has(file) || rank <= newest || rank > oldest) return
    assert(!overlapsRows(file, hull), 'inputs must be neighbours in the order of ages')
  })
  for (let level = 1; level < levels.length; level++) {
    for (let i = 1; i < levels[level].length; i++) {
      const [before, after] = [levels[level][i - 1], levels[level][i]]
      if (chosen.has(before) === chosen.has(after)) continue
      assert(!shareRow(before, after), 'files that share a row must be merged together')
    }
  }
  if (outputLevel > 0) {
    assert(!rangesOverlap(busyHull(input), hull), 'outputs must not meet those of running jobs')
  }
}

function checkMove(input: PolicyInput, choice: MoveChoice): void {
  const { levels } = input
  const busy = busyHull(input)
  const limit = rankOfLevel(levels, choice.outputLevel)
  const ranks = new Map<FileMetadata, number>()
  forEachRank(levels, (file, rank) => ranks.set(file, rank))
  for (const moved of choice.files) {
    const range = hullOf([moved])
    assert(choice.outputLevel > moved.level, 'files move to deeper levels')
    assert(!rangesOverlap(busy, range), 'a moved file must not meet the outputs of running jobs')
    const level = moved.level
    for (const [file, rank] of ranks) {
      if (file === moved || !overlapsRows(file, range)) continue
      const passed = rank > ranks.get(moved)! && rank <= limit
      assert(!passed, 'a moved file must not pass a file that holds rows of it')
      assert(!choice.files.includes(file), 'moved files must not share rows')
      assert(level === 0 || file.level !== level, 'a row must not be split over levels')
    }
  }
}
