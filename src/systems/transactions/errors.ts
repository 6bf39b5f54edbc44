/** The errors of the transaction system, with a closed list of codes. */
import { CellarError, ErrorCode } from '../../api/index.js'

/** Every code of a {@link TransactionError}, with the situation that raises it. */
export const TransactionErrorCode = {
  /** The transaction is not in progress: unknown, finished or timed out. */
  notInProgress: 'ERR_TRANSACTION_NOT_IN_PROGRESS',
  /** A transaction that committed meanwhile changed the same row or column. */
  conflict: 'ERR_TRANSACTION_CONFLICT',
  /** The change set has too many changes or bytes. */
  tooLarge: 'ERR_TRANSACTION_TOO_LARGE',
  /** `truncateInvalidBefore` names a time at which a running transaction had started. */
  invalidTruncateTime: 'ERR_INVALID_TRUNCATE_TIME',
  /** The transaction is older than the largest lifetime, so its writes are refused. */
  tooOld: 'ERR_TRANSACTION_TOO_OLD',
  /** A participant failed; its error is the cause. */
  failed: 'ERR_TRANSACTION_FAILED',
  /** The call does not fit the state of the context: no transaction, or one already. */
  state: 'ERR_TRANSACTION_STATE',
  /** A checkpoint of a participant that cannot take part in one. */
  unsupported: 'ERR_TRANSACTION_UNSUPPORTED',
  /**
   * Nobody says whether a commit was written. It is committed, or its timeout makes it invalid;
   * nothing was rolled back.
   */
  outcomeUnknown: 'ERR_TRANSACTION_OUTCOME_UNKNOWN',
  /** Nothing of the commit was handed to the database; the cause says why. Only from carriers. */
  notCarried: 'ERR_COMMIT_NOT_CARRIED',
  /** The manager is closed, could not write its state, or cannot be reached. */
  unavailable: 'ERR_TRANSACTIONS_UNAVAILABLE',
} as const

/** One of the codes of {@link TransactionErrorCode}. */
export type TransactionErrorCode = (typeof TransactionErrorCode)[keyof typeof TransactionErrorCode]

/** What a conflict was about. */
export interface ConflictDetail {
  /** The transaction that was refused. */
  readonly transactionId: bigint
  /** The key that both changed, as text: UTF-8 if it is, else hexadecimal. */
  readonly key: string
  /** The client that committed first, if the manager retains client ids that long. */
  readonly otherClient: string | undefined
}

/** An error of the transaction system. */
export class TransactionError extends CellarError {
  /** Always `'TransactionError'`. */
  override readonly name = 'TransactionError'
  /** The stable code. */
  declare readonly code: TransactionErrorCode
  /** For `ERR_TRANSACTION_CONFLICT`. */
  readonly conflict: ConflictDetail | undefined
  /** Errors that followed the first one, for instance of rollbacks. */
  readonly suppressed: unknown[] = []

  /** For clients of other backends. `conflict` goes with `ERR_TRANSACTION_CONFLICT`. */
  constructor(
    code: TransactionErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly conflict?: ConflictDetail } = {},
  ) {
    super(code, message, { cause: options.cause })
    this.conflict = options.conflict
  }

  /** Of this class only: a `CellarError` is not one of transactions. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof CellarError && value.name === 'TransactionError'
  }
}

/** Makes the error of a call that does not fit the state of its object. */
export function stateError(message: string): TransactionError {
  return new TransactionError(TransactionErrorCode.state, message)
}

/** Makes the error of a call for a transaction that does not run. */
export function notInProgress(id: bigint, what: string): TransactionError {
  const message = `cannot ${what} transaction ${id}: it is not in progress`
  return new TransactionError(TransactionErrorCode.notInProgress, message)
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}
