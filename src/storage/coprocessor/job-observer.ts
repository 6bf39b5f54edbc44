/**
 * The half of a coprocessor that observes flushes and compactions on the main thread, as the flush
 * and compaction methods of HBase's RegionObserver do. It also supplies facts to cell hooks.
 *
 * All methods are synchronous and optional. An error in a method before the job fails the flush or
 * compaction with `ERR_COPROCESSOR` and changes nothing. An error in a method after it raises the
 * database's event 'warning', because the result of the job is already in use.
 */
import type { StoreJob } from './cell-hook.js'

/** The counts of a finished job. */
export interface StoreJobOutcome {
  /** Files that replace the memtable or the inputs. */
  readonly files: number
  /** Cells and markers that the job read. */
  readonly entriesRead: number
  /** Cells and markers that the job wrote. */
  readonly entriesWritten: number
  /** Entries dropped by HBase's rules and by hooks. */
  readonly entriesDropped: number
  /** Cells that this coprocessor's hook dropped and replaced. */
  readonly hookDropped: number
  /** Cells whose value a cell hook replaced. */
  readonly hookReplaced: number
  /** Cells kept without asking the hook, because an open snapshot sees them. */
  readonly hookNotAsked: number
  /**
   * Results of `finish` of this coprocessor's cell hook: one for each part of the job, since a
   * large compaction is split by key range. Empty if there is no hook or no `finish`.
   */
  readonly reports: readonly unknown[]
  /** Whether the store has neither files nor cells in memory. */
  readonly storeIsEmpty: boolean
}

/** The facts about a file that an observer sees. */
export interface StoreFileInfo {
  /** Number in the name of the file. */
  readonly fileNumber: number
  /** Size of the file. */
  readonly fileBytes: number
  /** Level of the file; 0 holds what was flushed. */
  readonly level: number
  /** Cells and markers in the file. */
  readonly entryCount: number
}

/** A selection of files for a compaction. */
export interface CompactionSelection {
  /** Name of the table. */
  readonly table: string
  /** Name of the family. */
  readonly family: string
  /** Files of the store, newest first. */
  readonly files: readonly StoreFileInfo[]
  /** Prevents the compaction. Later observers are not asked (HBase: bypass). */
  bypass(): void
}

/**
 * The retention rules of one job, at first those of the family. An observer may change the fields
 * (HBase: ScanOptions). Reads, and the drop of completely expired files, still use the rules of the
 * family.
 */
export interface JobRetention {
  /** Versions of a column that are kept, from 1. */
  versions: number
  /** Versions that are kept although they have expired, from 0. */
  minVersions: number
  /** Time to live in seconds, above 0; Infinity = forever. */
  ttlSeconds: number
  /** As the option of the family. */
  keepDeletedCells: 'FALSE' | 'TRUE' | 'TTL'
  /** How long a major compaction keeps markers that it could drop, from 0. */
  timeToPurgeDeletesMilliseconds: number
}

/** Observes the jobs of a table; see the file header. */
export interface JobObserver {
  /**
   * Returns facts of the running program for this coprocessor's cell hook: plain,
   * structured-cloneable data. Called for each attempt of a job.
   */
  jobContext?(job: StoreJob): unknown
  /** Called before a flush. */
  preFlush?(job: StoreJob): void
  /** Called after `preFlush`; may change the fields of `retention`. */
  preFlushScannerOpen?(job: StoreJob, retention: JobRetention): void
  /**
   * Called when the result of a flush is in use. Also called, with zeros in the outcome, for a
   * requested flush of an empty memtable, so that an empty store can be noticed.
   */
  postFlush?(job: StoreJob, outcome: StoreJobOutcome): void
  /** Called before files are chosen for a compaction. */
  preCompactSelection?(selection: CompactionSelection): void
  /** Called after files were chosen; the list may be empty. */
  postCompactSelection?(selection: CompactionSelection, chosen: readonly StoreFileInfo[]): void
  /** Called before a compaction. */
  preCompact?(job: StoreJob): void
  /** Called after `preCompact`; may change the fields of `retention`. */
  preCompactScannerOpen?(job: StoreJob, retention: JobRetention): void
  /** Called when the result of a compaction is in use. */
  postCompact?(job: StoreJob, outcome: StoreJobOutcome): void
}
