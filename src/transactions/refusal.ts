/** Which failures of a batch leave the database as it was, and the next batch may succeed. */
import { CellarError, ErrorCode } from '../api/index.js'

const refusals: ReadonlySet<string> = new Set([
  ErrorCode.invalidArgument,
  ErrorCode.tableNotFound,
  ErrorCode.noSuchColumnFamily,
  ErrorCode.readOnly,
  ErrorCode.tableNotEnabled,
  ErrorCode.tooLarge,
  ErrorCode.failedSanityCheck,
  ErrorCode.coprocessor,
])

/**
 * Whether a batch was refused because of its content: nothing of it was applied. After any other
 * failure memory and disk may differ.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof CellarError && refusals.has(error.code)
}
