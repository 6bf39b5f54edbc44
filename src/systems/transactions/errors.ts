/** The errors of the transaction system, with a closed list of codes. */
import { CellarError, ErrorCode } from '../../api/index.js'

/** Every code of a {@link TransactionError}, with the situation that raises it. */
export const TransactionErrorCode = {
  /** The transaction is not in progress: unknown, finished or timed out. */
  notInProgress: 'ERR_TRANSACTION_NOT_IN_PROGRESS',
  /** A transaction that committed in the meantime changed the same row or column. */
  conflict: 'ERR_TRANSACTION_CONFLICT',
  /** The change set has too many changes or bytes. */
  tooLarge: 'ERR_TRANSACTION_TOO_LARGE',
  /** `truncateInvalidBefore` names a time at which a running transaction had started. */
  invalidTruncateTime: 'ERR_INVALID_TRUNCATE_TIME',
  /** The transaction exceeds the maximum lifetime, so its writes are refused. */
  tooOld: 'ERR_TRANSACTION_TOO_OLD',
  /** A participant failed; its error is the cause. */
  failed: 'ERR_TRANSACTION_FAILED',
  /** The call does not fit the state of the context: there is no transaction, or already one. */
  state: 'ERR_TRANSACTION_STATE',
  /** A checkpoint with a participant that does not support checkpoints. */
  unsupported: 'ERR_TRANSACTION_UNSUPPORTED',
  /**
   * The outcome of a commit is unknown. It is committed, or its timeout makes it invalid; nothing
   * was rolled back.
   */
  outcomeUnknown: 'ERR_TRANSACTION_OUTCOME_UNKNOWN',
  /**
   * The database received nothing of the commit; `cause` has the reason. Thrown by carriers only.
   */
  notCarried: 'ERR_COMMIT_NOT_CARRIED',
  /** The manager is closed, could not write its state, or cannot be reached. */
  unavailable: 'ERR_TRANSACTIONS_UNAVAILABLE',
} as const

/** One of the codes of {@link TransactionErrorCode}. */
export type TransactionErrorCode = (typeof TransactionErrorCode)[keyof typeof TransactionErrorCode]

/** The details of a conflict. */
export interface ConflictDetail {
  /** The refused transaction. */
  readonly transactionId: bigint
  /** The key that both changed, as text: UTF-8 if valid, otherwise hexadecimal. */
  readonly key: string
  /** The client that committed first, if the manager still retains its name. */
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
  /** Errors after the first one, for instance of rollbacks. */
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

  /** True for this class only: a `CellarError` is not an error of transactions. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof CellarError && value.name === 'TransactionError'
  }
}

/** Makes the error of a call that the state of its object does not allow. */
export function stateError(message: string): TransactionError {
  return new TransactionError(TransactionErrorCode.state, message)
}

/** Makes the error of a call for a transaction that is not in progress. */
export function notInProgress(id: bigint, what: string): TransactionError {
  const message = `cannot ${what} transaction ${id}: it is not in progress`
  return new TransactionError(TransactionErrorCode.notInProgress, message)
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}
