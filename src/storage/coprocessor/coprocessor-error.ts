/** The errors of coprocessors. */
import { messageOf } from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'

/**
 * Makes an `ERR_COPROCESSOR`: coprocessor `name` failed in `doing`. An error with that code is
 * returned unchanged.
 */
export function coprocessorError(name: string, doing: string, cause: unknown): CellarError {
  if (cause instanceof CellarError && cause.code === ErrorCode.coprocessor) return cause
  const message = `coprocessor '${name}' failed in ${doing}: ${messageOf(cause)}`
  return new CellarError(ErrorCode.coprocessor, message, { cause })
}

/**
 * Throws `ERR_COPROCESSOR` if an answer is a promise, which nothing waits for. Without a handler
 * its rejection would end the process.
 */
export function refusePromise(name: string, method: string, answer: unknown): void {
  if (!(answer instanceof Promise)) return
  answer.catch(() => undefined)
  throw badAnswer(name, method, 'return at once, not a promise')
}

/** Makes an `ERR_COPROCESSOR` for an answer without meaning. */
export function badAnswer(name: string, method: string, expected: string): CellarError {
  const message = `coprocessor '${name}': ${method} must ${expected}`
  return new CellarError(ErrorCode.coprocessor, message)
}
