/**
 * The leveled policy. Level 0 takes flushes. Every deeper level is one sorted run, cut into files,
 * and larger than the level above by a ratio. Reads look into few runs, and little space is stale.
 * In return, an entry is rewritten several times per level.
 *
 * 1. Every level gets a score. That of level 0 is its number of files divided by `flushedFilesMin`;
 * that of another level is its bytes divided by its target ({@link levelTargets}). Levels above the
 * base, left by a larger store, must become empty.
 * 2. The level with the highest score gives files to the next one; level 0 needs a score of at
 * least 1, others more than 1. Level 0 gives its oldest idle files. Other levels give the file that
 * is cheapest to merge by the option `pick`.
 * 3. Files that overlap nothing are moved. Outputs are aligned with the level below theirs.
 * 4. If a running job prevents a merge of level 0, and level 0 is crowded, its newest files are
 * merged with each other.
 * 5. If no level has too much, files of the last level with many delete markers are merged with all
 * files that overlap them. That drops the markers.
 *
 * Every choice but the last moves data deeper or reduces the number of files, so a sequence of
 * choices ends. The last one requires an age of the file that its outputs do not have.
 */
import { choice, declareOptions, integer, number, type SettingsOf } from '../../base/options.js'
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
import { downwardChoice, isObstructed, oldestIdle } from './downward.js'
import { majorChoice } from './major.js'
import { hullOf, shareRow, spanOf, totalBytes } from './rows.js'
import { flushedDebt } from './runs.js'
import { isBusy, mergeOf, overlapClosure } from './selection.js'

/** Which file of a level is merged down first. */
const picks = ['least-overlap', 'tombstones', 'oldest'] as const

/** The declaration of {@link LeveledOptions}. */
export const leveledOptions = declareOptions('compaction policy leveled', {
  /** Files of level 0 that start a compaction, from 1. Default 4, as in LevelDB and RocksDB. */
  flushedFilesMin: integer({ min: 1, default: 4 }),
  /**
   * Number of files from which level 0 is merged in itself while it cannot be merged down, from 2.
   * Default 8: half of the number that blocks writes in HBase.
   */
  flushedFilesCrowded: integer({ min: 2, default: 8 }),
  /**
   * Ratio of the sizes of a level and of the one above, 2 to 100. Default 10: one ninth is stale.
   */
  levelRatio: number({ min: 2, max: 100, default: 10 }),
  /**
   * Largest size in bytes of the first level, from 1. Default 64 MiB: about four flushes, so that
   * merging them into the level costs as much as they hold.
   */
  baseBytes: integer({ min: 1, default: 64 * 1024 * 1024 }),
  /** Wanted size of a file in bytes, from 1. Default 16 MiB: merging one file takes about 1 s. */
  fileBytes: integer({ min: 1, default: 16 * 1024 * 1024 }),
  /** Number of levels, level 0 included, 2 to 32. Default 7: 64 TB with the other defaults. */
  levelsMax: integer({ min: 2, max: levelMax + 1, default: 7 }),
  /**
   * Which file is merged down first. `least-overlap`: the one with the fewest overlapped bytes per
   * byte of its own. `tombstones`: the same, but delete markers make a file count as larger, so
   * that they sink early. `oldest`: the file with the oldest entry. Default `tombstones`, which
   * equals `least-overlap` where nothing is deleted.
   */
  pick: choice(picks, 'tombstones'),
  /**
   * For `tombstones`: a file of markers only counts as larger by this factor plus one, from 0.
   * Default 4.
   */
  tombstoneWeight: number({ min: 0, default: 4 }),
  /**
   * How many times `fileBytes` a file may overlap in the level below its own, from 1. Beyond that,
   * outputs are cut and moves refused. Default 10, which is the ratio, as in LevelDB.
   */
  overlapFactorMax: number({ min: 1, default: 10 }),
  /**
   * Part of delete markers from which a file of the last level is rewritten, from 0. Values above
   * 1, such as Infinity, mean never; families that keep deleted cells need that. Default 0.3.
   */
  tombstoneRatioMin: number({ min: 0, default: 0.3 }),
  /** Age of the file in milliseconds from which that happens, from 1. Default 1 hour. */
  tombstoneAgeMilliseconds: integer({ min: 1, default: 3_600_000 }),
  /**
   * Most bytes of a merge that drops markers, as a multiple of `fileBytes`, from 1. Default 25,
   * RocksDB's limit for a compaction.
   */
  tombstoneFilesMax: number({ min: 1, default: 25 }),
})

/** Options of the leveled policy. */
export type LeveledOptions = SettingsOf<typeof leveledOptions>

/** The sizes that the levels of a store should have. */
interface LevelTargets {
  /** The deepest level. */
  readonly last: number
  /** The level into which level 0 is merged. */
  readonly base: number
  /**
   * Target bytes by level: 0 above the base, Infinity for the deepest level. Level 0 has no target.
   */
  readonly bytes: readonly number[]
}

/**
 * Computes the targets from the sizes of the levels, as RocksDB's dynamic level bytes: from the
 * size of the largest level upwards, each level smaller by the ratio. The first level with a target
 * of at most `baseBytes` is the base level, into which level 0 is merged. So about nine tenths of
 * the data are in one level, whatever the size of the store, and stale data stays near one ninth
 * (with ratio 10).
 */
function levelTargets(levels: PolicyInput['levels'], options: LeveledOptions): LevelTargets {
  const last = Math.max(options.levelsMax - 1, levels.length - 1)
  let size = Math.max(0, ...levels.slice(1).map(totalBytes))
  const bytes = Array.from({ length: last + 1 }, () => 0)
  bytes[last] = Infinity
  let base = last
  while (base > 1 && size > options.baseBytes) {
    base--
    size /= options.levelRatio
    bytes[base] = size
  }
  return { last, base, bytes }
}

interface Score {
  readonly level: number
  readonly score: number
}

/** Levels with too much data, the worst first. */
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
  // A level exactly at its target has not too much.
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

/** The files of a level in groups; files that share a row are in one group. */
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

/** Rewrites a file of the last level whose delete markers can be dropped. */
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

/** Makes the policy. A requested major compaction writes to the last level. */
export function leveledPolicy(options: LeveledOptions): CompactionPolicy {
  return {
    choose: (input) => choose(input, options),
    chooseMajor: (input, rows = {}) =>
      majorChoice(input, rows, {
        outputLevel: levelTargets(input.levels, options).last,
        outputBytesMax: outputBytesMax(options),
      }),
    debt: (input) => debtOf(input, options),
  }
}

function debtOf(input: Pick<PolicyInput, 'levels'>, options: LeveledOptions): CompactionDebt {
  const { runs, bytes } = flushedDebt(input, options.flushedFilesCrowded)
  const targets = levelTargets(input.levels, options)
  let over = 0
  for (let level = targets.base; level < targets.last; level++) {
    over += Math.max(0, totalBytes(input.levels[level] ?? []) - targets.bytes[level])
  }
  return { runs, bytes: bytes + over }
}
