/**
 * A store made of lists of rows, on which policies are tried out: flushes, merges that cut outputs
 * as a job would, moves and drops. Each row has one column, one version is kept; reads take the
 * first hit in the order of files, so a choice that breaks that order gives wrong answers.
 */
import { checkedChoice } from '../../../../src/storage/compaction/selection.js'
import type {
  CompactionChoice,
  CompactionPolicy,
  MergeChoice,
  PolicyInput,
} from '../../../../src/storage/compaction/choice.js'
import type { FileMetadata } from '../../../../src/storage/version/file-metadata.js'
import { keyOf } from './drawing.js'

/** Bytes that every entry takes. */
export const entryBytes = 1024

interface Entry {
  readonly row: number
  readonly sequence: number
  readonly deleted: boolean
}

/** What stands behind a file: entries by row, each row once. */
type Content = readonly Entry[]

/** The row of a number. */
export function rowName(row: number): string {
  return `r${String(row).padStart(7, '0')}`
}

/** A change of the store that has been chosen but not installed. */
export interface RunningJob {
  readonly choice: CompactionChoice
  install(): void
}

export class SimulatedStore {
  readonly levels: FileMetadata[][] = [[]]
  readonly busyFiles = new Set<number>()
  now = 0
  ttlMilliseconds = Infinity
  entriesFlushed = 0
  entriesMerged = 0
  resting = false
  /** As `PolicyInput.readBytes`; the caller counts. */
  readBytes = 0
  private readonly contents = new Map<number, Content>()
  private readonly memtable = new Map<number, Entry>()
  private readonly truth = new Map<number, Entry>()
  private sequence = 0
  private fileNumber = 0

  write(row: number, deleted = false): void {
    const entry = { row, sequence: ++this.sequence, deleted }
    this.memtable.set(row, entry)
    this.truth.set(row, entry)
  }

  get memtableSize(): number {
    return this.memtable.size
  }

  flush(): void {
    const entries = Array.from(this.memtable.values()).sort((a, b) => a.row - b.row)
    this.memtable.clear()
    if (entries.length === 0) return
    this.entriesFlushed += entries.length
    this.levels[0].unshift(this.makeFile(entries, 0))
  }

  input(): PolicyInput {
    const { levels, now, ttlMilliseconds, busyFiles, resting, readBytes } = this
    return { levels, now, ttlMilliseconds, minVersions: 0, busyFiles, resting, readBytes }
  }

  /** Starts what the policy chooses; undefined if there is nothing to do. */
  start(policy: CompactionPolicy): RunningJob | undefined {
    const choice = checkedChoice(this.input(), policy.choose(this.input()))
    return choice.kind === 'nothing' ? undefined : this.startChoice(choice)
  }

  startChoice(choice: Exclude<CompactionChoice, { kind: 'nothing' }>): RunningJob {
    const { files } = choice
    for (const file of files) this.busyFiles.add(file.fileNumber)
    const install = (): void => {
      for (const file of files) this.remove(file)
      if (choice.kind === 'merge') this.mergeInto(choice)
      else if (choice.kind === 'move') {
        for (const file of files) this.place({ ...file, level: choice.outputLevel })
      }
    }
    return { choice, install }
  }

  /** Applies choices until there is none; returns their number. Throws if it does not end. */
  settle(policy: CompactionPolicy, choicesMax: number): number {
    for (let count = 0; count <= choicesMax; count++) {
      const job = this.start(policy)
      if (job === undefined) return count
      job.install()
    }
    throw new Error(`the policy does not come to rest in ${choicesMax} choices`)
  }

  /** Runs a read of one row may meet: files of level 0, and levels. */
  get runCount(): number {
    const deep = this.levels.slice(1).filter((files) => files.length > 0).length
    return this.levels[0].length + deep
  }

  /** Entries in files by rows that exist. */
  get spaceAmplification(): number {
    const stored = this.levels.flat().reduce((sum, file) => sum + file.entryCount, 0)
    let live = 0
    for (const entry of this.truth.values()) if (!entry.deleted) live++
    return stored / Math.max(1, live)
  }

  get writeAmplification(): number {
    return (this.entriesFlushed + this.entriesMerged) / Math.max(1, this.entriesFlushed)
  }

  /** What is wrong with the shape of the store or with what reads would find. */
  complaint(): string | undefined {
    for (const [level, files] of this.levels.entries()) {
      for (let i = 1; level > 0 && i < files.length; i++) {
        const [before, after] = [files[i - 1], files[i]]
        if (before.lastKey.compare(after.firstKey) >= 0) return `level ${level} overlaps`
      }
    }
    const seen = new Map<number, Entry>(this.memtable)
    for (const file of this.levels.flat()) {
      for (const entry of this.contents.get(file.fileNumber)!) {
        const newer = seen.get(entry.row)
        if (newer === undefined) seen.set(entry.row, entry)
        else if (newer.sequence <= entry.sequence) return `row ${entry.row} is out of order`
      }
    }
    for (const [row, entry] of this.truth) {
      const found = seen.get(row)
      if (found === undefined && entry.deleted) continue
      if (this.ttlMilliseconds !== Infinity && found === undefined) continue
      if (found?.sequence !== entry.sequence) return `row ${row} reads wrong`
    }
    return undefined
  }

  private makeFile(entries: Content, level: number): FileMetadata {
    const fileNumber = ++this.fileNumber
    this.contents.set(fileNumber, entries)
    const sequences = entries.map((entry) => entry.sequence)
    const deleteCount = entries.filter((entry) => entry.deleted).length
    const last = entries[entries.length - 1]
    return {
      fileNumber,
      fileBytes: entries.length * entryBytes,
      level,
      entryCount: entries.length,
      deleteCount,
      familyDeleteCount: 0,
      firstKey: keyOf(rowName(entries[0].row), '', entries[0].sequence),
      lastKey: keyOf(rowName(last.row), '', last.sequence),
      minSequence: Math.min(...sequences),
      maxSequence: Math.max(...sequences),
      minTimestamp: BigInt(Math.floor(this.now)),
      maxTimestamp: BigInt(Math.floor(this.now)),
      earliestPutTimestamp: BigInt(Math.floor(this.now)),
      createdMilliseconds: this.now,
    }
  }

  private remove(file: FileMetadata): void {
    this.busyFiles.delete(file.fileNumber)
    const files = this.levels[file.level]
    files.splice(files.indexOf(file), 1)
  }

  private place(file: FileMetadata): void {
    while (this.levels.length <= file.level) this.levels.push([])
    const files = this.levels[file.level]
    files.push(file)
    if (file.level > 0) files.sort((a, b) => a.firstKey.compare(b.firstKey))
    else files.sort((a, b) => b.maxSequence - a.maxSequence || b.fileNumber - a.fileNumber)
  }

  private mergeInto(choice: MergeChoice): void {
    const newest = new Map<number, Entry>()
    for (const { fileNumber } of choice.files) {
      for (const entry of this.contents.get(fileNumber)!) {
        const other = newest.get(entry.row)
        if (other === undefined || other.sequence < entry.sequence) newest.set(entry.row, entry)
      }
      this.contents.delete(fileNumber)
    }
    const merged = Array.from(newest.values()).sort((a, b) => a.row - b.row)
    const kept = choice.major ? merged.filter((entry) => !entry.deleted) : merged
    this.entriesMerged += kept.length
    const newestTimestamp = choice.files.reduce(
      (max, file) => (file.maxTimestamp > max ? file.maxTimestamp : max),
      choice.files[0].maxTimestamp,
    )
    for (const entries of cutOutputs(kept, choice)) {
      const file = this.makeFile(entries, choice.outputLevel)
      this.place({ ...file, maxTimestamp: newestTimestamp })
    }
  }
}

function* cutOutputs(entries: Content, choice: MergeChoice): Generator<Content> {
  let start = 0
  let boundary = 0
  for (let at = 0; at < entries.length; at++) {
    const key = keyOf(rowName(entries[at].row), '', 0)
    let crossed = false
    while (boundary < choice.boundaries.length && choice.boundaries[boundary].compare(key) <= 0) {
      boundary++
      crossed = true
    }
    const full = (at - start) * entryBytes >= choice.outputBytesMax
    if (at > start && (crossed || full)) {
      yield entries.slice(start, at)
      start = at
    }
  }
  if (start < entries.length) yield entries.slice(start)
}
