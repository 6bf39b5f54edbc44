/** The events of a database: names, arguments, and their delivery from the engine to listeners. */
import type { EventEmitter } from 'node:events'
import { checkChoice } from '../base/arguments.js'
import { invalidArgument, type CellarError } from '../base/errors.js'
import type { SlowOperation } from '../storage/engine/write/operation-times.js'
import type { EngineEvents } from '../storage/engine/reports.js'
import type { Pressure } from '../storage/engine/write/write-pacer.js'

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
  /** An operation took at least `slowOperationMilliseconds`. */
  slowOperation: [operation: SlowOperation]
  /**
   * A problem without effect on the database, such as an obsolete file that could not be removed.
   */
  warning: [error: unknown]
}

/** A function that receives the arguments of an event. */
export type DatabaseListener<E extends keyof DatabaseEvents> = (
  ...values: DatabaseEvents[E]
) => void

const eventNames: readonly (keyof DatabaseEvents)[] = [
  'poisoned',
  'flush',
  'flushProgress',
  'flushError',
  'compactionProgress',
  'compaction',
  'compactionError',
  'pressure',
  'slowOperation',
  'warning',
]

/** Checks the arguments of `on`, `once` and `off`. */
export function checkListener(event: unknown, listener: unknown): void {
  checkChoice(event, 'event', eventNames)
  if (typeof listener === 'function') return
  throw invalidArgument(`the listener of '${String(event)}' must be a function`)
}

/**
 * Delivers the events of an engine to an emitter. An error thrown by a listener is uncaught, and
 * does not affect the engine.
 */
export function eventsOf(emitter: EventEmitter): EngineEvents {
  const emit: EventEmitter['emit'] = (event, ...values: unknown[]) => {
    try {
      return emitter.emit(event, ...values)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
      return true
    }
  }
  return {
    onPoisoned: (error) => emit('poisoned', error),
    onFlushed: (table, family, { entriesWritten: entries, bytesWritten: bytes }) =>
      emit('flush', { table, family, entries, bytes }),
    onFlushMoved: (table, family, bytesDone, bytesTotal) =>
      emit('flushProgress', { table, family, bytesDone, bytesTotal }),
    onFlushFailed: (table, family, error) => emit('flushError', { table, family, error }),
    onCompactionMoved: (table, family, progress) =>
      emit('compactionProgress', { table, family, ...progress }),
    onCompacted: (table, family, outcome) => {
      const {
        entriesWritten: entries,
        entriesDropped: droppedEntries,
        bytesWritten: bytes,
      } = outcome
      const { kind, major, inputFiles, outputFiles, outputLevel } = outcome
      const files = { kind, major, inputFiles, outputFiles, outputLevel }
      emit('compaction', { table, family, ...files, entries, droppedEntries, bytes })
    },
    onCompactionFailed: (table, family, error, requested) => {
      if (!requested) emit('compactionError', { table, family, error })
    },
    onPressure: (pressure) => emit('pressure', pressure),
    onSlowOperation: (operation) => emit('slowOperation', operation),
    onWarning: (error) => emit('warning', error),
  }
}
