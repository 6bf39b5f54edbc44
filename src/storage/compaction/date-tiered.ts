/**
 * The date-tiered policy, for time series with a time to live. Files are grouped by the time of
 * their newest cell in windows that grow with age, and merged only within a window. So old data is
 * rewritten once per tier of windows. Then it rests until it expires and its files are dropped.
 *
 * 1. Files are taken from the oldest to the newest. The time of a file is the greatest timestamp of
 * this and all older files, but not later than now. So the files of a window are neighbours, and
 * late data, whose file is new, belongs to a new window.
 * 2. A window of tier n has the length `baseWindow * windowsPerTier^n`, and begins at a multiple of
 * it. Going back in time, the tier grows when the next window would begin a longer one.
 * 3. The newest window with files is merged like an exploring store, because more files will come.
 * The files of every other window are merged into one.
 *
 * Files of deeper levels (of an earlier policy) are left alone until they expire.
 */
import { declareOptions, integer, number, type SettingsOf } from '../../base/options.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionPolicy, PolicyInput } from './choice.js'
import { exploreRuns, exploringOptions } from './exploring.js'
import { flushedRuns, idleStretches, noDebt, runPolicy, type Run } from './runs.js'

/** The declaration of {@link DateTieredOptions}. */
export const dateTieredOptions = declareOptions('compaction policy date-tiered', {
  /**
   * Length of the newest window in milliseconds (…date.tiered.base.window.millis), from 1. Default
   * 6 hours.
   */
  baseWindowMilliseconds: integer({ min: 1, default: 6 * 3_600_000 }),
  /** Number of windows of a length before windows grow (…windows.per.tier), from 2. Default 4. */
  windowsPerTier: integer({ min: 2, default: 4 }),
  /**
   * Age in milliseconds from which a window is not merged any more (…max.storefile.age.millis),
   * from 1. Default Infinity.
   */
  ageMaxMilliseconds: number({ min: 1, default: Infinity }),
  /**
   * Fewest files of the newest window that are merged (…incoming.window.min), from 2. Default 6.
   */
  incomingFilesMin: integer({ min: 2, default: 6 }),
  /** Fewest files of an older window that are merged, from 2. Default 2: one file per window. */
  windowFilesMin: integer({ min: 2, default: 2 }),
  /** Most files in one compaction, from 2. Default 32: more than a window collects. */
  filesMax: integer({ min: 2, default: 32 }),
})

/** Options of the date-tiered policy, with the ends of HBase's names in parentheses. */
export type DateTieredOptions = SettingsOf<typeof dateTieredOptions>

/** A half-open interval of milliseconds. */
export interface TimeWindow {
  readonly start: number
  readonly end: number
}

/** The windows from that of `now` back in time, without end. */
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
    // Windows continue without end, so all times before 1970 belong to one window.
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
        ...exploringOptions.read({ filesMin: incomingFilesMin }),
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
 * Makes the policy. A requested major compaction ignores the windows and makes one file. That file
 * expires with its newest cell.
 */
export function dateTieredPolicy(options: DateTieredOptions): CompactionPolicy {
  return runPolicy({
    runsOf: flushedRuns,
    chooseRuns: (runs, input) => chooseRuns(input, runs, options),
    // This policy keeps many files by design.
    debt: () => noDebt,
  })
}
