/** Refuses calls that have no form in the Thrift2 service, before anything is sent. */
import { CellarError, ErrorCode } from '../../base/errors.js'

/** Makes the `ERR_UNSUPPORTED` of an option or operation; `instead` says what to write. */
export function notInThrift(what: string, instead: string): CellarError {
  return new CellarError(ErrorCode.unsupported, `${what} has no form in Thrift2; ${instead}`)
}
