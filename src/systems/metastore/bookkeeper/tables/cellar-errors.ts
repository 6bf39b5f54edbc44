/** Conversion of the errors of tables to the errors of the metastore. */
import { CellarError, ErrorCode } from '../../../../api/index.js'
import { illegalOp, MetastoreError, MetastoreErrorCode } from '../errors.js'

const unavailable: ReadonlySet<string> = new Set([
  ErrorCode.closed,
  ErrorCode.io,
  ErrorCode.noSpace,
  ErrorCode.poisoned,
  ErrorCode.readOnly,
])
const refused: ReadonlySet<string> = new Set([ErrorCode.invalidArgument, ErrorCode.tooLarge])

/** Converts the error of an operation to a metastore error. */
export function asMetastoreError(error: unknown): MetastoreError {
  if (error instanceof MetastoreError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof CellarError && unavailable.has(error.code)) {
    return new MetastoreError(MetastoreErrorCode.serviceDown, message, error)
  }
  if (error instanceof CellarError && refused.has(error.code)) return illegalOp(message, error)
  return new MetastoreError(MetastoreErrorCode.operationFailure, message, error)
}
