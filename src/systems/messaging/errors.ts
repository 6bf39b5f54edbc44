/** The codes of the errors of messaging. */
import { CellarError } from '../../api/index.js'

/**
 * Every code of a `CellarError` of messaging, with the situation that raises it. Bad arguments are
 * an `ERR_INVALID_ARGUMENT`.
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
  /** The service is closed, another one is open, or the server cannot be reached. */
  unavailable: 'ERR_MESSAGING_UNAVAILABLE',
  /** The server failed, or its answer is malformed. */
  server: 'ERR_MESSAGING_SERVER',
} as const

/** Makes an `ERR_TOPIC_NOT_FOUND`. */
export function topicNotFound(name: string): CellarError {
  return new CellarError(MessagingErrorCode.topicNotFound, `topic '${name}' does not exist`)
}

/** Makes the `ERR_MESSAGING_UNAVAILABLE` of a closed service. */
export function closed(): CellarError {
  return new CellarError(MessagingErrorCode.unavailable, 'messaging is closed')
}
