/** The error of every refused argument of this folder. */
import { CellarError, ErrorCode } from '../api/index.js'

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}
