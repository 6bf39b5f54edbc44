/**
 * What all background jobs share: a job is a pure function from inputs to output files,
 * written as a generator that yields between slices of work, so that a worker thread runs it to the
 * end, the inline executor lets the event loop breathe, and a synchronous caller drives it at once.
 * What it yields is the number of milliseconds that it wants to rest, mostly 0.
 */
import type { HookOutcome, HookPlan } from '../coprocessor/hook-chain.js'
import type { RetentionOptions } from '../scan/query.js'
import type { FrozenEntries } from '../memtable/frozen-entries.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { FileMetadata, ValueFileUse } from '../version/file-metadata.js'
import type { SsTableFormat } from './sstable-output.js'

/** Writes a frozen memtable as one SSTable of level 0. Structured-cloneable. */
export interface FlushJob extends DatabasePlace {
  readonly kind: 'flush'
  /** Number of the file to write; allocated by the main thread, never used before. */
  readonly fileNumber: number
  /** Numbers for value files, likewise; none if the family keeps values in line. */
  readonly valueFileNumbers: readonly number[]
  /** A value file is finished behind this many bytes; only the last number's grows beyond. */
  readonly valueFileBytesMax: number
  readonly entries: FrozenEntries
  readonly format: SsTableFormat
  readonly retention: RetentionOptions
  /** Nothing is dropped up to this sequence: open snapshots and scans of the memtable see it. */
  readonly sequenceKept: number
  /** Milliseconds; what has expired at that time is dropped. */
  readonly now: number
  /** Cell hooks of coprocessors; REQUIRES `loadHooks` before the job starts. */
  readonly hooks: HookPlan | undefined
  readonly nativeFree: boolean
}

/** One input of a compaction. */
export interface CompactionInput {
  readonly fileNumber: number
  readonly fileBytes: number
  readonly entryCount: number
  readonly level: number
  readonly writtenAs?: number | undefined
  readonly sequenceAssigned?: number | undefined
  readonly fromBulkWriter?: true | undefined
  readonly valueFiles?: readonly ValueFileUse[] | undefined
}

/** What a compaction must know of a file that it reads. */
export function inputOf(file: FileMetadata): CompactionInput {
  const { fileNumber, fileBytes, entryCount, level, writtenAs } = file
  const { sequenceAssigned, fromBulkWriter, valueFiles } = file
  const origin = { writtenAs, sequenceAssigned, fromBulkWriter }
  return { fileNumber, fileBytes, entryCount, level, ...origin, valueFiles }
}

/** Escaped rows between which a job works; an absent limit is open. */
export interface RowSlice {
  /** Inclusive. */
  readonly first: Buffer | undefined
  /** Exclusive. */
  readonly end: Buffer | undefined
  /** Estimated part of the inputs' entries, above 0, at most 1; only for the progress. */
  readonly part: number
}

/** Merges SSTables of one store into new ones. Structured-cloneable. */
export interface CompactionJob extends DatabasePlace {
  readonly kind: 'compaction'
  /** Newest first. */
  readonly inputs: readonly CompactionInput[]
  /** The rows of the inputs that this job merges; undefined = all. */
  readonly slice: RowSlice | undefined
  /** Numbers that the job may use for its outputs, ascending; allocated by the main thread. */
  readonly fileNumbers: readonly number[]
  /**
   * Numbers of the value files that the job may write; none if the family keeps values in line and
   * the inputs refer to no value file.
   */
  readonly valueFileNumbers: readonly number[]
  /** As in a flush. */
  readonly valueFileBytesMax: number
  /** Value files that the outputs shall not refer to any more. */
  readonly valueFilesRewritten: readonly number[]
  readonly outputLevel: number
  /**
   * An output is finished at the first row border behind this many bytes; Infinity = one output.
   */
  readonly outputBytesMax: number
  /**
   * Escaped rows, ascending: an output is also finished before the first key that is not smaller.
   */
  readonly boundaries: readonly Buffer[]
  readonly format: SsTableFormat
  readonly retention: RetentionOptions
  readonly now: number
  /** As in a flush. */
  readonly hooks: HookPlan | undefined
  /** The inputs are all files of the store that hold their rows: delete markers may go. */
  readonly major: boolean
  /** Timestamp of the earliest put in the inputs, rounded down. */
  readonly earliestPutTimestamp: number
  /** Read every output back and check it down to the last byte before it is handed over. */
  readonly verify: boolean
  readonly nativeFree: boolean
}

/** Numbers of all files that a job may write. */
export function outputNumbersOf(job: Job): readonly number[] {
  const tables = job.kind === 'flush' ? [job.fileNumber] : job.fileNumbers
  return [...tables, ...job.valueFileNumbers]
}

/** Most value files of one job; the last one takes what the others do not. */
const valueFilesMax = 64

/** How many numbers for value files a job gets that writes about so many bytes of values. */
export function valueFileCount(bytes: number, valueFileBytesMax: number): number {
  return Math.min(valueFilesMax, Math.ceil(bytes / valueFileBytesMax) + 1)
}

/** Every kind of job. */
export type Job = FlushJob | CompactionJob

/** Entries that a job dropped, by reason. */
export interface DropCounts {
  /** More versions than the family keeps, or written twice. */
  versions: number
  /** Masked by a delete marker. */
  masked: number
  /** Outlived the family's or their own time to live. */
  expired: number
  /** Delete markers that masked nothing any more. */
  markers: number
  /** Dropped by cell hooks of coprocessors. */
  hooks: number
}

/** Counts of nothing. */
export function noDrops(): DropCounts {
  return { versions: 0, masked: 0, expired: 0, markers: 0, hooks: 0 }
}

/** Adds the counts of `from` to `to`. */
export function addDrops(to: DropCounts, from: DropCounts): void {
  for (const reason of Object.keys(to) as (keyof DropCounts)[]) to[reason] += from[reason]
}

/** What a job made. Its files are synced, and so is their directory. */
export interface JobResult {
  readonly files: readonly FileMetadata[]
  /** Entries read, written and dropped; read = written + dropped, or the job fails. */
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly entriesDropped: number
  /** Adds up to {@link entriesDropped}. */
  readonly dropped: DropCounts
  /** What each cell hook did, in the order of the plan. */
  readonly hooks: readonly HookOutcome[]
  readonly bytesWritten: number
}

/** States of a job, as word 0 of its control says. */
const run = 0
const cancel = 1
const pause = 2

/** Words between the thread that runs a job and those that wait for it. */
export class JobControl {
  /**
   * Word 0: state. Word 1: work done, in units of 1/1024 of the whole. Word 2: KiB per second that
   * the job may read and write, 0 = as many as it can.
   */
  readonly words: Int32Array

  constructor(memory = new SharedArrayBuffer(12)) {
    this.words = new Int32Array(memory)
  }

  /** Asks the job to stop at its next slice. */
  cancel(): void {
    this.setState(cancel)
  }

  get cancelled(): boolean {
    return Atomics.load(this.words, 0) === cancel
  }

  /** Asks the job to rest at its next slice, or to go on. A cancelled job stays cancelled. */
  pause(paused: boolean): void {
    if (!this.cancelled) this.setState(paused ? pause : run)
  }

  get paused(): boolean {
    return Atomics.load(this.words, 0) === pause
  }

  /** Part of the work that is done, 0 to 1. */
  get progress(): number {
    return Atomics.load(this.words, 1) / 1024
  }

  set progress(part: number) {
    Atomics.store(this.words, 1, Math.round(part * 1024))
  }

  /** Bytes per second that the job may read and write; Infinity = as many as it can. */
  get bytesPerSecondMax(): number {
    const kibibytes = Atomics.load(this.words, 2)
    return kibibytes === 0 ? Infinity : kibibytes * 1024
  }

  set bytesPerSecondMax(bytes: number) {
    const kibibytes = bytes === Infinity ? 0 : Math.min(0x7fff_ffff, Math.ceil(bytes / 1024))
    Atomics.store(this.words, 2, kibibytes)
    Atomics.notify(this.words, 0)
  }

  /** Blocks this thread for a while, or until the state changes. Only for worker threads. */
  rest(milliseconds: number): void {
    const state = Atomics.load(this.words, 0)
    if (state !== cancel) Atomics.wait(this.words, 0, state, milliseconds)
  }

  private setState(state: number): void {
    Atomics.store(this.words, 0, state)
    Atomics.notify(this.words, 0)
  }
}

/** Thrown inside a job that was cancelled; never reaches users. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled'
}
