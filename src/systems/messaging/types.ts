/**
 * The messaging interface for programs: the same in one process (`MessagingService`) and over HTTP
 * (`MessagingClient`).
 */
import type { BytesLike } from '../../api/index.js'
import type { Transaction } from '../transactions/index.js'
import type { TopicId } from './topics/topic.js'

/** The identity of a publisher, which prevents that a retried request is published twice. */
export interface Producer {
  /** Any text of at most 256 bytes, for instance a random one for each program. */
  readonly id: string
  /**
   * Ascends with each request of the producer to the topic. A retry has the same sequence and gets
   * the first outcome. At most five requests of a producer may be in progress together.
   */
  readonly sequence: number
}

/** Messages to publish, or payloads to store. */
export interface PublishRequest {
  /**
   * Strings are UTF-8. An empty list is allowed for a transactional publish: it publishes the
   * stored payloads.
   */
  readonly messages: readonly BytesLike[]
  /** The write pointer of a transaction; absent: the messages are immediately readable. */
  readonly transactionWritePointer?: bigint | undefined
  /** Makes the publish idempotent. */
  readonly producer?: Producer | undefined
}

/** Rows of one publish; both ends are inclusive. */
export interface MessageRange {
  /** Publish time of the first row, in milliseconds since the Unix epoch. */
  readonly startTimestamp: number
  /** 0 to 65535. */
  readonly startSequenceId: number
  /** Publish time of the last row, in milliseconds since the Unix epoch. */
  readonly endTimestamp: number
  /** 0 to 65535. */
  readonly endSequenceId: number
}

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

/** The start of a fetch, and the limits of its result. */
export interface FetchOptions {
  /** Start at a message, given by its 20 bytes or in hexadecimal. Not together with `time`. */
  readonly from?: Uint8Array | string | undefined
  /** Start at a publish time in milliseconds. */
  readonly time?: number | undefined
  /** Whether a message at the start is returned. Default true. */
  readonly inclusive?: boolean | undefined
  /**
   * Show the messages that this transaction sees. Absent: all messages, including rolled back ones.
   */
  readonly transaction?: Transaction | undefined
  /** Most messages, above 0. Default: only the limit of the server. */
  readonly limit?: number | undefined
  /** Longest wait if there is no message, in milliseconds. Default 0. */
  readonly waitMilliseconds?: number | undefined
  /** Ends the wait and the stream. */
  readonly signal?: AbortSignal | undefined
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

/** Options of `Messaging.setPosition`. */
export interface SetPositionOptions {
  /** The expected current position, or null for none. Default: no expectation. */
  readonly expected?: Uint8Array | string | null | undefined
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
