/** Checks of arguments, shared by the systems of this folder. */
import { CellarError, ErrorCode, shown } from '../../../api/index.js'

/** Checks a required function. `ERR_INVALID_ARGUMENT`. */
export function checkCallable<T>(value: T, what: string): T {
  if (typeof value === 'function') return value
  throw new CellarError(ErrorCode.invalidArgument, `${what} is a function, not ${shown(value)}`)
}

/** Checks a string. `ERR_INVALID_ARGUMENT`. */
export function checkString(value: unknown, what: string): asserts value is string {
  if (typeof value === 'string') return
  throw new CellarError(ErrorCode.invalidArgument, `${what} is a string, not ${shown(value)}`)
}
