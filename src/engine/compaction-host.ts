/** What the compactor needs of the engine. */
import type { CompactionChoice } from '../compaction/choice.js'
import type { DropCounts } from '../job/job.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { VersionSet } from '../version/version-set.js'
import type { JobHooks } from './job-hooks.js'
import type { JobReports } from './job-reports.js'
import type { TableReaders } from './table-readers.js'

/** A choice that changes something. */
export type CompactionWork = Exclude<CompactionChoice, { kind: 'nothing' }>

/** What a compaction did. All zero but for the files if nothing was read (a move or drop). */
export interface CompactionOutcome {
  readonly kind: CompactionWork['kind']
  readonly major: boolean
  readonly inputFiles: number
  readonly inputBytes: number
  readonly outputFiles: number
  readonly outputLevel: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly entriesDropped: number
  readonly dropped: DropCounts
}

/** How far a running compaction is. */
export interface CompactionProgress {
  readonly major: boolean
  readonly inputFiles: number
  readonly bytesDone: number
  readonly bytesTotal: number
}

/** The engine, as the compactor sees it. */
export interface CompactionHost {
  readonly directory: string
  readonly nativeFree: boolean
  readonly versions: VersionSet
  readonly readers: TableReaders
  /** False while closing or poisoned. */
  readonly mayFlush: boolean
  /** Whether policies are followed in the background. */
  readonly compactionEnabled: boolean
  readonly options: {
    readonly compactionVerify: boolean
    readonly compactionSplitBytesMin: number
    readonly compactionRestMilliseconds: number
    readonly compactionBytesPerSecondMax: number
    readonly valueFileBytesMax: number
  }
  /** Throws the reason why nothing can be written. */
  checkWritable(): void
  /** Coprocessors of the stores' tables. */
  readonly hooks: JobHooks
  /** Tells users what goes on. */
  readonly reports: JobReports
  /** Publishes an edit; a failure of the manifest poisons the engine. */
  publish(edit: VersionEdit): Promise<void>
  now(): number
  /** Files of a store in the current version, newest first. */
  filesOf(store: Store): readonly FileMetadata[]
  readPointOldest(): number
  /** Files of a store were replaced. */
  compacted(store: Store, outcome: CompactionOutcome): void
  /** Removes an output of a job that is not wanted, or what a dead thread may have left of it. */
  discardRemains(fileNumber: number): void
}
