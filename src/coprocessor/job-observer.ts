/**
 * The half of a coprocessor that watches flushes and compactions from the main thread (HBase:
 * RegionObserver, the flush and compaction part), and supplies what cell hooks must know.
 *
 * All methods are synchronous and optional. An error in a method before the job fails that flush or
 * compaction with `ERR_COPROCESSOR` and changes nothing; an error in a method after it is told by
 * the database's event 'warning', because the job is installed already.
 */
import type { StoreJob } from './cell-hook.js'

/** What a finished job did. */
export interface StoreJobOutcome {
  /** Files that take the place of the memtable or of the inputs. */
  readonly files: number
  readonly entriesRead: number
  readonly entriesWritten: number
  /** All drops: by HBase's rules and by hooks. */
  readonly entriesDropped: number
  /** Cells that this coprocessor's hook dropped and replaced. */
  readonly hookDropped: number
  readonly hookReplaced: number
  /** Cells kept without asking the hook, because a snapshot sees them that was open. */
  readonly hookNotAsked: number
  /**
   * What `finish` of this coprocessor's cell hook returned: one element for each part of the job (a
   * large compaction is split by key range); empty if there is no hook or no `finish`.
   */
  readonly reports: readonly unknown[]
  /** Nothing is left of the store: no files, and nothing in memory. */
  readonly storeIsEmpty: boolean
}

/** A file of a store, as policies see it. */
export interface StoreFileInfo {
  readonly fileNumber: number
  readonly fileBytes: number
  readonly level: number
  readonly entryCount: number
}

/** The selection of files for a compaction. */
export interface CompactionSelection {
  readonly table: string
  readonly family: string
  /** Files of the store, newest first. */
  readonly files: readonly StoreFileInfo[]
  /** No compaction this time; the observers that follow are not asked (HBase: bypass). */
  bypass(): void
}

/**
 * The rules by which one job keeps cells, those of the family at first; an observer changes the
 * fields (HBase: ScanOptions). Reads, and whole files that have expired, go by the family's.
 */
export interface JobRetention {
  /** Versions of a column that are kept, from 1. */
  versions: number
  /** Versions that are kept although they have expired, from 0. */
  minVersions: number
  /** Time to live, above 0; Infinity = forever. */
  ttlSeconds: number
  keepDeletedCells: 'FALSE' | 'TRUE' | 'TTL'
  /** How long a major compaction keeps markers that it could drop, from 0. */
  timeToPurgeDeletesMilliseconds: number
}

/** Watches the jobs of a table; see the file header. */
export interface JobObserver {
  /**
   * What this coprocessor's cell hook gets to know of the live system in this job: plain,
   * structured-cloneable data, asked for anew for every attempt.
   */
  jobContext?(job: StoreJob): unknown
  /** A flush starts. */
  preFlush?(job: StoreJob): void
  /** Behind `preFlush`: may change the fields of `retention`. */
  preFlushScannerOpen?(job: StoreJob, retention: JobRetention): void
  /**
   * A flush is installed. Also called when a flush was asked for and nothing was in memory, with
   * zeros in the outcome, so that an empty store can be noticed.
   */
  postFlush?(job: StoreJob, outcome: StoreJobOutcome): void
  /** Files for a compaction are about to be chosen. */
  preCompactSelection?(selection: CompactionSelection): void
  /** Files were chosen; the list may be empty. */
  postCompactSelection?(selection: CompactionSelection, chosen: readonly StoreFileInfo[]): void
  /** A compaction starts. */
  preCompact?(job: StoreJob): void
  /** Behind `preCompact`: may change the fields of `retention`. */
  preCompactScannerOpen?(job: StoreJob, retention: JobRetention): void
  /** A compaction is installed. */
  postCompact?(job: StoreJob, outcome: StoreJobOutcome): void
}
