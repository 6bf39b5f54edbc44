/** What the flusher needs of the engine. */
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import type { JobResult } from '../job/job.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Store } from '../store/store.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { VersionSet } from '../version/version-set.js'
import type { HookedJob, JobHooks } from './job-hooks.js'
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
  /** False while closing or poisoned. */
  readonly mayFlush: boolean
  /** Writers wait for memory. */
  readonly hasWaitingWriters: boolean
  /** Pause before a failed flush is tried again. */
  readonly retryMilliseconds: number
  /** Coprocessors of the stores' tables. */
  readonly hooks: JobHooks
  /** Makes the log durable, which must come before an edit that names flushed data. */
  syncLog(): Promise<void>
  syncLogSync(): void
  /** Publishes an edit; a failure of the manifest poisons the engine. */
  publish(edit: VersionEdit): Promise<void>
  publishSync(edit: VersionEdit): void
  now(): number
  readPointOldest(): number
  /**
   * Number of the oldest log segment that is still needed once `slot` of `store` is on disk. Ends
   * the current segment if nothing in it would be needed; throws what the log throws.
   */
  logFloorAfter(store: Store, slot: MemtableSlot): number
  /** A job begins to write a memtable of so many entries and bytes. */
  flushStarted(store: Store, entries: number, bytes: number): void
  flushMoved(store: Store, bytesDone: number, bytesTotal: number): void
  /** A memtable has been replaced by its table. */
  flushed(store: Store, result: JobResult, hooked: HookedJob): void
  /** A flush failed; nothing was changed. */
  flushFailed(store: Store, error: unknown): void
  /** Removes an output of a job that is not wanted, or what a dead thread may have left of it. */
  discardRemains(fileNumber: number): void
}
