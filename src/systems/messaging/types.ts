/**
 * Messaging as programs use it: the same interface in one process (`MessagingService`) and over
 * HTTP (`MessagingClient`).
 */
import type { BytesLike } from '../../api/index.js'
import type { Transaction } from '../transactions/index.js'
import type { TopicId } from './topics/topic.js'

/** Who publishes, so that a request that is sent again is not published again. */
export interface Producer {
  /** Any text of at most 256 bytes, for instance a random one for each program. */
  readonly id: string
  /**
   * Ascends with each request of the producer to the topic; a retry has the same, and gets the
   * first outcome of the sequence. At most five requests of a producer may be under way together.
   */
  readonly sequence: number
}

/** Messages to publish, or payloads to store. */
export interface PublishRequest {
  /** Strings are UTF-8. None is allowed for a transactional publish: it stands for payloads. */
  readonly messages: readonly BytesLike[]
  /** The write pointer of a transaction; absent: the messages are readable at once. */
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

/** Outcome of a publish that is transactional or has a producer; what `rollback` takes. */
export interface PublishResponse {
  /** Write pointer of the transaction; undefined for a publish without one. */
  readonly transactionWritePointer: bigint | undefined
  /** The rows of the publish. */
  readonly rollbackRange: MessageRange
}

/** A message. Its bytes are the consumer's own. */
export interface Message {
  /** 20 bytes; in text, hexadecimal. Encoded anew each time it is asked for. */
  readonly id: Buffer
  /** The bytes that were published. */
  readonly payload: Buffer
}

/** Where a fetch starts, and what it returns. */
export interface FetchOptions {
  /** Start at a message, given by its 20 bytes or in hexadecimal. Not together with `time`. */
  readonly from?: Uint8Array | string | undefined
  /** Start at a publish time in milliseconds. */
  readonly time?: number | undefined
  /** Whether a message at the start is part of it. Default true. */
  readonly inclusive?: boolean | undefined
  /** Show what this transaction sees. Absent: everything, also what was rolled back. */
  readonly transaction?: Transaction | undefined
  /** Most messages, above 0. Default: no limit but that of the server. */
  readonly limit?: number | undefined
  /** How long to wait if there is no message, in milliseconds. Default 0. */
  readonly waitMilliseconds?: number | undefined
  /** Ends the wait and the stream. */
  readonly signal?: AbortSignal | undefined
}

/** Messages in their order. Ends by itself; `close` ends it early. */
export type MessageIterator = AsyncIterableIterator<Message> & {
  /**
   * The next messages, at most `count` and at least one; none at the end. `ERR_INVALID_ARGUMENT`
   * unless `count` is a whole number above 0.
   */
  nextBatch(count: number): Promise<Message[]>
  /** Whether it ended at a transaction that was still running for the reader's transaction. */
  readonly isHeld: boolean
  /** Ends the iterator early. A second call does nothing. */
  close(): void
}

/** How far a consumer has processed a topic. */
export interface ConsumerPosition {
  /** Name of the consumer. */
  readonly consumer: string
  /** Id of the last message that is done. */
  readonly id: Buffer
  /** How much earlier that message was published than the newest one, in milliseconds. */
  readonly lagMilliseconds: number
}

/** Options of `Messaging.setPosition`. */
export interface SetPositionOptions {
  /** The position must be this one, or null: none. Default: whatever it is. */
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
  /** Deletes a topic; its messages are gone at once. */
  deleteTopic(id: TopicId): Promise<void>
  /** The properties, with `ttl` and `generation`. */
  getTopic(id: TopicId): Promise<TopicProperties>
  /** Names of the namespaces that have topics, in order. */
  listNamespaces(): Promise<string[]>
  /** Names of the topics of a namespace, in the order of `namespace:topic:`. */
  listTopics(namespace: string): Promise<string[]>
  /**
   * Publishes messages, one behind the other in the order given. Undefined if the request has
   * neither a transaction nor a producer. `ERR_TRANSACTION_TOO_OLD`, `ERR_REQUEST_TOO_LARGE`,
   * `ERR_MESSAGING_BUSY`, `ERR_PRODUCER_SEQUENCE`.
   */
  publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined>
  /** Stores payloads of a transaction, which an empty publish of it makes readable. */
  store(id: TopicId, request: PublishRequest): Promise<void>
  /** Marks the messages of a publish as rolled back: no transaction sees them. */
  rollback(id: TopicId, response: PublishResponse): Promise<void>
  /** Reads messages; the iterator must be closed, or read to its end. */
  fetch(id: TopicId, options?: FetchOptions): Promise<MessageIterator>
  /** Reads at most `limit` messages (default 1000) at once, waiting for the first if asked to. */
  poll(id: TopicId, options?: FetchOptions): Promise<Message[]>
  /**
   * The id behind which the messages are that are published from now on: `from`, not inclusive, of
   * a consumer that wants only new ones.
   */
  end(id: TopicId): Promise<Buffer>
  /** The last message that a consumer has done; undefined if it has never stored one. */
  getPosition(id: TopicId, consumer: string): Promise<Buffer | undefined>
  /** Stores the last message that a consumer has done. `ERR_POSITION_CHANGED` unless `expected`. */
  setPosition(
    id: TopicId,
    consumer: string,
    position: Uint8Array | string,
    options?: SetPositionOptions,
  ): Promise<void>
  /** Forgets a consumer. */
  deletePosition(id: TopicId, consumer: string): Promise<void>
  /** The positions of all consumers of a topic, by name. */
  listPositions(id: TopicId): Promise<ConsumerPosition[]>
}
