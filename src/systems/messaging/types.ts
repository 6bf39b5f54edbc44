/**
 * The messaging interface for programs: the same in one process (`MessagingService`) and over HTTP
 * (`MessagingClient`).
 */
import type { FetchOptions, MessageRange, PublishRequest, SetPositionOptions } from './options.js'
import type { TopicId } from './topics/topic.js'

/**
 * Outcome of a transactional publish or of a publish with a producer; the argument of `rollback`.
 */
export interface PublishResponse {
  /** Write pointer of the transaction; undefined for a publish without one. */
  readonly transactionWritePointer: bigint | undefined
  /** The range of rows of the publish. */
  readonly rollbackRange: MessageRange
}

/** A message. Its bytes belong to the consumer. */
export interface Message {
  /** 20 bytes; hexadecimal as text. Each access encodes it again. */
  readonly id: Buffer
  /** The published bytes. */
  readonly payload: Buffer
}

/** Messages in their order. Ends with the last one; `close` ends it early. */
export type MessageIterator = AsyncIterableIterator<Message> & {
  /**
   * The next messages, at most `count` and at least one; an empty array at the end.
   * `ERR_INVALID_ARGUMENT` unless `count` is a whole number above 0.
   */
  nextBatch(count: number): Promise<Message[]>
  /** Whether it ended at a transaction that was in progress for the reader's transaction. */
  readonly isHeld: boolean
  /** Ends the iterator early. A second call does nothing. */
  close(): void
}

/** How far a consumer has processed a topic. */
export interface ConsumerPosition {
  /** Name of the consumer. */
  readonly consumer: string
  /** Id of the last processed message. */
  readonly id: Buffer
  /** Time between the publish of that message and of the newest one, in milliseconds. */
  readonly lagMilliseconds: number
}

/** Properties of a topic: text by name. `ttl` (seconds) and `generation` are reserved. */
export type TopicProperties = Readonly<Record<string, string>>

/** Messaging; see the file header. Bad arguments are an `ERR_INVALID_ARGUMENT`. */
export interface Messaging {
  /** Creates a topic with default properties overlaid by these. `ERR_TOPIC_EXISTS`. */
  createTopic(id: TopicId, properties?: TopicProperties): Promise<void>
  /** Replaces all properties but the generation. `ERR_TOPIC_NOT_FOUND`, here and below. */
  updateTopic(id: TopicId, properties: TopicProperties): Promise<void>
  /** Deletes a topic; its messages are hidden at once. */
  deleteTopic(id: TopicId): Promise<void>
  /** The properties, with `ttl` and `generation`. */
  getTopic(id: TopicId): Promise<TopicProperties>
  /** Names of the namespaces that have topics, in order. */
  listNamespaces(): Promise<string[]>
  /** Names of the topics of a namespace, in the order of `namespace:topic:`. */
  listTopics(namespace: string): Promise<string[]>
  /**
   * Publishes messages in the given order. Undefined if the request has neither a transaction nor a
   * producer. `ERR_TRANSACTION_TOO_OLD`, `ERR_REQUEST_TOO_LARGE`, `ERR_MESSAGING_BUSY`,
   * `ERR_PRODUCER_SEQUENCE`.
   */
  publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined>
  /** Stores payloads of a transaction; an empty publish of the transaction makes them readable. */
  store(id: TopicId, request: PublishRequest): Promise<void>
  /** Marks the messages of a publish as rolled back, hidden from all transactions. */
  rollback(id: TopicId, response: PublishResponse): Promise<void>
  /** Reads messages; the iterator must be closed, or read to its end. */
  fetch(id: TopicId, options?: FetchOptions): Promise<MessageIterator>
  /** Reads at most `limit` messages (default 1000); waits for the first one if requested. */
  poll(id: TopicId, options?: FetchOptions): Promise<Message[]>
  /**
   * The id after the last published message: with `inclusive` false, the `from` of a consumer that
   * wants only new messages.
   */
  end(id: TopicId): Promise<Buffer>
  /** The last message that a consumer has processed; undefined if it never stored one. */
  getPosition(id: TopicId, consumer: string): Promise<Buffer | undefined>
  /**
   * Stores the last processed message of a consumer. `ERR_POSITION_CHANGED` unless `expected`
   * matches.
   */
  setPosition(
    id: TopicId,
    consumer: string,
    position: Uint8Array | string,
    options?: SetPositionOptions,
  ): Promise<void>
  /** Removes a consumer with its position. */
  deletePosition(id: TopicId, consumer: string): Promise<void>
  /** The positions of all consumers of a topic, by name. */
  listPositions(id: TopicId): Promise<ConsumerPosition[]>
}
