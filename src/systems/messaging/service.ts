/**
 * The messaging service in one process (CDAP: CoreMessagingService): topics, publishing, fetching
 * and rollback over the tables of FORMAT.md.
 *
 * One `MessageWriter` writes all requests. A frame of the log therefore holds all requests that
 * arrived during the write of the frame before it. A message becomes readable after its write is as
 * durable as the option `durability` demands. Ids ascend across restarts and for any behaviour of
 * the clock.
 *
 * Only one service may be open for the tables of a database: two would give two messages one id.
 */
import {
  CellarError,
  checkArray,
  checkDatabase,
  requireCapability,
  type AtomicMutation,
  type CoprocessorRegistration,
  type Database,
} from '../../api/index.js'
import { claim } from '../../comfort/claims.js'
import { notCarried, startOf, storesOf } from '../transactions/index.js'
import { readClock } from './store/clock-row.js'
import { closed, MessagingErrorCode } from './errors.js'
import { fetchMessages, pollMessages } from './fetch/fetching.js'
import { MessageWriter } from './live/message-writer.js'
import {
  messagingOptions,
  type MessagingOptions,
  type MessagingSettings,
  checkPublished,
  responseFields,
} from './options.js'
import { messagingPruning } from './prune-observer.js'
import {
  deletePosition,
  endOf,
  getPosition,
  listPositions,
  positionMutation,
  positionRow,
  setPosition,
} from './fetch/positions.js'
import { publish, publishAtCommit, store, type CommitPublish } from './publish/publishing.js'
import { rollBackRows } from './publish/rollback.js'
import { TopicRegistry, type ServiceParts } from './live/topic-registry.js'
import { CacheBudget, type TopicState, type TopicStatistics } from './live/topic-state.js'
import {
  type TopicRecord,
  checkTopicId,
  type TopicId,
  type MessagingTables,
} from './topics/topic.js'
import type {
  ConsumerPosition,
  Message,
  MessageIterator,
  Messaging,
  PublishResponse,
  TopicProperties,
} from './types.js'
import type { FetchOptions, MessageRange, PublishRequest, SetPositionOptions } from './options.js'

/**
 * How far the clock of a topic may be behind a write pointer. Clocks step back, and a manager gives
 * pointers ahead of its clock.
 */
const pointerLeadMillisecondsMax = 60 * 60 * 1000

/** Counters of a topic since the service was opened, and its current size in memory. */
export interface CurrentTopicStatistics extends Readonly<TopicStatistics> {
  /** Fetches that wait for a message. */
  readonly waiting: number
  /** Bytes that the cache holds. */
  readonly cacheBytes: number
  /** Rows that the cache holds. */
  readonly cacheEntries: number
}

/** A topic and its counters. */
export interface TopicCounters {
  /** Namespace and name of the topic. */
  readonly id: TopicId
  /** Live counters since the service was opened. */
  readonly counts: Readonly<TopicStatistics>
}

/** Metrics of a service. */
export interface MessagingStatistics {
  /** Topics that exist. */
  readonly topics: number
  /** Fetches that wait for a message. */
  readonly waiting: number
  /** Bytes in the write queue. */
  readonly queueBytes: number
  /** Bytes that the caches of all topics hold. */
  readonly cacheBytes: number
  /** Rows that the caches of all topics hold. */
  readonly cacheEntries: number
}

/** See the file header. */
export class MessagingService implements Messaging {
  readonly #parts: ServiceParts
  readonly #cached: CacheBudget
  readonly #registrations: CoprocessorRegistration[] = []
  readonly #release: () => void

  private constructor(
    database: Database,
    settings: MessagingSettings,
    tables: MessagingTables,
    { timestampMax, release }: { timestampMax: number; release: () => void },
  ) {
    this.#release = release
    this.#cached = new CacheBudget(settings.cacheBytesMax)
    const { durability, queueBytesMax } = settings
    const writing = { clockTable: tables.metadata, durability, queueBytesMax }
    const writer = new MessageWriter(database, writing, timestampMax, (append) => {
      const { topic, generation } = append
      if (topic.generation !== generation) return
      topic.written(append.rows())
      this.#cached.written(topic)
    })
    const topics = new TopicRegistry(database, tables, settings, () => writer.timestampMax)
    this.#parts = { database, settings, tables, writer, topics, isClosed: false }
  }

  /**
   * Opens the service of a database, which must outlive the service; creates missing tables.
   * `ERR_MESSAGING_UNAVAILABLE` if a service is open for these tables.
   */
  static async open(database: Database, options: MessagingOptions = {}): Promise<MessagingService> {
    const settings = messagingOptions.read(options)
    checkDatabase(database, 'messaging')
    requireCapability(database.capabilities, 'atomicAcrossTables', 'messaging')
    const { tablePrefix } = settings
    const tables = {
      metadata: `${tablePrefix}.meta`,
      message: `${tablePrefix}.message`,
      payload: `${tablePrefix}.payload`,
      producer: `${tablePrefix}.producer`,
      consumer: `${tablePrefix}.consumer`,
    }
    const release = claim(database, tables.message)
    if (release === undefined) {
      const message = `a service is open for the tables '${tablePrefix}.*' of this database`
      throw new CellarError(MessagingErrorCode.unavailable, message)
    }
    try {
      for (const name of Object.values(tables)) {
        if (await database.admin.tableExists(name)) continue
        await database.createTable(name, { families: { d: {} } })
      }
      const timestampMax = await readClock(database, tables)
      const service = new MessagingService(database, settings, tables, { timestampMax, release })
      await service.#parts.topics.load()
      await service.#register()
      return service
    } catch (error) {
      release()
      throw error
    }
  }

  async createTopic(id: TopicId, properties: TopicProperties = {}): Promise<void> {
    await this.#topics.create(checkTopicId(id), properties)
  }

  async updateTopic(id: TopicId, properties: TopicProperties): Promise<void> {
    await this.#topics.update(checkTopicId(id), properties)
  }

  async deleteTopic(id: TopicId): Promise<void> {
    await this.#topics.delete(checkTopicId(id))
  }

  async getTopic(id: TopicId): Promise<TopicProperties> {
    return { ...this.#topic(id).properties }
  }

  async listTopics(namespace: string): Promise<string[]> {
    return this.#topics.list(namespace).map(({ topic }) => topic)
  }

  async listNamespaces(): Promise<string[]> {
    return [...new Set(this.#topics.list().map(({ namespace }) => namespace))]
  }

  async end(id: TopicId): Promise<Buffer> {
    return endOf(this.#topic(id))
  }

  async getPosition(id: TopicId, consumer: string): Promise<Buffer | undefined> {
    return getPosition(this.#parts, this.#topic(id), consumer)
  }

  async setPosition(
    id: TopicId,
    consumer: string,
    position: Uint8Array | string,
    options: SetPositionOptions = {},
  ): Promise<void> {
    await setPosition(this.#parts, this.#topic(id), consumer, position, options)
  }

  async deletePosition(id: TopicId, consumer: string): Promise<void> {
    await deletePosition(this.#parts, this.#topic(id), consumer)
  }

  async listPositions(id: TopicId): Promise<ConsumerPosition[]> {
    return listPositions(this.#parts, this.#topic(id))
  }

  /** The mutation that stores a position in the frame of a commit. */
  positionMutation(id: TopicId, consumer: string, position: Uint8Array): AtomicMutation {
    return positionMutation(this.#parts, this.#parts.topics.find(id), consumer, position)
  }

  /** The conflict key of a position: two transactions that move the same position conflict. */
  positionKey(id: TopicId, consumer: string): Uint8Array {
    const row = positionRow(this.#parts.topics.find(id), consumer)
    return Buffer.concat([Buffer.from(`${this.#parts.tables.consumer}:`), row])
  }

  /** All topics that exist. */
  async listAllTopics(): Promise<TopicId[]> {
    return this.#topics.list()
  }

  /** All topics with their generations; deleted topics have negative ones. */
  async scanTopics(): Promise<Pick<TopicRecord, 'id' | 'generation'>[]> {
    return this.#topics.all().map(({ id, generation }) => ({ id, generation }))
  }

  async publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined> {
    this.#checkOpen()
    return publish(this.#parts, id, request)
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    this.#checkOpen()
    await store(this.#parts, id, request)
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    const { transactionWritePointer: pointer, rollbackRange } = responseFields.read(response)
    const topic = this.#topic(id)
    await this.#rollBack(topic, pointer, rollbackRange)
  }

  /**
   * Rolls back everything that a transaction published to a topic, even if the answer to the
   * publish was lost. All messages from an hour before the transaction's start on are examined,
   * because the write pointer may be that much ahead of the clock of the service.
   */
  async rollbackTransaction(id: TopicId, pointer: bigint): Promise<void> {
    checkPublished(pointer)
    const topic = this.#topic(id)
    await this.#parts.writer.settled()
    await this.#rollBack(topic, pointer, {
      startTimestamp: Math.max(0, startOf(pointer) - pointerLeadMillisecondsMax),
      startSequenceId: 0,
      endTimestamp: Number.MAX_SAFE_INTEGER,
      endSequenceId: 0xffff,
    })
  }

  async fetch(id: TopicId, options: FetchOptions = {}): Promise<MessageIterator> {
    this.#checkOpen()
    return fetchMessages(this.#parts, id, options)
  }

  async poll(id: TopicId, options: FetchOptions = {}): Promise<Message[]> {
    this.#checkOpen()
    return pollMessages(this.#parts, id, options)
  }

  /**
   * Publishes messages of a transaction in the same frame as its commit: `mutations` are the
   * mutations of the commit. Resolves when the frame is written. `ERR_COMMIT_NOT_CARRIED`, with
   * the error as its cause, if the database received nothing, for instance because a topic does
   * not exist.
   */
  async publishAtCommit(
    pointer: bigint,
    publishes: readonly CommitPublish[],
    mutations: readonly AtomicMutation[],
  ): Promise<void> {
    if (this.#parts.isClosed) throw notCarried(closed())
    const copy = checkArray(mutations, 'mutations')
    await publishAtCommit(this.#parts, pointer, publishes, copy)
  }

  /** Counters of a topic since the service was opened. */
  topicStatistics(id: TopicId): CurrentTopicStatistics {
    const { statistics, waiting, cache } = this.#parts.topics.find(id)
    return { ...statistics, waiting, cacheBytes: cache.weight, cacheEntries: cache.size }
  }

  /** Counters of the topics that were used since the service was opened. */
  topicCounters(): TopicCounters[] {
    return this.#parts.topics
      .all()
      .filter(({ exists, statistics }) => {
        return exists && statistics.publishRequested + statistics.fetches > 0
      })
      .map(({ id, statistics }) => ({ id, counts: statistics }))
  }

  /** Metrics of the service. */
  statistics(): MessagingStatistics {
    let topics = 0
    let waiting = 0
    let cacheEntries = 0
    for (const topic of this.#parts.topics.all()) {
      if (topic.exists) topics++
      waiting += topic.waiting
      cacheEntries += topic.cache.size
    }
    const { queueBytes } = this.#parts.writer
    return { topics, waiting, queueBytes, cacheBytes: this.#cached.bytes, cacheEntries }
  }

  /**
   * Waits for pending writes, ends all readers, and removes the pruning. The database stays open.
   */
  async close(): Promise<void> {
    this.#parts.isClosed = true
    for (const topic of this.#parts.topics.all()) topic.wake()
    await this.#parts.writer.close()
    const wasRegistered = this.#unregister()
    this.#release()
    const { pruneState } = this.#parts.settings
    if (!wasRegistered || pruneState === undefined) return
    // From here on flushes no longer mark messages of invalid transactions.
    const stores = storesOf(this.#parts.database.table(this.#parts.tables.message))
    for (const store of stores) pruneState.noteUncleanFlush(store)
  }

  #checkOpen(): void {
    if (this.#parts.isClosed) throw closed()
  }

  /** The topics; `ERR_MESSAGING_UNAVAILABLE` after the close. */
  get #topics(): TopicRegistry {
    this.#checkOpen()
    return this.#parts.topics
  }

  #topic(id: TopicId): TopicState {
    return this.#topics.find(id)
  }

  async #register(): Promise<void> {
    const { register, transactions, pruneState } = this.#parts.settings
    if (register === undefined) return
    const topics = (): readonly TopicRecord[] => this.#parts.topics.all()
    const known = transactions === undefined ? {} : { transactions: () => transactions.snapshot() }
    const { message, payload, producer, consumer } = this.#parts.tables
    const state = pruneState === undefined ? {} : { state: pruneState }
    const pruned = { rows: 'message', tables: [message], topics, ...known, ...state } as const
    for (const options of [
      pruned,
      { rows: 'payload', tables: [payload], topics },
      { rows: 'producer', tables: [producer], topics },
      { rows: 'consumer', tables: [consumer], topics },
    ] as const) {
      try {
        this.#registrations.push(await register(messagingPruning(options)))
      } catch (error) {
        this.#unregister()
        throw error
      }
    }
  }

  /** Removes the pruning; returns whether there was any. */
  #unregister(): boolean {
    const registrations = this.#registrations.splice(0)
    for (const registration of registrations) registration.remove()
    return registrations.length > 0
  }

  async #rollBack(topic: TopicState, pointer: bigint, range: MessageRange): Promise<void> {
    topic.statistics.rolledBack += await rollBackRows(this.#parts, topic, pointer, range)
    topic.wake()
  }
}
