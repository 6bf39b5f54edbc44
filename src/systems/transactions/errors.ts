/** The codes of the errors of the transaction system. */
import { CellarError } from '../../api/index.js'

/** Every code of a `CellarError` of transactions, with the situation that raises it. */
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

/** The `details` of an `ERR_TRANSACTION_CONFLICT`. */
export interface ConflictDetail {
  /** The refused transaction. */
  readonly transactionId: bigint
  /** The key that both changed, as text: UTF-8 if valid, otherwise hexadecimal. */
  readonly key: string
  /** The client that committed first, if the manager still retains its name. */
  readonly otherClient: string | undefined
}

/** Makes the error of a call that the state of its object does not allow. */
export function stateError(message: string): CellarError {
  return new CellarError(TransactionErrorCode.state, message)
}

/** Makes the error of a call for a transaction that is not in progress. */
export function notInProgress(id: bigint, what: string): CellarError {
  const message = `cannot ${what} transaction ${id}: it is not in progress`
  return new CellarError(TransactionErrorCode.notInProgress, message)
}

/**
 * Makes the error of a commit's carrier when the database received nothing, for instance because a
 * topic does not exist. The caller of the commit gets the cause. After any other error of a carrier
 * the outcome of the frame is unknown.
 */
export function notCarried(cause: unknown): CellarError {
  const message = 'nothing of the commit was handed to the database'
  return new CellarError(TransactionErrorCode.notCarried, message, { cause })
}
