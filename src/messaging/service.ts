/**
 * The messaging service in one process (CDAP: CoreMessagingService): topics, publishing, fetching
 * and rollback over the tables of FORMAT.md.
 *
 * All requests are written by one `MessageWriter`, so a frame of the log holds what came while the
 * frame before it was written. A message is readable when it is written as durably as the option
 * `durability` says, never before, and ids ascend across restarts and whatever the clock does.
 *
 * One service may be open for the tables of a database.
 */
import { requireCapability, type AtomicMutation, type Database } from '../api/index.js'
import { invalidArgument, MessagingError, MessagingErrorCode, topicNotFound } from './errors.js'
import { messageIterator } from './message-iterator.js'
import { MessageReader } from './message-reader.js'
import { MessageWriter, readClock, type WritePart } from './message-writer.js'
import { messagingSettings, type MessagingOptions, type MessagingSettings } from './options.js'
import { producerRow, readProducer } from './producers.js'
import { messagingPruning } from './prune-observer.js'
import { checkAge, checkFetch, checkPointer, checkRequest, startOfFetch } from './requests.js'
import type { CheckedRequest } from './requests.js'
import { rollBackRows } from './rollback.js'
import type { StoredMessage } from './stored-message.js'
import { withGeneration } from './topic-properties.js'
import { TopicRegistry, type MessagingTables } from './topic-registry.js'
import type { TopicState, TopicStatistics } from './topic-state.js'
import type { TopicId } from './topic.js'
import type {
  FetchOptions,
  Message,
  MessageIterator,
  MessageRange,
  Messaging,
  PublishRequest,
  PublishResponse,
  TopicProperties,
} from './types.js'

/** Messages for one topic of a commit. */
export interface CommitPublish {
  readonly id: TopicId
  readonly messages: PublishRequest['messages']
}

/** Numbers of a service. */
export interface MessagingStatistics {
  readonly topics: number
  readonly waiting: number
  readonly queueBytes: number
  readonly cacheBytes: number
  readonly cacheEntries: number
}

const pollLimitDefault = 1000

/** See the file header. */
export class MessagingService implements Messaging {
  readonly #database: Database
  readonly #settings: MessagingSettings
  readonly #tables: MessagingTables
  readonly #writer: MessageWriter
  readonly #topics: TopicRegistry
  /** Topics with messages in memory; the one written longest ago comes first. */
  readonly #cached = new Map<TopicState, number>()
  #cacheBytes = 0
  #isClosed = false

  private constructor(
    database: Database,
    settings: MessagingSettings,
    tables: MessagingTables,
    timestampMax: number,
  ) {
    this.#database = database
    this.#settings = settings
    this.#tables = tables
    const { durability, queueBytesMax } = settings
    const clockTable = tables.metadata
    const writing = { clockTable, durability, queueBytesMax }
    this.#writer = new MessageWriter(database, writing, timestampMax)
    this.#topics = new TopicRegistry(database, tables, settings, () => this.#writer.timestampMax)
  }

  /** Opens the service of a database, which must outlive it; makes its tables if need be. */
  static async open(database: Database, options: MessagingOptions = {}): Promise<MessagingService> {
    const settings = messagingSettings(options)
    requireCapability(database.capabilities, 'atomicAcrossTables', 'messaging')
    const { tablePrefix } = settings
    const tables = {
      metadata: `${tablePrefix}.meta`,
      message: `${tablePrefix}.message`,
      payload: `${tablePrefix}.payload`,
      producer: `${tablePrefix}.producer`,
    }
    for (const name of Object.values(tables)) {
      if (await database.admin.tableExists(name)) continue
      await database.createTable(name, { families: { d: {} } })
    }
    const timestampMax = await readClock(database, tables.metadata)
    const service = new MessagingService(database, settings, tables, timestampMax)
    await service.#topics.load()
    await service.#register()
    return service
  }

  async createTopic(id: TopicId, properties: TopicProperties = {}): Promise<void> {
    this.#checkOpen()
    await this.#topics.create(id, properties)
  }

  async updateTopic(id: TopicId, properties: TopicProperties): Promise<void> {
    this.#checkOpen()
    await this.#topics.update(id, properties)
  }

  async deleteTopic(id: TopicId): Promise<void> {
    this.#checkOpen()
    await this.#topics.delete(id)
  }

  async getTopic(id: TopicId): Promise<TopicProperties> {
    this.#checkOpen()
    const { properties, generation } = this.#topics.find(id)
    return withGeneration(properties, generation)
  }

  async listTopics(namespace: string): Promise<string[]> {
    this.#checkOpen()
    return this.#topics.list(namespace).map(({ topic }) => topic)
  }

  /** All topics that exist. */
  async listAllTopics(): Promise<TopicId[]> {
    this.#checkOpen()
    return this.#topics.list()
  }

  /** All topics with their generations; those that were deleted have negative ones. */
  async scanTopics(): Promise<{ id: TopicId; generation: number }[]> {
    this.#checkOpen()
    return [...this.#topics.all()].map(({ id, generation }) => ({ id, generation }))
  }

  async publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined> {
    this.#checkOpen()
    const checked = checkRequest(request, this.#settings)
    const { pointer, payloads, producer } = checked
    if (pointer === undefined && payloads.length === 0) {
      throw invalidArgument('a publish outside of transactions needs at least one message')
    }
    const topic = this.#topics.find(id)
    if (pointer !== undefined) this.#checkAge(pointer)
    topic.statistics.publishRequested++
    if (producer !== undefined) return this.#publishOnce(topic, checked)
    const response = await this.#publish(topic, checked)
    return pointer === undefined ? undefined : response
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    this.#checkOpen()
    const { payloads, pointer, bytes } = checkRequest(request, this.#settings)
    if (pointer === undefined) throw invalidArgument('payloads are stored for a transaction')
    if (pointer < 0n) throw invalidArgument('a write pointer is positive')
    if (payloads.length === 0) throw invalidArgument('there are no payloads to store')
    const topic = this.#topics.find(id)
    await this.#writer.write(bytes, () => {
      checkExists(topic)
      topic.storeClock.advance(this.#settings.clock.now())
      const mutations = payloads.map((payload) =>
        topic.rows.payload(pointer, topic.storeClock.next(), payload),
      )
      const timestampMax = topic.storeClock.timestamp
      const written = (): void => void (topic.statistics.payloadsStored += payloads.length)
      return { mutations, timestampMax, written }
    })
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    this.#checkOpen()
    const { transactionWritePointer: pointer, rollbackRange } = response
    checkPointer(pointer)
    const topic = this.#topics.find(id)
    await this.#rollBack(topic, pointer, [rollbackRange])
  }

  /**
   * Rolls back everything that a transaction published to a topic, also if the answer to the
   * publish was lost: without a known range, all messages since its start are looked at.
   */
  async rollbackTransaction(id: TopicId, pointer: bigint): Promise<void> {
    this.#checkOpen()
    checkPointer(pointer)
    const topic = this.#topics.find(id)
    await this.#writer.settled()
    const everything = { endTimestamp: Number.MAX_SAFE_INTEGER, endSequenceId: 0xffff }
    const startTimestamp = Math.max(0, Number(pointer / 1_000_000n))
    const whole = { startTimestamp, startSequenceId: 0, ...everything }
    await this.#rollBack(topic, pointer, topic.takeRanges(pointer) ?? [whole])
  }

  async fetch(id: TopicId, options: FetchOptions = {}): Promise<MessageIterator> {
    this.#checkOpen()
    checkFetch(options)
    const topic = this.#topics.find(id)
    const { limit = Infinity, signal, waitMilliseconds = 0 } = options
    let reader = this.#reader(topic, options)
    if (waitMilliseconds > 0) {
      await this.#wait(topic, waitMilliseconds, signal, () => this.#hasMore(topic, options))
      reader = this.#reader(topic, options)
    }
    return messageIterator(reader, limit, signal)
  }

  async poll(id: TopicId, options: FetchOptions = {}): Promise<Message[]> {
    this.#checkOpen()
    checkFetch(options)
    const topic = this.#topics.find(id)
    const { pollMessagesMax } = this.#settings
    const limit = Math.min(options.limit ?? pollLimitDefault, pollMessagesMax)
    let messages: Message[] = []
    const look = async (): Promise<boolean> => {
      messages = await readAll(this.#reader(topic, options), limit)
      return messages.length > 0
    }
    if (await look()) return messages
    const { waitMilliseconds = 0, signal } = options
    if (waitMilliseconds > 0) await this.#wait(topic, waitMilliseconds, signal, look)
    return messages
  }

  /**
   * Publishes messages of a transaction in the same frame as its commit: `mutations` are those of
   * the commit. Resolves when all of it is written. Nothing is written if a topic does not exist.
   */
  async publishAtCommit(
    pointer: bigint,
    publishes: readonly CommitPublish[],
    mutations: readonly AtomicMutation[],
  ): Promise<void> {
    this.#checkOpen()
    this.#checkAge(pointer)
    let bytes = 0
    const parts = publishes.map(({ id, messages }) => {
      const request = checkRequest({ messages, transactionWritePointer: pointer }, this.#settings)
      bytes += request.bytes
      const topic = this.#topics.find(id)
      topic.statistics.publishRequested++
      return { topic, request }
    })
    await this.#writer.write(bytes, () => {
      for (const { topic } of parts) checkExists(topic)
      const written = parts.map(({ topic, request }) => this.#part(topic, request))
      return {
        mutations: [...written.flatMap((part) => part.mutations), ...mutations],
        timestampMax: Math.max(-1, ...written.map((part) => part.timestampMax)),
        written: () => written.forEach((part) => part.written()),
      }
    })
  }

  /** Counters of a topic since the service was opened. */
  topicStatistics(id: TopicId): Readonly<TopicStatistics> & {
    readonly waiting: number
    readonly cacheBytes: number
    readonly cacheEntries: number
  } {
    const { statistics, waiting, cache } = this.#topics.find(id)
    return { ...statistics, waiting, cacheBytes: cache.weight, cacheEntries: cache.size }
  }

  /** Counters of the topics that were used since the service was opened. */
  topicCounters(): { id: TopicId; counts: Readonly<TopicStatistics> }[] {
    return [...this.#topics.all()]
      .filter(({ exists, statistics }) => {
        return exists && statistics.publishRequested + statistics.fetches > 0
      })
      .map(({ id, statistics }) => ({ id, counts: statistics }))
  }

  /** Numbers of the service. */
  statistics(): MessagingStatistics {
    let topics = 0
    let waiting = 0
    let cacheEntries = 0
    for (const topic of this.#topics.all()) {
      if (topic.exists) topics++
      waiting += topic.waiting
      cacheEntries += topic.cache.size
    }
    const { queueBytes } = this.#writer
    return { topics, waiting, queueBytes, cacheBytes: this.#cacheBytes, cacheEntries }
  }

  /** Waits for what is being written, and lets all readers go. The database stays open. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const topic of this.#topics.all()) topic.wake()
    await this.#writer.settled()
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw new MessagingError(MessagingErrorCode.unavailable, 'messaging is closed')
  }

  #checkAge(pointer: bigint): void {
    checkAge(pointer, this.#settings.clock.now(), this.#settings.lifetimeMilliseconds)
  }

  async #register(): Promise<void> {
    const { register, transactions } = this.#settings
    if (register === undefined) return
    const topics = (): ReturnType<TopicRegistry['records']> => this.#topics.records()
    const known = transactions === undefined ? {} : { transactions: () => transactions.snapshot() }
    const { message, payload } = this.#tables
    await register(messagingPruning({ rows: 'message', tables: [message], topics, ...known }))
    await register(messagingPruning({ rows: 'payload', tables: [payload], topics }))
  }

  async #publish(topic: TopicState, request: CheckedRequest): Promise<PublishResponse> {
    let response: PublishResponse | undefined
    try {
      await this.#writer.write(request.bytes, () => {
        checkExists(topic)
        const part = this.#part(topic, request)
        response = part.response
        return part
      })
    } catch (error) {
      topic.statistics.publishFailed++
      throw error
    }
    return response!
  }

  /** Publishes unless the producer has published the same sequence already. */
  async #publishOnce(topic: TopicState, request: CheckedRequest): Promise<PublishResponse> {
    const { id, sequence } = request.producer!
    let reading = topic.producers.get(id)
    if (reading === undefined) {
      reading = readProducer(this.#database, this.#tables.producer, topic, id)
      topic.producers.set(id, reading)
    }
    const state = await reading
    if (sequence === state.sequence) return state.outcome
    if (sequence < state.sequence) {
      const message = `producer '${id}' has published sequence ${state.sequence} already`
      throw new MessagingError(MessagingErrorCode.producerSequence, message)
    }
    const before = state.sequence
    state.sequence = sequence
    const outcome = this.#publish(topic, request)
    state.outcome = outcome
    outcome.catch(() => {
      if (state.outcome === outcome) state.sequence = before
    })
    return outcome
  }

  /** Gives a request its places. Without payloads it is one row that stands for stored ones. */
  #part(topic: TopicState, request: CheckedRequest): WritePart & { response: PublishResponse } {
    const { payloads, pointer, producer, bytes } = request
    const clock = topic.publishClock
    clock.advance(this.#settings.clock.now())
    const contents: readonly (Buffer | undefined)[] = payloads.length > 0 ? payloads : [undefined]
    const messages = contents.map((payload): StoredMessage => {
      return { ...clock.next(), pointer, payload }
    })
    const mutations = messages.map((message) => topic.rows.message(message))
    const [first, last] = [messages[0], messages[messages.length - 1]]
    const rollbackRange: MessageRange = {
      startTimestamp: first.publishTimestamp,
      startSequenceId: first.sequenceId,
      endTimestamp: last.publishTimestamp,
      endSequenceId: last.sequenceId,
    }
    if (producer !== undefined) {
      mutations.push(producerRow(this.#tables.producer, topic, producer, rollbackRange))
    }
    if (pointer !== undefined) topic.remember(pointer, rollbackRange)
    const generation = topic.generation
    const written = (): void => {
      topic.statistics.publishSucceeded++
      topic.statistics.messagesPublished += payloads.length
      topic.statistics.bytesPublished += bytes
      topic.statistics.lastPublishTime = last.publishTimestamp
      if (topic.generation !== generation) return
      topic.written(messages)
      this.#balanceCache(topic)
    }
    const response = { transactionWritePointer: pointer, rollbackRange }
    return { mutations, timestampMax: last.publishTimestamp, written, response }
  }

  /** Forgets messages of the topics written longest ago if all take too much memory. */
  #balanceCache(topic: TopicState): void {
    this.#cacheBytes += topic.cache.weight - (this.#cached.get(topic) ?? 0)
    this.#cached.delete(topic)
    this.#cached.set(topic, topic.cache.weight)
    for (const [oldest, weight] of this.#cached) {
      if (this.#cacheBytes <= this.#settings.cacheBytesMax || oldest === topic) return
      this.#cacheBytes -= weight
      this.#cached.delete(oldest)
      oldest.cache.clear()
    }
  }

  async #rollBack(
    topic: TopicState,
    pointer: bigint,
    ranges: readonly MessageRange[],
  ): Promise<void> {
    const { durability } = this.#settings
    const written = { database: this.#database, table: this.#tables.message, durability }
    for (const range of ranges) {
      topic.statistics.rolledBack += await rollBackRows(written, topic, pointer, range)
    }
    topic.takeRanges(pointer)
    topic.wake()
  }

  #reader(topic: TopicState, options: FetchOptions): MessageReader {
    checkExists(topic)
    const now = this.#settings.clock.now()
    const oldest = Math.max(0, now - topic.ttlMilliseconds)
    topic.statistics.fetches++
    const start = startOfFetch(options, oldest)
    const cachedSince = now - this.#settings.cacheAgeMillisecondsMax
    const settings = { database: this.#database, tables: this.#tables, cachedSince }
    return new MessageReader(topic, start, options.transaction, settings)
  }

  async #hasMore(topic: TopicState, options: FetchOptions): Promise<boolean> {
    return (await readAll(this.#reader(topic, options), 1)).length > 0
  }

  /** Waits until `look` finds something, the time is over, or the signal fires. */
  async #wait(
    topic: TopicState,
    milliseconds: number,
    signal: AbortSignal | undefined,
    look: () => Promise<boolean>,
  ): Promise<void> {
    let isOver = false
    const wait = Math.min(milliseconds, this.#settings.waitMillisecondsMax)
    const timer = setTimeout(() => {
      isOver = true
      topic.wake()
    }, wait)
    try {
      for (;;) {
        const { readable } = topic
        if ((await look()) || isOver || this.#isClosed || signal?.aborted === true) return
        if (topic.readable !== readable) continue
        if (topic.waiting >= this.#settings.waitersMax) {
          throw new MessagingError(MessagingErrorCode.busy, 'too many readers wait')
        }
        await topic.changed(wait, signal)
        if (!topic.exists) throw topicNotFound(topic.name)
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

function checkExists(topic: TopicState): void {
  if (!topic.exists) throw topicNotFound(topic.name)
}

async function readAll(reader: MessageReader, limit: number): Promise<Message[]> {
  let messages: Message[] = []
  while (!reader.isDone && messages.length < limit) {
    const step = await reader.step(limit - messages.length)
    if (messages.length === 0) messages = step
    else messages.push(...step)
  }
  if (reader.isHeld) reader.topic.statistics.fetchesHeld++
  return messages
}
