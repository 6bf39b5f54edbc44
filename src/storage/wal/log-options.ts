/** Options of a log, the levels of durability of commits, and the limit of a mutation. */
import type { CellarError } from '../../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import type { DurableFile, RecordFilePredecessor } from '../record/file-header.js'
import { framePayloadBytesMax } from '../record/frame.js'
import type { LogSegment } from './log-segment.js'

/**
 * How safe a commit is when it is acknowledged, by HBase's names. `SKIP_WAL` promises nothing.
 * `ASYNC_WAL` is written at the end of the turn of the event loop. `SYNC_WAL` is written to the
 * operating system and survives the end of the process. `FSYNC_WAL` is on the disk and survives a
 * power cut.
 */
export type Durability = 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/**
 * Longest mutation in bytes (inclusive). The rest of the frame has room for the others of its
 * group.
 */
export const mutationBytesMax = framePayloadBytesMax - 1024 * 1024

/** Options of `Log.createSync`. */
export interface LogOptions {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database, written into every segment. */
  readonly databaseId: Buffer
  /**
   * Returns a file number that is unused in the directory and higher than those of all segments.
   */
  readonly allocateFileNumber: () => number
  /**
   * Returns the durable part of the manifest, for the header of each new segment. Default: nothing.
   */
  readonly durableManifest?: () => DurableFile
  /**
   * Called when the name of a new segment has become durable, also by `Log.createSync`. Must not
   * throw.
   */
  readonly onSegmentBegun?: (fileNumber: number) => void
  /** Called when a sync begins. The result is passed to `onSynced`. */
  readonly onSyncing?: () => number
  /** Called when a sync has succeeded, with the result of `onSyncing`. */
  readonly onSynced?: (startedAt: number) => void
  /** The segments that recovery kept, all durable, the oldest first. Default: none. */
  readonly recovered?: readonly LogSegment[]
  /** The segment that the first new segment continues. Default: none. */
  readonly predecessor?: RecordFilePredecessor
  /** Length in bytes from which a segment is continued in a new file. Default: 64 MiB. */
  readonly segmentBytesMax?: number
  /**
   * Obsolete segments that recovery kept, the oldest first; see `retainedBytesMax`. Default: none.
   */
  readonly retained?: readonly LogSegment[]
  /** Largest total of bytes of obsolete segments that are kept for change feeds. Default: 0. */
  readonly retainedBytesMax?: number
  /** Removes an obsolete segment, at once or later. Default: at once; failures go to `onError`. */
  readonly removeFile?: (path: string) => void
  /** Called once, with the first failure, by the call that failed. Must not throw. */
  readonly onFailure?: (failure: CellarError) => void
  /**
   * Called for failures without effect on the data, such as an obsolete file that cannot be
   * removed.
   */
  readonly onError?: (error: unknown) => void
}
