/** The errors of coprocessors. */
import { CellarError, ErrorCode } from '../base/errors.js'

/**
 * Makes an `ERR_COPROCESSOR`: coprocessor `name` failed while it was `doing` something. An error
 * that says so already is passed on.
 */
export function coprocessorError(name: string, doing: string, cause: unknown): CellarError {
  if (cause instanceof CellarError && cause.code === ErrorCode.coprocessor) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `coprocessor '${name}' failed in ${doing}: ${reason}`
  return new CellarError(ErrorCode.coprocessor, message, { cause })
}

/** Makes an `ERR_COPROCESSOR` for an answer that has no meaning. */
export function badAnswer(name: string, method: string, expected: string): CellarError {
  const message = `coprocessor '${name}': ${method} must ${expected}`
  return new CellarError(ErrorCode.coprocessor, message)
}
