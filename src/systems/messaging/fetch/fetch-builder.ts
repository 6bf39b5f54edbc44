/** Fetches in the form of CDAP's `prepareFetch`: the last start replaces earlier ones. */
import { invalidArgument, checkBytesLike, checkMethods, shown } from '../../../api/index.js'
import type { Transaction } from '../../transactions/index.js'
import { checkTransaction } from '../../transactions/transaction.js'
import { checkTopicId, type TopicId } from '../topics/topic.js'
import type { MessageIterator, Messaging } from '../types.js'
import type { FetchOptions } from '../options.js'

/** See the file header; `prepareFetch` makes one. */
export class FetchBuilder {
  readonly #messaging: Messaging
  readonly #id: TopicId
  #start: Pick<FetchOptions, 'from' | 'inclusive' | 'time'> = {}
  #options: FetchOptions = {}

  /** Created by `prepareFetch`. */
  constructor(messaging: Messaging, id: TopicId) {
    this.#messaging = checkMethods(messaging, 'messaging', ['fetch'])
    this.#id = checkTopicId(id)
  }

  /** Starts at or after a message. `ERR_INVALID_ARGUMENT` for a malformed id. */
  setStartMessage(from: Uint8Array | string, inclusive: boolean): this {
    checkBytesLike(from, 'the id of a message')
    this.#start = { from: typeof from === 'string' ? from : Buffer.from(from), inclusive }
    return this
  }

  /** Starts at a publish time in milliseconds. `ERR_INVALID_ARGUMENT` below 0. */
  setStartTime(time: number): this {
    if (!Number.isSafeInteger(time) || time < 0)
      throw invalidArgument(`a start time is 0 or more, got ${shown(time)}`)
    this.#start = { time }
    return this
  }

  /** Shows the messages that the transaction sees. */
  setTransaction(transaction: Transaction): this {
    this.#options = { ...this.#options, transaction: checkTransaction(transaction) }
    return this
  }

  /** Most messages. `ERR_INVALID_ARGUMENT` unless above 0. */
  setLimit(limit: number): this {
    if (!Number.isSafeInteger(limit) || limit <= 0)
      throw invalidArgument(`a limit is above 0, got ${shown(limit)}`)
    this.#options = { ...this.#options, limit }
    return this
  }

  /** Fetches; the iterator must be closed. `ERR_TOPIC_NOT_FOUND`. */
  async fetch(): Promise<MessageIterator> {
    return this.#messaging.fetch(this.#id, { ...this.#options, ...this.#start })
  }
}

/**
 * Prepares a fetch from the oldest live message, inclusive, without transaction and limit.
 * `ERR_INVALID_ARGUMENT` for the topic.
 */
export function prepareFetch(messaging: Messaging, id: TopicId): FetchBuilder {
  return new FetchBuilder(messaging, id)
}
