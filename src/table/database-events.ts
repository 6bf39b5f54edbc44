/** The events of a database: names, arguments, and their delivery from the engine to listeners. */
import type { EventEmitter } from 'node:events'
import { checkChoice } from '../base/arguments.js'
import { invalidArgument, type CellarError } from '../base/errors.js'
import type { SlowOperation } from '../storage/engine/write/operation-times.js'
import type { EngineEvents } from '../storage/engine/reports.js'
import type { Pressure } from '../storage/engine/write/write-pacer.js'

/** Events of a database and their arguments. */
export interface DatabaseEvents {
  /** A write failed; the database is read-only until it is opened again. */
  poisoned: [error: CellarError]
  /** A memtable was flushed. */
  flush: [
    flush: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** Cells and markers written. */
      entries: number
      /** Bytes written. */
      bytes: number
    },
  ]
  /** Progress of a running flush, about ten times a second, in bytes of memory. */
  flushProgress: [
    progress: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** Bytes of memory flushed so far. */
      bytesDone: number
      /** Bytes of memory to flush. */
      bytesTotal: number
    },
  ]
  /** A flush failed and will be retried. No data was lost. */
  flushError: [
    failure: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** Why the flush failed. */
      error: unknown
    },
  ]
  /** Progress of a running compaction, about ten times a second. */
  compactionProgress: [
    progress: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** Whether all files of the family are merged. */
      major: boolean
      /** Number of files that are merged. */
      inputFiles: number
      /** Bytes read so far. */
      bytesDone: number
      /** Bytes to read. */
      bytesTotal: number
    },
  ]
  /** Files of a family were merged, moved to another level or dropped. */
  compaction: [
    compaction: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** The change of the files. */
      kind: 'merge' | 'move' | 'drop'
      /** Whether all files of the family were merged. */
      major: boolean
      /** Number of files that were replaced. */
      inputFiles: number
      /** Number of files that replace them. */
      outputFiles: number
      /** Level of the new files. */
      outputLevel: number
      /** Cells and markers written. */
      entries: number
      /** Cells and markers dropped. */
      droppedEntries: number
      /** Bytes written. */
      bytes: number
    },
  ]
  /** A background compaction failed. No data was lost; it is retried after the next flush. */
  compactionError: [
    failure: {
      /** Name of the table. */
      table: string
      /** Name of the family. */
      family: string
      /** Why the compaction failed. */
      error: unknown
    },
  ]
  /** Compactions lag so far that writers are slowed down or stopped, or they have caught up. */
  pressure: [pressure: Pressure]
  /** An operation took at least `slowOperationMilliseconds`. */
  slowOperation: [operation: SlowOperation]
  /**
   * A problem without effect on the database, such as an obsolete file that could not be removed.
   */
  warning: [error: unknown]
}

const eventNames: Readonly<Record<keyof DatabaseEvents, true>> = {
  poisoned: true,
  flush: true,
  flushProgress: true,
  flushError: true,
  compactionProgress: true,
  compaction: true,
  compactionError: true,
  pressure: true,
  slowOperation: true,
  warning: true,
}

/** Checks the arguments of `on`, `once` and `off`. */
export function checkListener(event: unknown, listener: unknown): void {
  checkChoice(event, 'event', Object.keys(eventNames))
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
    onFlushed: (table, family, result) =>
      emit('flush', {
        table,
        family,
        entries: result.entriesWritten,
        bytes: result.bytesWritten,
      }),
    onFlushMoved: (table, family, bytesDone, bytesTotal) =>
      emit('flushProgress', { table, family, bytesDone, bytesTotal }),
    onFlushFailed: (table, family, error) => emit('flushError', { table, family, error }),
    onCompactionMoved: (table, family, progress) =>
      emit('compactionProgress', { table, family, ...progress }),
    onCompacted: (table, family, outcome) =>
      emit('compaction', {
        table,
        family,
        kind: outcome.kind,
        major: outcome.major,
        inputFiles: outcome.inputFiles,
        outputFiles: outcome.outputFiles,
        outputLevel: outcome.outputLevel,
        entries: outcome.entriesWritten,
        droppedEntries: outcome.entriesDropped,
        bytes: outcome.bytesWritten,
      }),
    onCompactionFailed: (table, family, error, requested) => {
      if (!requested) emit('compactionError', { table, family, error })
    },
    onPressure: (pressure) => emit('pressure', pressure),
    onSlowOperation: (operation) => emit('slowOperation', operation),
    onWarning: (error) => emit('warning', error),
  }
}
