/** Which failures of a write leave the database as it was, so that the next one may succeed. */
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
 * What the carrier of a commit throws when nothing was handed to the database: for instance a topic
 * of its messages does not exist. Whoever commits gets the cause. After any other error of a
 * carrier nobody knows whether the frame was written.
 */
export class CommitNotCarried extends TransactionError {
  /** For carriers. `cause` is the error behind this one. */
  constructor(cause: unknown) {
    const message = 'nothing of the commit was handed to the database'
    super(TransactionErrorCode.notCarried, message, { cause })
  }

  /** Whether an error is one of a carrier: by its code. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof TransactionError && value.code === TransactionErrorCode.notCarried
  }
}
