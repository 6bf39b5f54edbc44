/** What the flusher needs of the engine. */
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import type { JobResult } from '../job/job.js'
import type { FlushMember } from '../store/flush-unit.js'
import type { Store } from '../store/store.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { OnCurrent, VersionSet } from '../version/version-set.js'
import type { HookedJob, JobHooks } from './job-hooks.js'
import type { JobReports } from './job-reports.js'
import type { ReadPoints } from './read-points.js'
import type { TableReaders } from './table-readers.js'

/** The engine, as the flusher sees it. */
export interface FlushHost {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly codecs: Codecs
  readonly nativeFree: boolean
  readonly options: { readonly valueFileBytesMax: number }
  readonly versions: VersionSet
  readonly readers: TableReaders
  readonly lastSequence: number
  readonly lastServerTimestamp: number
  /** False once closed or poisoned. */
  readonly mayFlush: boolean
  /** Throws the reason if nothing may be flushed: `ERR_CLOSED`, `ERR_POISONED`. */
  checkFlush(): void
  /** Writers wait for memory. */
  readonly hasWaitingWriters: boolean
  /** Pause before a failed flush is tried again. */
  readonly retryMilliseconds: number
  /** Coprocessors of the stores' tables. */
  readonly hooks: JobHooks
  /** Tells users what goes on. */
  readonly reports: JobReports
  /** Makes the log durable, which must come before an edit that names flushed data. */
  syncLog(): Promise<void>
  syncLogSync(): void
  /**
   * Publishes an edit; a failure of the manifest poisons the engine. `onCurrent` is called in the
   * moment in which the edit becomes visible.
   */
  publish(edit: VersionEdit, onCurrent?: OnCurrent): Promise<void>
  publishSync(edit: VersionEdit, onCurrent?: OnCurrent): void
  readonly readPoints: ReadPoints
  now(): number
  /**
   * Number of the oldest log segment that is still needed once the memtables are on disk. Ends the
   * current segment if nothing in it would be needed; throws what the log throws.
   */
  logFloorAfter(flushed: readonly FlushMember[]): number
  /** A memtable has been replaced by its table. REQUIRES that it does not throw. */
  flushed(store: Store, result: JobResult, hooked: HookedJob): void
  /** A flush failed; nothing was changed. */
  flushFailed(store: Store, error: unknown): void
  /** Removes an output of a job that is not wanted, or what a dead thread may have left of it. */
  discardRemains(fileNumber: number): void
}
