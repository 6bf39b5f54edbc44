/**
 * Transactional messaging for programs (CDAP: MessagingContext).
 *
 * A `MessagePublisher` is a participant of a `TransactionContext`. Within a transaction it buffers
 * messages by topic. With a service of the same process the messages become part of the frame of
 * the commit; with a remote service they are published just before the commit. Outside of a
 * transaction it publishes at once.
 *
 * Publishing never conflicts: the change set is empty. Checkpoints are refused. `prepareFetch` is
 * CDAP's form of a fetch.
 */
import { stateError } from '../transactions/errors.js'
import { SingleParticipant } from '../transactions/participant.js'
import {
  invalidArgument,
  checkBytesLike,
  checkMethods,
  type AtomicMutation,
  type BytesLike,
} from '../../api/index.js'
import { type Transaction } from '../transactions/index.js'
import { checkedFetch, type FetchOptions } from './options.js'
import type { CommitPublish } from './publish/publishing.js'
import { MessagingService } from './service.js'
import { checkTopicId, type TopicId } from './topics/topic.js'
import type { MessageIterator, Messaging, PublishResponse, TopicProperties } from './types.js'

const reservedNamespace = 'system'

/** See the file header. */
export class MessagePublisher extends SingleParticipant {
  readonly name = 'message publisher'
  readonly #messaging: Messaging
  #buffered = new Map<string, { id: TopicId; messages: BytesLike[] }>()
  #published: { id: TopicId; response: PublishResponse | undefined }[] = []
  /** The transaction is ending: a further message would be part of nothing. */
  #isSealed = false

  /** Publishes through `messaging`, which the caller closes. */
  constructor(messaging: Messaging) {
    super()
    this.#messaging = checkMethods(messaging, 'the messaging of a publisher', ['publish'])
  }

  /**
   * Publishes messages to a topic. `ERR_INVALID_ARGUMENT` for the namespace `system`,
   * `ERR_TOPIC_NOT_FOUND`; within a transaction a missing topic fails the commit.
   * `ERR_TRANSACTION_STATE` while the transaction ends.
   */
  async publish(namespace: string, topic: string, ...messages: BytesLike[]): Promise<void> {
    if (namespace === reservedNamespace) {
      throw invalidArgument(`programs do not publish to the namespace '${reservedNamespace}'`)
    }
    const id = checkTopicId({ namespace, topic })
    if (this.transaction === undefined) {
      await this.#messaging.publish(id, { messages })
      return
    }
    if (this.#isSealed) throw stateError(`the transaction of the ${this.name} is ending`)
    const name = `${namespace}:${topic}`
    const copies = messages.map((message) => {
      if (typeof message === 'string') return message
      checkBytesLike(message, 'a message')
      return Uint8Array.from(message)
    })
    const buffered = this.#buffered.get(name)
    if (buffered === undefined) this.#buffered.set(name, { id, messages: copies })
    else buffered.messages.push(...copies)
  }

  override getTxChanges(): Iterable<Uint8Array> {
    this.#isSealed = true
    return []
  }

  override async commitTx(isRemote = false): Promise<boolean> {
    if (!isRemote && this.#messaging instanceof MessagingService) return true
    const { writePointer: transactionWritePointer } = this.#required()
    for (const { id, messages } of this.#toPublish()) {
      const publish = { id, response: undefined as PublishResponse | undefined }
      this.#published.push(publish)
      publish.response = await this.#messaging.publish(id, { messages, transactionWritePointer })
    }
    return true
  }

  /** Carries the commit together with the messages; undefined if there are none. */
  commitCarrier(): ((mutations: readonly AtomicMutation[]) => Promise<void>) | undefined {
    const messaging = this.#messaging
    const publishes = this.#toPublish()
    if (!(messaging instanceof MessagingService) || publishes.length === 0) return undefined
    const { writePointer } = this.#required()
    return (mutations) => messaging.publishAtCommit(writePointer, publishes, mutations)
  }

  override postTxCommit(): void {
    super.postTxCommit()
    this.#buffered = new Map()
    this.#published = []
    this.#isSealed = false
  }

  /** False if the answer to a publish was lost: the range to roll back is unknown. */
  override async rollbackTx(): Promise<boolean> {
    const published = this.#published
    this.postTxCommit()
    let isClean = true
    for (const { id, response } of published) {
      if (response === undefined) isClean = false
      else await this.#messaging.rollback(id, response)
    }
    return isClean
  }

  #required(): Transaction {
    if (this.transaction !== undefined) return this.transaction
    throw stateError(`the ${this.name} is in no transaction`)
  }

  #toPublish(): CommitPublish[] {
    return [...this.#buffered.values()].filter(({ messages }) => messages.length > 0)
  }
}

/** Fetches messages, within a transaction those visible to it (CDAP: MessageFetcher). */
export class MessageFetcher extends SingleParticipant {
  readonly name = 'message fetcher'
  readonly #messaging: Messaging

  /** Reads through `messaging`, which the caller closes. */
  constructor(messaging: Messaging) {
    super()
    this.#messaging = checkMethods(messaging, 'the messaging of a fetcher', ['fetch'])
  }

  /** Fetches from a publish time, in milliseconds. */
  async fetchFrom(
    namespace: string,
    topic: string,
    limit: number,
    time: number,
  ): Promise<MessageIterator> {
    const { transaction } = this
    return this.#messaging.fetch({ namespace, topic }, { limit, time, transaction })
  }

  /** Fetches after a message, given by its id in hexadecimal; null: from the first message. */
  async fetch(
    namespace: string,
    topic: string,
    limit: number,
    afterMessageId: string | null,
  ): Promise<MessageIterator> {
    const { transaction } = this
    const start = { from: afterMessageId ?? undefined, inclusive: afterMessageId === null }
    return this.#messaging.fetch({ namespace, topic }, { limit, ...start, transaction })
  }

  /** Starts to read in a transaction; called by its context. */
  updateTx(transaction: Transaction): void {
    this.enter(transaction)
  }
}

/** The topics of one namespace, for programs (CDAP: MessagingAdmin). */
export class MessagingAdmin {
  readonly #messaging: Messaging
  readonly #namespace: string

  /** Works through `messaging`, which the caller closes, on the topics of `namespace`. */
  constructor(messaging: Messaging, namespace: string) {
    this.#messaging = checkMethods(messaging, 'the messaging of an admin', ['createTopic'])
    this.#namespace = checkTopicId({ namespace, topic: 'any' }).namespace
  }

  /** `ERR_TOPIC_EXISTS`. */
  async createTopic(topic: string, properties: TopicProperties = {}): Promise<void> {
    await this.#messaging.createTopic({ namespace: this.#namespace, topic }, properties)
  }

  /** `ERR_TOPIC_NOT_FOUND`, here and below. */
  async getTopicProperties(topic: string): Promise<TopicProperties> {
    return this.#messaging.getTopic({ namespace: this.#namespace, topic })
  }

  /** Replaces all properties. */
  async updateTopic(topic: string, properties: TopicProperties): Promise<void> {
    await this.#messaging.updateTopic({ namespace: this.#namespace, topic }, properties)
  }

  /** Deletes a topic; its messages are hidden at once. `ERR_TOPIC_NOT_FOUND`. */
  async deleteTopic(topic: string): Promise<void> {
    await this.#messaging.deleteTopic({ namespace: this.#namespace, topic })
  }
}

/**
 * A fetch in the form of CDAP: the last start replaces earlier ones. `prepareFetch` makes one.
 */
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
