/** What the compactor needs of the engine. */
import type { JobResult } from '../job/job.js'
import type { Store } from '../store/store.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { VersionSet } from '../version/version-set.js'
import type { TableReaders } from './table-readers.js'

/** The engine, as the compactor sees it. */
export interface CompactionHost {
  readonly directory: string
  readonly nativeFree: boolean
  readonly versions: VersionSet
  readonly readers: TableReaders
  /** False while closing or poisoned. */
  readonly mayFlush: boolean
  /** Publishes an edit; a failure of the manifest poisons the engine. */
  publish(edit: VersionEdit): Promise<void>
  now(): number
  readPointOldest(): number
  /** Files of a store were replaced. */
  compacted(store: Store, major: boolean, inputs: number, result: JobResult): void
  /** A background compaction failed; nothing was changed. */
  compactionFailed(store: Store, error: unknown): void
  /** Removes the output of a job that is not wanted any more. */
  discardFile(fileNumber: number): void
}
