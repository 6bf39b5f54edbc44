/** Classifies failures of a write: after a refusal the database is unchanged and writable. */
import { CellarError, ErrorCode } from '../../api/index.js'
import { TransactionError, TransactionErrorCode } from './errors.js'

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

/**
 * The error of a commit's carrier when the database received nothing, for instance because a topic
 * does not exist. The caller of the commit gets the cause. After any other error of a carrier the
 * outcome of the frame is unknown.
 */
export class CommitNotCarried extends TransactionError {
  /** For carriers. `cause` is the underlying error. */
  constructor(cause: unknown) {
    const message = 'nothing of the commit was handed to the database'
    super(TransactionErrorCode.notCarried, message, { cause })
  }

  /** Whether an error comes from a carrier, by its code. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof TransactionError && value.code === TransactionErrorCode.notCarried
  }
}
