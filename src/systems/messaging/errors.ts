/** The errors of messaging, with a closed list of codes. */
import { CellarError, ErrorCode } from '../../api/index.js'

/**
 * Every code of a {@link MessagingError}, with the situation that raises it. Bad arguments are a
 * `CellarError` with `ERR_INVALID_ARGUMENT`.
 */
export const MessagingErrorCode = {
  /** The topic does not exist. */
  topicNotFound: 'ERR_TOPIC_NOT_FOUND',
  /** A topic of that name exists already. */
  topicExists: 'ERR_TOPIC_EXISTS',
  /** The transaction of the request exceeds the lifetime of transactions. */
  transactionTooOld: 'ERR_TRANSACTION_TOO_OLD',
  /** The request has more messages or bytes than the limits of the service allow. */
  tooLarge: 'ERR_REQUEST_TOO_LARGE',
  /** The write queue is full, or too many readers wait; the request may be retried. */
  busy: 'ERR_MESSAGING_BUSY',
  /** The producer has already published a later sequence. */
  producerSequence: 'ERR_PRODUCER_SEQUENCE',
  /**
   * The position of a consumer is not the expected one: another process with its name has moved it.
   */
  positionChanged: 'ERR_POSITION_CHANGED',
  /** Entries are added to a cache during another addition. */
  concurrentModification: 'ERR_CONCURRENT_MODIFICATION',
  /** An update changed the order of cached entries. */
  cacheOrder: 'ERR_CACHE_ORDER',
  /** The token of the request is missing or wrong. */
  unauthorized: 'ERR_UNAUTHORIZED',
  /** The service is closed, or its server cannot be reached. */
  unavailable: 'ERR_MESSAGING_UNAVAILABLE',
  /** The server failed, or its answer is malformed. */
  server: 'ERR_MESSAGING_SERVER',
} as const

/** One of the codes of {@link MessagingErrorCode}. */
export type MessagingErrorCode = (typeof MessagingErrorCode)[keyof typeof MessagingErrorCode]

/** An error of messaging. */
export class MessagingError extends CellarError {
  /** Always `'MessagingError'`. */
  override readonly name = 'MessagingError'
  /** The stable code. */
  declare readonly code: MessagingErrorCode

  /** For implementations of `Messaging`. `cause` is the underlying error. */
  constructor(code: MessagingErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause })
  }

  /** True for this class only: a `CellarError` is not an error of messaging. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof CellarError && value.name === 'MessagingError'
  }
}

/** Makes an `ERR_TOPIC_NOT_FOUND`. */
export function topicNotFound(name: string): MessagingError {
  return new MessagingError(MessagingErrorCode.topicNotFound, `topic '${name}' does not exist`)
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}
