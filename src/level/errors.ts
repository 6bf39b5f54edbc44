/** The errors that have a code of abstract-level. */
import { CellarError } from '../api/index.js'

/** The codes of a Level's own errors, as abstract-level and classic-level name them. */
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

/** One of the codes of abstract-level. */
export type LevelErrorCode = (typeof LevelErrorCode)[keyof typeof LevelErrorCode]

/**
 * Makes an error with a code of abstract-level. If a signal ended the read, the name of the error
 * is 'AbortError'.
 */
export function levelError(code: LevelErrorCode, message: string, cause?: unknown): CellarError {
  const error = new CellarError(code, message, { cause })
  if (code === LevelErrorCode.aborted) Object.defineProperty(error, 'name', { value: 'AbortError' })
  return error
}
