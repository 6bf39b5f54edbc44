/** Errors that have a code of abstract-level; all other errors are `CellarError`s. */

/** The codes of a {@link LevelError}, as abstract-level and classic-level name them. */
export const LevelErrorCode = {
  /** The database directory is already open, in this or another process. */
  locked: 'LEVEL_LOCKED',
  /** The `signal` of an iterator fired. */
  aborted: 'LEVEL_ABORTED',
  /** The backend cannot do this; `db.supports` says so. */
  notSupported: 'LEVEL_NOT_SUPPORTED',
  /** The database is not open. */
  notOpen: 'LEVEL_DATABASE_NOT_OPEN',
} as const

/** One of the codes of a {@link LevelError}. */
export type LevelErrorCode = (typeof LevelErrorCode)[keyof typeof LevelErrorCode]

/** An error with a code of abstract-level. */
export class LevelError extends Error {
  /** 'LevelError', or 'AbortError' for a read that a signal ended. */
  override readonly name: string
  /** The stable code. */
  readonly code: LevelErrorCode

  /** Created by the methods of a Level. */
  constructor(code: LevelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = code === LevelErrorCode.aborted ? 'AbortError' : 'LevelError'
    this.code = code
  }
}
