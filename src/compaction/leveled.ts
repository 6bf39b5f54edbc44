/**
 * Leveled: level 0 takes flushes, every deeper level is one sorted run cut into files, and each is
 * larger than the one above by a ratio. Reads meet few runs and little space is stale; an entry is
 * rewritten several times per level.
 *
 * 1. Every level gets a score: level 0 its files by their trigger, others their bytes by their
 *    target (see level-targets.ts). Levels above the base, left by a larger store, must empty.
 * 2. The level with the highest score of at least 1 gives files to the next one: level 0 its oldest
 *    files, all that are idle; others the file that is cheapest to merge by the option `pick`.
 * 3. Files that overlap nothing are moved. Outputs are aligned with the level below theirs.
 * 4. If level 0 cannot be merged down because of a running job, and is crowded, its newest files
 *    are merged among themselves.
 * 5. If all levels are in shape, files of the last level with many delete markers are merged with
 *    all that overlaps them, whereby the markers go.
 *
 * Every choice but the last takes data deeper or makes files fewer, so applying choices ends. The
 * last is limited by the age of the file, which its outputs do not have.
 */
import { invalidArgument } from '../base/errors.js'
import { levelMax, type FileMetadata } from '../version/file-metadata.js'
import { alignedBoundaries, unalignedFactor } from './boundaries.js'
import {
  blocked,
  nothing,
  type CompactionChoice,
  type CompactionDebt,
  type CompactionPolicy,
  type PolicyInput,
} from './choice.js'
import { flushedDebt } from './debt.js'
import { downwardChoice, isObstructed, oldestIdle } from './downward.js'
import { levelTargets, type LevelTargets } from './level-targets.js'
import { majorChoice } from './major.js'
import { completeOptions } from './options.js'
import { hullOf, shareRow, spanOf, totalBytes } from './rows.js'
import { isBusy, mergeOf, overlapClosure } from './selection.js'

/** Which file of a level goes down first. */
export type FilePick = 'least-overlap' | 'tombstones' | 'oldest'

/** Options of the leveled policy. */
export interface LeveledOptions {
  /** Files of level 0 that start a compaction, from 1. Default 4, as in LevelDB and RocksDB. */
  readonly flushedFilesMin: number
  /**
   * At this many files, level 0 is merged in itself while it cannot be merged down, from 2. Default
   * 8: half of what blocks writes in HBase.
   */
  readonly flushedFilesCrowded: number
  /** Size of a level by that of the one above, 2 to 100. Default 10: one ninth of stale data. */
  readonly levelRatio: number
  /**
   * Largest first level, bytes, from 1. Default 64 MiB: about what four flushes make, so that
   * merging them into it costs as much as they hold.
   */
  readonly baseBytes: number
  /** Wanted size of a file, bytes, from 1. Default 16 MiB: a merge of one file takes about 1 s. */
  readonly fileBytes: number
  /** Number of levels, level 0 included, 2 to 32. Default 7: 64 TB at the other defaults. */
  readonly levelsMax: number
  /**
   * `least-overlap`: fewest bytes to merge with per byte of the file. `tombstones`: the same, but a
   * file counts as larger for its delete markers, so that these sink early. `oldest`: the file with
   * the oldest entry. Default `tombstones`, which is `least-overlap` where nothing is deleted.
   */
  readonly pick: FilePick
  /** How much larger a file of markers alone counts for `tombstones`, from 0. Default 4. */
  readonly tombstoneWeight: number
  /**
   * A file may overlap so many times `fileBytes` in the level below its own before outputs are cut
   * and moves refused, from 1. Default 10, as in LevelDB: the ratio.
   */
  readonly overlapFactorMax: number
  /**
   * Part of delete markers from which a file of the last level is rewritten, 0 to 1, or Infinity
   * for never, as families need that keep deleted cells. Default 0.3.
   */
  readonly tombstoneRatioMin: number
  /** Age from which it is rewritten for that, milliseconds, from 1. Default 1 hour. */
  readonly tombstoneAgeMilliseconds: number
  /**
   * Most bytes of a merge for the sake of markers, in `fileBytes`, from 1. Default 25, as RocksDB
   * limits a compaction.
   */
  readonly tombstoneFilesMax: number
}

/** See {@link LeveledOptions}. */
export const leveledDefaults: LeveledOptions = {
  flushedFilesMin: 4,
  flushedFilesCrowded: 8,
  levelRatio: 10,
  baseBytes: 64 * 1024 * 1024,
  fileBytes: 16 * 1024 * 1024,
  levelsMax: 7,
  pick: 'tombstones',
  tombstoneWeight: 4,
  overlapFactorMax: 10,
  tombstoneRatioMin: 0.3,
  tombstoneAgeMilliseconds: 3_600_000,
  tombstoneFilesMax: 25,
}

/** Fills in and checks the options; throws `ERR_INVALID_ARGUMENT`. */
export function leveledOptions(options?: unknown): LeveledOptions {
  const complete = completeOptions('leveled', leveledDefaults, leveledRanges, options)
  if (!picks.includes(complete.pick)) {
    throw invalidArgument(
      `option pick of compaction policy leveled must be one of ${picks.join(', ')}`,
    )
  }
  return complete
}

const picks: readonly FilePick[] = ['least-overlap', 'tombstones', 'oldest']

const leveledRanges = {
  flushedFilesMin: { min: 1 },
  flushedFilesCrowded: { min: 2 },
  levelRatio: { min: 2, max: 100, fractions: true },
  baseBytes: { min: 1 },
  fileBytes: { min: 1 },
  levelsMax: { min: 2, max: levelMax + 1 },
  tombstoneWeight: { min: 0, fractions: true },
  overlapFactorMax: { min: 1, fractions: true },
  tombstoneRatioMin: { min: 0, fractions: true },
  tombstoneAgeMilliseconds: { min: 1 },
  tombstoneFilesMax: { min: 1, fractions: true },
}

interface Score {
  readonly level: number
  readonly score: number
}

/** Levels that have too much, the worst first. */
function scoresOf(input: PolicyInput, targets: LevelTargets, options: LeveledOptions): Score[] {
  const scores: Score[] = []
  input.levels.forEach((files, level) => {
    if (files.length === 0) return
    const idle = files.filter((file) => !isBusy(input, file))
    if (level === 0) {
      scores.push({ level, score: files.length / options.flushedFilesMin })
    } else if (level < targets.base) {
      scores.push({ level, score: 1 + totalBytes(idle) / options.baseBytes })
    } else if (level < targets.last) {
      scores.push({ level, score: totalBytes(idle) / Math.max(1, targets.bytes[level]) })
    }
  })
  // A level exactly on its target has no more than it should.
  const over = scores.filter(({ level, score }) => (level === 0 ? score >= 1 : score > 1))
  return over.sort((a, b) => b.score - a.score)
}

function downwardLevel(input: PolicyInput, level: number, targets: LevelTargets): number {
  for (let next = level + 1; next < targets.base; next++) {
    if ((input.levels[next]?.length ?? 0) > 0) return next
  }
  return Math.max(level + 1, targets.base)
}

function outputBytesMax(options: LeveledOptions): number {
  return Math.ceil(options.fileBytes * unalignedFactor)
}

function cut(
  input: PolicyInput,
  inputs: readonly FileMetadata[],
  outputLevel: number,
  options: LeveledOptions,
): Buffer[] {
  const { fileBytes, overlapFactorMax } = options
  const grandparents = input.levels[outputLevel + 1] ?? []
  return alignedBoundaries(inputs, grandparents, fileBytes, overlapFactorMax * fileBytes)
}

function chooseFlushed(
  input: PolicyInput,
  targets: LevelTargets,
  options: LeveledOptions,
): CompactionChoice | undefined {
  const outputLevel = downwardLevel(input, 0, targets)
  const down = downwardChoice(input, oldestIdle(input), {
    outputLevel,
    fileBytes: options.fileBytes,
    outputBytesMax: outputBytesMax(options),
    boundaries: (inputs) => cut(input, inputs, outputLevel, options),
  })
  if (down !== undefined) return down
  const [flushed] = input.levels
  if (flushed.length < options.flushedFilesCrowded) return undefined
  const firstBusy = flushed.findIndex((file) => isBusy(input, file))
  const newest = firstBusy < 0 ? flushed : flushed.slice(0, firstBusy)
  if (newest.length < Math.max(2, options.flushedFilesMin)) return undefined
  return mergeOf(input.levels, newest, { outputLevel: 0, outputBytesMax: Infinity })
}

interface Candidate {
  readonly files: readonly FileMetadata[]
  readonly overlap: readonly FileMetadata[]
  readonly cost: number
}

function costOf(
  files: readonly FileMetadata[],
  overlap: readonly FileMetadata[],
  options: LeveledOptions,
): number {
  if (options.pick === 'oldest') return Math.min(...files.map((file) => file.minSequence))
  let bytes = 0
  for (const file of files) {
    const markers = file.deleteCount / file.entryCount
    const weight = options.pick === 'tombstones' ? options.tombstoneWeight * markers : 0
    bytes += file.fileBytes * (1 + weight)
  }
  return totalBytes(overlap) / bytes
}

function chooseDeep(
  input: PolicyInput,
  level: number,
  targets: LevelTargets,
  options: LeveledOptions,
): CompactionChoice | undefined {
  const outputLevel = downwardLevel(input, level, targets)
  const target = input.levels[outputLevel] ?? []
  let best: Candidate | undefined
  for (const files of rowGroups(input.levels[level])) {
    const { from, to } = spanOf(target, hullOf(files))
    const overlap = target.slice(from, to)
    const cost = costOf(files, overlap, options)
    if (best !== undefined && best.cost <= cost) continue
    if (!isObstructed(input, [...files, ...overlap])) best = { files, overlap, cost }
  }
  if (best === undefined) return undefined
  const { files, overlap } = best
  if (overlap.length === 0 && mayMove(input, files, outputLevel, options)) {
    return { kind: 'move', files, outputLevel }
  }
  const inputs = [...files, ...overlap]
  return mergeOf(input.levels, inputs, {
    outputLevel,
    outputBytesMax: outputBytesMax(options),
    boundaries: cut(input, inputs, outputLevel, options),
  })
}

/** The files of a level, those together that share rows. */
function rowGroups(files: readonly FileMetadata[]): FileMetadata[][] {
  const groups: FileMetadata[][] = []
  files.forEach((file, index) => {
    if (index > 0 && shareRow(files[index - 1], file)) groups[groups.length - 1].push(file)
    else groups.push([file])
  })
  return groups
}

function mayMove(
  input: PolicyInput,
  files: readonly FileMetadata[],
  outputLevel: number,
  options: LeveledOptions,
): boolean {
  if (files.length > 1) return false
  const grandparents = input.levels[outputLevel + 1] ?? []
  const { from, to } = spanOf(grandparents, hullOf(files))
  const bytes = totalBytes(grandparents.slice(from, to))
  return bytes <= options.overlapFactorMax * options.fileBytes
}

/** Rewrites a file of the last level whose markers can go. */
function chooseTombstones(
  input: PolicyInput,
  { last }: LevelTargets,
  options: LeveledOptions,
): CompactionChoice {
  const bytesMax = options.tombstoneFilesMax * options.fileBytes
  for (const file of input.levels[last] ?? []) {
    if (file.deleteCount < options.tombstoneRatioMin * file.entryCount) continue
    if (file.deleteCount === 0) continue
    if (input.now - file.createdMilliseconds < options.tombstoneAgeMilliseconds) continue
    const inputs = Array.from(overlapClosure(input.levels, hullOf([file])))
    if (totalBytes(inputs) > bytesMax || isObstructed(input, inputs)) continue
    return mergeOf(input.levels, inputs, {
      outputLevel: last,
      outputBytesMax: outputBytesMax(options),
    })
  }
  return nothing
}

function choose(input: PolicyInput, options: LeveledOptions): CompactionChoice {
  const targets = levelTargets(input.levels, options)
  const scores = scoresOf(input, targets, options)
  for (const { level } of scores) {
    const choice =
      level === 0
        ? chooseFlushed(input, targets, options)
        : chooseDeep(input, level, targets, options)
    if (choice !== undefined) return choice
  }
  return scores.length > 0 ? blocked : chooseTombstones(input, targets, options)
}

/** Makes the policy. A requested major compaction goes to the last level. */
export function leveledPolicy(options: LeveledOptions): CompactionPolicy {
  return {
    name: 'leveled',
    choose: (input) => choose(input, options),
    chooseMajor: (input, rows = {}) =>
      majorChoice(input, rows, {
        outputLevel: levelTargets(input.levels, options).last,
        outputBytesMax: outputBytesMax(options),
      }),
    debt: (input) => debtOf(input, options),
  }
}

function debtOf(input: PolicyInput, options: LeveledOptions): CompactionDebt {
  const { runs, bytes } = flushedDebt(input, options.flushedFilesCrowded)
  const targets = levelTargets(input.levels, options)
  let over = 0
  for (let level = targets.base; level < targets.last; level++) {
    over += Math.max(0, totalBytes(input.levels[level] ?? []) - targets.bytes[level])
  }
  return { runs, bytes: bytes + over }
}
