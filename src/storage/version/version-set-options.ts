/** The options of a version set. */
import type { CellarError } from '../../base/errors.js'
import type { RandomBytes } from '../../base/random-bytes.js'

/** Options of a version set. */
export interface VersionSetOptions {
  /**
   * The manifest is replaced by a new one when it is longer than this many bytes, and longer than
   * four times its own length when it was new. Default 4 MiB.
   */
  readonly manifestBytesMax?: number
  /**
   * Whether to keep SSTables and value files that the manifest does not name. For an open that
   * cannot prove that the manifest is complete. Default false: such files are removed.
   */
  readonly keepUnknownFiles?: boolean
  /** Makes the identity of a new database. Default: the generator of the operating system. */
  readonly randomBytes?: RandomBytes
  /** Called once, with the first failure of a write of the manifest: the set is poisoned by it. */
  readonly onFailure?: (failure: CellarError) => void
  /** Called for failures without effect on the data: files that could not be removed. */
  readonly onError?: (error: unknown) => void
  /**
   * Called just before an obsolete SSTable or value file is removed, so that its reader can be
   * closed.
   */
  readonly onObsolete?: (fileNumber: number) => void
  /** Removes an obsolete file, at once or later. Default: at once; failures go to `onError`. */
  readonly removeFile?: (path: string) => void
}
