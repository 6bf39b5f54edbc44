/**
 * What all background jobs share (design D8): a job is a pure function from inputs to output files,
 * written as a generator that yields between slices of work, so that a worker thread runs it to the
 * end, the inline executor lets the event loop breathe, and a synchronous caller drives it at once.
 */
import type { RetentionOptions } from '../scan/query.js'
import type { FrozenEntries } from '../memtable/frozen-entries.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { TableFormat } from './table-output.js'

/** Writes a frozen memtable as one SSTable of level 0. Structured-cloneable. */
export interface FlushJob {
  readonly kind: 'flush'
  readonly directory: string
  /** Number of the file to write; allocated by the main thread, never used before. */
  readonly fileNumber: number
  readonly entries: FrozenEntries
  readonly format: TableFormat
  readonly retention: RetentionOptions
  /** Oldest read point that must keep its view. */
  readonly readPointOldest: number
  /** Milliseconds; what has expired at that time is dropped. */
  readonly now: number
  readonly nativeFree: boolean
}

/** One input of a compaction. */
export interface CompactionInput {
  readonly fileNumber: number
  readonly fileBytes: number
  readonly entryCount: number
  readonly level: number
}

/** Merges SSTables of one store into new ones. Structured-cloneable. */
export interface CompactionJob {
  readonly kind: 'compaction'
  readonly directory: string
  /** Newest first. */
  readonly inputs: readonly CompactionInput[]
  /** Numbers that the job may use for its outputs, ascending; allocated by the main thread. */
  readonly fileNumbers: readonly number[]
  readonly outputLevel: number
  /**
   * An output is finished at the first row boundary behind this many bytes; Infinity = one output.
   */
  readonly outputBytesMax: number
  readonly format: TableFormat
  readonly retention: RetentionOptions
  readonly readPointOldest: number
  readonly now: number
  /** The inputs are all files of the store: delete markers may go. */
  readonly major: boolean
  /** Milliseconds for which a major compaction keeps young markers. */
  readonly markerRetentionMilliseconds: number
  /** Timestamp of the earliest put in the inputs, rounded down. */
  readonly earliestPutTimestamp: number
  readonly nativeFree: boolean
}

/** Every kind of job. */
export type Job = FlushJob | CompactionJob

/** What a job made. Its files are synced, and so is their directory. */
export interface JobResult {
  readonly files: readonly FileMetadata[]
  /** Entries read, written and dropped; read = written + dropped, or the job fails. */
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly entriesDropped: number
  readonly bytesWritten: number
}

/** Shared words between the thread that runs a job and the one that waits for it. */
export class JobControl {
  /** Word 0: 1 = give up. Word 1: work done, in units of 1/1024 of the whole. */
  readonly words: Int32Array

  constructor(memory = new SharedArrayBuffer(8)) {
    this.words = new Int32Array(memory)
  }

  /** Asks the job to stop at its next slice. */
  cancel(): void {
    Atomics.store(this.words, 0, 1)
  }

  get cancelled(): boolean {
    return Atomics.load(this.words, 0) === 1
  }

  /** Part of the work that is done, 0 to 1. */
  get progress(): number {
    return Atomics.load(this.words, 1) / 1024
  }

  set progress(part: number) {
    Atomics.store(this.words, 1, Math.round(part * 1024))
  }
}

/** Thrown inside a job that was cancelled; never reaches users. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled'
}
