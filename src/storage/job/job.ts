/**
 * The types that all background jobs share. A job is a pure function from inputs to output files,
 * written as a generator that yields between slices of work. So a worker thread can run it to the
 * end, the inline executor can let the event loop run in between, and a synchronous caller can run
 * it at once. A job yields {@link JobStep}s.
 */
import { CellarError, hasCode } from '../../base/errors.js'
import type { HookOutcome, HookPlan } from '../coprocessor/hook-chain.js'
import type { RetentionOptions } from '../scan/query.js'
import type { WrittenBlocks } from '../sstable/blocks/written-blocks.js'
import type { FrozenEntries } from '../memtable/frozen-entries.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { SsTableFormat } from './sstable-output.js'

/** The common part of flushes and compactions. Structured-cloneable, as all parts of a job. */
interface CommonJob extends DatabasePlace {
  /**
   * Numbers for value files, new in the directory; none if the family keeps all values in SSTables
   * and the inputs use no value file.
   */
  readonly valueFileNumbers: readonly number[]
  /**
   * A value file is finished after this many bytes; only the one with the last number may grow
   * beyond.
   */
  readonly valueFileBytesMax: number
  readonly format: SsTableFormat
  readonly retention: RetentionOptions
  /**
   * Time of the job in milliseconds since the Unix epoch; cells that have expired by then are
   * dropped.
   */
  readonly now: number
  /** Cell hooks of coprocessors. REQUIRES `loadHooks` before the job starts. */
  readonly hooks: HookPlan | undefined
  /** Memory of the block cache, for copies of the blocks that the job writes. */
  readonly segments: readonly SharedArrayBuffer[]
  readonly nativeFree: boolean
}

/** Writes a frozen memtable as one SSTable of level 0. */
export interface FlushJob extends CommonJob {
  readonly kind: 'flush'
  /** Number of the file to write, new in the directory; allocated by the main thread. */
  readonly fileNumber: number
  readonly entries: FrozenEntries
  /** Nothing is dropped up to this sequence: open snapshots and scans of the memtable see it. */
  readonly sequenceKept: number
}

/** One input of a compaction. */
export type CompactionInput = Pick<
  FileMetadata,
  | 'fileNumber'
  | 'fileBytes'
  | 'entryCount'
  | 'level'
  | 'writtenAs'
  | 'sequenceAssigned'
  | 'fromBulkWriter'
  | 'valueFiles'
>

/** The facts about a file that a compaction needs to read it. */
export function inputOf(file: FileMetadata): CompactionInput {
  const { fileNumber, fileBytes, entryCount, level, writtenAs } = file
  const { sequenceAssigned, fromBulkWriter, valueFiles } = file
  const origin = { writtenAs, sequenceAssigned, fromBulkWriter }
  return { fileNumber, fileBytes, entryCount, level, ...origin, valueFiles }
}

/** Escaped rows between which a job works; an absent bound is open. */
export interface RowSlice {
  /** Inclusive. */
  readonly first: Buffer | undefined
  /** Exclusive. */
  readonly end: Buffer | undefined
  /** Estimated part of the inputs' entries, above 0, at most 1; only used for the progress. */
  readonly part: number
}

/** Merges SSTables of one store into new ones. */
export interface CompactionJob extends CommonJob {
  readonly kind: 'compaction'
  /** Newest first. */
  readonly inputs: readonly CompactionInput[]
  /** The rows of the inputs that this job merges; undefined = all. */
  readonly slice: RowSlice | undefined
  /** Numbers for outputs, ascending, new in the directory; allocated by the main thread. */
  readonly fileNumbers: readonly number[]
  /** Value files whose values are copied, so that the outputs do not refer to these files. */
  readonly valueFilesRewritten: readonly number[]
  readonly outputLevel: number
  /** An output is finished at the first row after this many bytes; Infinity = one output. */
  readonly outputBytesMax: number
  /**
   * Escaped rows, ascending: an output is also finished before the first key that is not smaller
   * than one.
   */
  readonly boundaries: readonly Buffer[]
  /**
   * Whether the inputs are all files of the store with their rows, so that delete markers may be
   * dropped.
   */
  readonly major: boolean
  /** Timestamp of the earliest put in the inputs, rounded down. */
  readonly earliestPutTimestamp: number
  /** Whether to read every output back and check every byte before the job ends. */
  readonly verify: boolean
}

/** Numbers of all files that a job may write. */
export function outputNumbersOf(job: Job): readonly number[] {
  const tables = job.kind === 'flush' ? [job.fileNumber] : job.fileNumbers
  return [...tables, ...job.valueFileNumbers]
}

/** Most value files of one job; the last one takes the rest. */
const valueFilesMax = 64

/** How many numbers for value files a job needs that writes about `bytes` bytes of values. */
export function valueFileCount(bytes: number, valueFileBytesMax: number): number {
  return Math.min(valueFilesMax, Math.ceil(bytes / valueFileBytesMax) + 1)
}

/** Every kind of job. */
export type Job = FlushJob | CompactionJob

/** Entries that a job dropped, by reason. */
export interface DropCounts {
  /** Versions beyond those that the family keeps, and cells that were written twice. */
  versions: number
  /** Masked by a delete marker. */
  masked: number
  /** Cells older than the time to live of the family or their own. */
  expired: number
  /** Delete markers that masked nothing any more. */
  markers: number
  /** Dropped by cell hooks of coprocessors. */
  hooks: number
}

/** Counts that are all zero. */
export function noDrops(): DropCounts {
  return { versions: 0, masked: 0, expired: 0, markers: 0, hooks: 0 }
}

/** Adds the counts of `from` to `to`. */
export function addDrops(to: DropCounts, from: DropCounts): void {
  for (const reason of Object.keys(to) as (keyof DropCounts)[]) to[reason] += from[reason]
}

/** The result of a job. Its files and their directory are synced. */
export interface JobResult {
  readonly files: readonly FileMetadata[]
  /** By file: the blocks in the segments of the job. */
  readonly written: readonly (WrittenBlocks | undefined)[]
  /** Entries read, written and dropped; read = written + dropped, or the job fails. */
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly entriesDropped: number
  /** Counts by reason; their sum is {@link entriesDropped}. */
  readonly dropped: DropCounts
  /** The counts of each cell hook, in the order of the plan. */
  readonly hooks: readonly HookOutcome[]
  readonly bytesWritten: number
  /** Whether all cells of the files are puts without TTL, with their values in the cells. */
  readonly holdsPlainPuts: boolean
}

/** States of a job, the value of word 0 of its control. */
const run = 0
const cancel = 1
const pause = 2

/** Shared words by which other threads control a job and see its progress. */
export class JobControl {
  /**
   * Word 0: state. Word 1: finished work in units of 1/1024. Word 2: KiB per second that the job
   * may read and write; 0 = unlimited.
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

  /** Asks the job to rest at its next slice, or to continue. A cancelled job stays cancelled. */
  pause(paused: boolean): void {
    if (!this.cancelled) this.setState(paused ? pause : run)
  }

  get paused(): boolean {
    return Atomics.load(this.words, 0) === pause
  }

  /** Finished part of the work, 0 to 1. */
  get progress(): number {
    return Atomics.load(this.words, 1) / 1024
  }

  set progress(part: number) {
    Atomics.store(this.words, 1, Math.round(part * 1024))
  }

  /** Bytes per second that the job may read and write; Infinity = unlimited. */
  get bytesPerSecondMax(): number {
    const kibibytes = Atomics.load(this.words, 2)
    return kibibytes === 0 ? Infinity : kibibytes * 1024
  }

  set bytesPerSecondMax(bytes: number) {
    const kibibytes = bytes === Infinity ? 0 : Math.min(0x7fff_ffff, Math.ceil(bytes / 1024))
    Atomics.store(this.words, 2, kibibytes)
    Atomics.notify(this.words, 0)
  }

  /**
   * Blocks this thread for some milliseconds, or until the state changes. Only for worker threads.
   */
  rest(milliseconds: number): void {
    const state = Atomics.load(this.words, 0)
    if (state !== cancel) Atomics.wait(this.words, 0, state, milliseconds)
  }

  private setState(state: number): void {
    Atomics.store(this.words, 0, state)
    Atomics.notify(this.words, 0)
  }
}

/**
 * What a job yields: the milliseconds that it wants to rest, mostly 0, or an output that is nearly
 * complete. Whoever runs the job on the event loop may sync that output first, in another thread,
 * so that the job's own sync has little left to do.
 */
export type JobStep = number | UnsyncedOutput

/** An output that is not durable yet. */
export interface UnsyncedOutput {
  /** Makes durable what is written so far. */
  sync(): Promise<void>
}

/** The code of the error of a cancelled job, which never reaches users. */
const cancelledCode = 'JOB_CANCELLED'

/** Makes the error that ends a cancelled job. */
export function jobCancelled(): CellarError {
  return new CellarError(cancelledCode, 'the job was cancelled')
}

/** Whether an error is that of a cancelled job. */
export function isCancelled(error: unknown): boolean {
  return hasCode(error, cancelledCode)
}
