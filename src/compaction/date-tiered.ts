/**
 * Date-tiered: files are grouped by the time of their newest cell, in windows that grow with age,
 * and merged only within a window. Old data is rewritten once per tier of windows and then rests,
 * until it expires and is dropped file by file. For time series with a time to live.
 *
 * 1. Files are taken from the oldest to the newest; the time of a file is the greatest timestamp of
 *    it and all older ones, but not in the future. So windows are stretches of neighbours, and late
 *    data, whose file is new, stands in a new window.
 * 2. A window of tier n is `baseWindow * windowsPerTier^n` long and begins at a multiple of that.
 *    Going back in time, the tier grows when the next window would begin a longer one.
 * 3. The newest window with files is merged like an exploring store, because more will come; every
 *    other one is merged into a single file.
 *
 * Files of deeper levels (of an earlier policy) are left alone until they expire.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionPolicy, PolicyInput } from './choice.js'
import { noDebt } from './debt.js'
import { exploreRuns, exploringDefaults } from './exploring.js'
import { completeOptions } from './options.js'
import { runPolicy } from './run-policy.js'
import { flushedRuns, idleStretches, type Run } from './runs.js'

/** Options of the date-tiered policy, with HBase's names in the comments. */
export interface DateTieredOptions {
  /** Length of the newest window (…date.tiered.base.window.millis), from 1. Default 6 hours. */
  readonly baseWindowMilliseconds: number
  /** Windows of a length until they grow (…windows.per.tier), from 2. Default 4. */
  readonly windowsPerTier: number
  /**
   * Windows that ended longer ago are not merged any more (…max.storefile.age.millis), from 1.
   * Default Infinity.
   */
  readonly ageMaxMilliseconds: number
  /** Fewest files of the newest window to merge (…incoming.window.min), from 2. Default 6. */
  readonly incomingFilesMin: number
  /** Fewest files of an older window that are merged, from 2. Default 2: one file per window. */
  readonly windowFilesMin: number
  /** Most files in one compaction, from 2. Default 32: more than a window collects. */
  readonly filesMax: number
}

const hour = 3_600_000

/** HBase's defaults. */
export const dateTieredDefaults: DateTieredOptions = {
  baseWindowMilliseconds: 6 * hour,
  windowsPerTier: 4,
  ageMaxMilliseconds: Infinity,
  incomingFilesMin: 6,
  windowFilesMin: 2,
  filesMax: 32,
}

/** Fills in and checks the options; throws `ERR_INVALID_ARGUMENT`. */
export function dateTieredOptions(options?: unknown): DateTieredOptions {
  return completeOptions('date-tiered', dateTieredDefaults, dateTieredRanges, options)
}

const dateTieredRanges = {
  baseWindowMilliseconds: { min: 1 },
  windowsPerTier: { min: 2 },
  ageMaxMilliseconds: { min: 1, fractions: true },
  incomingFilesMin: { min: 2 },
  windowFilesMin: { min: 2 },
  filesMax: { min: 2 },
}

/** A half-open interval of milliseconds. */
export interface TimeWindow {
  readonly start: number
  readonly end: number
}

/** The windows from the one of `now` backwards, without end. */
export function* timeWindows(
  now: number,
  { baseWindowMilliseconds, windowsPerTier }: DateTieredOptions,
): Generator<TimeWindow, never> {
  let length = baseWindowMilliseconds
  let index = Math.floor(now / length)
  for (;;) {
    yield { start: index * length, end: (index + 1) * length }
    if (index % windowsPerTier === 0) {
      length *= windowsPerTier
      index = index / windowsPerTier
    }
    index--
  }
}

/** Times of the files, oldest file first: never decreasing, never after `now`. */
function fileTimes(filesOldestFirst: readonly FileMetadata[], now: number): number[] {
  let newest = -Infinity
  return filesOldestFirst.map((file) => {
    newest = Math.max(newest, Math.min(now, Number(file.maxTimestamp)))
    return newest
  })
}

interface WindowRuns {
  readonly window: TimeWindow
  /** Newest first, at least one. */
  readonly runs: readonly Run[]
}

function groupByWindow(
  input: PolicyInput,
  runs: readonly Run[],
  options: DateTieredOptions,
): WindowRuns[] {
  const files = runs.map((run) => run.files[0])
  const times = fileTimes(files.toReversed(), input.now).toReversed()
  const groups: WindowRuns[] = []
  let next = 0
  for (const window of timeWindows(input.now, options)) {
    // Windows without end and times without limit: all before 1970 is one window.
    const start = window.start <= 0 ? -Infinity : window.start
    const from = next
    while (next < runs.length && times[next] >= start) next++
    if (next > from) groups.push({ window, runs: runs.slice(from, next) })
    if (next === runs.length) return groups
  }
  return groups
}

function chooseRuns(
  input: PolicyInput,
  runs: readonly Run[],
  options: DateTieredOptions,
): readonly Run[] {
  const { incomingFilesMin, windowFilesMin, filesMax, ageMaxMilliseconds } = options
  const groups = groupByWindow(input, runs, options)
  for (const [index, group] of groups.entries()) {
    if (group.window.end <= input.now - ageMaxMilliseconds) break
    if (index === 0) {
      const incoming = {
        ...exploringDefaults,
        filesMin: incomingFilesMin,
        filesMax: Math.max(filesMax, incomingFilesMin),
      }
      const chosen = exploreRuns(group.runs, incoming)
      if (chosen.length > 0) return chosen
      continue
    }
    const stretch = idleStretches(group.runs).find((idle) => idle.length >= windowFilesMin)
    if (stretch !== undefined) return stretch.slice(-Math.max(filesMax, windowFilesMin))
  }
  return []
}

/**
 * Makes the policy. A requested major compaction gives up the windows: all files become one, which
 * expires when its newest cell does.
 */
export function dateTieredPolicy(options: DateTieredOptions): CompactionPolicy {
  return runPolicy({
    name: 'date-tiered',
    runsOf: flushedRuns,
    chooseRuns: (runs, input) => chooseRuns(input, runs, options),
    // Files are many by design.
    debt: () => noDebt,
  })
}
