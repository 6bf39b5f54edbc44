/** The events of a database and their arguments. `Database` delivers them to listeners. */
import type { CellarError } from '../../base/errors.js'
import type { SlowOperation } from './write/operation-times.js'
import type { Pressure } from './write/write-pacer.js'

/** A family of a table. */
export interface EventSource {
  /** Name of the table. */
  table: string
  /** Name of the family. */
  family: string
}

/** A finished flush. */
export interface FlushEvent extends EventSource {
  /** Cells and markers written. */
  entries: number
  /** Bytes written. */
  bytes: number
}

/** Progress of a flush, in bytes of memory, or of a compaction, in bytes of files. */
export interface ProgressEvent extends EventSource {
  /** Bytes done so far. */
  bytesDone: number
  /** Bytes to do. */
  bytesTotal: number
}

/** The files of a compaction. */
export interface CompactedFiles {
  /** Whether all files of the family are merged. */
  major: boolean
  /** Number of files that are merged, or were replaced. */
  inputFiles: number
}

/** Progress of a compaction. */
export interface CompactionProgressEvent extends ProgressEvent, CompactedFiles {}

/** A finished compaction. */
export interface CompactionEvent extends FlushEvent, CompactedFiles {
  /** The change of the files. */
  kind: 'merge' | 'move' | 'drop'
  /** Number of files that replace the input files. */
  outputFiles: number
  /** Level of the new files. */
  outputLevel: number
  /** Cells and markers dropped. */
  droppedEntries: number
}

/** A failed flush or compaction. */
export interface FailureEvent extends EventSource {
  /** Why it failed. */
  error: unknown
}

/** Damage that the scrub has found. */
export interface DamageEvent {
  /** Name of the file in the directory. */
  file: string
  /** `ERR_CORRUPTION` with the place, or `ERR_IO`. */
  error: CellarError
}

/** Events of a database and their arguments. */
export interface DatabaseEvents {
  /** A write failed; the database is read-only until it is opened again. */
  poisoned: [error: CellarError]
  /** A memtable was flushed. */
  flush: [flush: FlushEvent]
  /** Progress of a running flush, about ten times a second. */
  flushProgress: [progress: ProgressEvent]
  /** A flush failed and will be retried. No data was lost. */
  flushError: [failure: FailureEvent]
  /** Progress of a running compaction, about ten times a second. */
  compactionProgress: [progress: CompactionProgressEvent]
  /** Files of a family were merged, moved to another level or dropped. */
  compaction: [compaction: CompactionEvent]
  /** A background compaction failed. No data was lost; it is retried after the next flush. */
  compactionError: [failure: FailureEvent]
  /** Compactions lag so far that writers are slowed down or stopped, or they have caught up. */
  pressure: [pressure: Pressure]
  /** The scrub has found damage in a file; see `scrubBytesPerSecond`. Once for each file. */
  damage: [damage: DamageEvent]
  /** An operation took at least `slowOperationMilliseconds`. */
  slowOperation: [operation: SlowOperation]
  /**
   * A problem without effect on the database, such as an obsolete file that could not be removed.
   */
  warning: [error: unknown]
}

/** Raises an event. Never throws. */
export type Raise = <E extends keyof DatabaseEvents>(event: E, ...values: DatabaseEvents[E]) => void
