/** Fetches in the form of CDAP's `prepareFetch`: the last start replaces earlier ones. */
import { checkMethods } from '../../../api/index.js'
import type { Transaction } from '../../transactions/index.js'
import { checkTopicId, type TopicId } from '../topics/topic.js'
import type { MessageIterator, Messaging } from '../types.js'
import { checkedFetch, type FetchOptions } from '../options.js'

/** See the file header; `prepareFetch` makes one. */
export class FetchBuilder {
  readonly #messaging: Messaging
  readonly #id: TopicId
  #options: FetchOptions = {}

  /** Created by `prepareFetch`. */
  constructor(messaging: Messaging, id: TopicId) {
    this.#messaging = checkMethods(messaging, 'messaging', ['fetch'])
    this.#id = checkTopicId(id)
  }

  /** Starts at or after a message. `ERR_INVALID_ARGUMENT` for a malformed id. */
  setStartMessage(from: Uint8Array | string, inclusive: boolean): this {
    return this.#set({ from, inclusive, time: undefined })
  }

  /** Starts at a publish time in milliseconds. `ERR_INVALID_ARGUMENT` below 0. */
  setStartTime(time: number): this {
    return this.#set({ from: undefined, inclusive: undefined, time })
  }

  /** Shows the messages that the transaction sees. */
  setTransaction(transaction: Transaction): this {
    return this.#set({ transaction })
  }

  /** Most messages. `ERR_INVALID_ARGUMENT` unless above 0. */
  setLimit(limit: number): this {
    return this.#set({ limit })
  }

  /** Fetches; the iterator must be closed. `ERR_TOPIC_NOT_FOUND`. */
  async fetch(): Promise<MessageIterator> {
    return this.#messaging.fetch(this.#id, this.#options)
  }

  #set(changed: FetchOptions): this {
    this.#options = checkedFetch({ ...this.#options, ...changed })
    return this
  }
}

/**
 * Prepares a fetch from the oldest live message, inclusive, without transaction and limit.
 * `ERR_INVALID_ARGUMENT` for the topic.
 */
export function prepareFetch(messaging: Messaging, id: TopicId): FetchBuilder {
  return new FetchBuilder(messaging, id)
}
