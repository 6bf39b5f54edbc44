/** What a log is told when it is created, and how safe its commits are. */
import type { CellarError } from '../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import type { DurableFile, RecordFilePredecessor } from '../record/format.js'
import type { LogSegment } from './log-segment.js'

/**
 * How safe a commit is when it is acknowledged, under HBase's names: `SKIP_WAL` promises nothing,
 * `ASYNC_WAL` is written at the end of the turn, `SYNC_WAL` is with the operating system (survives
 * the process), `FSYNC_WAL` is on the disk (survives a power cut).
 */
export type Durability = 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/** What `Log.createSync` needs. */
export interface LogOptions {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database, written into every segment. */
  readonly databaseId: Buffer
  /**
   * Returns a file number that was never used before in the directory, higher than all segments'.
   */
  readonly allocateFileNumber: () => number
  /** Says what is durable of the manifest; written into each new segment. Default: nothing. */
  readonly durableManifest?: () => DurableFile
  /**
   * Told when the name of a new segment has become durable, in `Log.createSync` too; must not
   * throw.
   */
  readonly onSegmentBegun?: (fileNumber: number) => void
  /** Told that a sync begins; what it returns is given to `onSynced`. */
  readonly onSyncing?: () => number
  /** Told that a sync has ended well. */
  readonly onSynced?: (startedAt: number) => void
  /** What recovery kept, all of it durable, the oldest first. Default: nothing. */
  readonly recovered?: readonly LogSegment[]
  /** The segment that the first new one continues. Default: none. */
  readonly predecessor?: RecordFilePredecessor
  /**
   * A segment is continued in a new file once it is longer than this many bytes. Default: 64 MiB.
   */
  readonly segmentBytesMax?: number
  /**
   * Segments that nobody needs any more but that are still there, the oldest first; see
   * `retainedBytesMax`. Default: none.
   */
  readonly retained?: readonly LogSegment[]
  /** Obsolete segments are kept up to so many bytes, for those who read the log. Default: 0. */
  readonly retainedBytesMax?: number
  /** Removes an obsolete segment, at once or later. Default: at once, failures go to `onError`. */
  readonly removeFile?: (path: string) => void
  /** Told once of the first failure, in the call that met it; must not throw. */
  readonly onFailure?: (failure: CellarError) => void
  /** Told of failures without effect on the data, such as an obsolete file that stays. */
  readonly onError?: (error: unknown) => void
}
