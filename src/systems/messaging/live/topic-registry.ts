/**
 * The topics of a service, and their rows in the metadata table.
 *
 * A change is a compare-and-set of the whole serialized properties, and changes of one topic are
 * serialized. A change by another program is therefore detected instead of overwritten.
 */
import { MessageWriter } from './message-writer.js'
import { CellarError, KeyedQueue, type Database, type Table } from '../../../api/index.js'
import { MessagingErrorCode, topicNotFound } from '../errors.js'
import type { MessagingSettings } from '../options.js'
import { TopicState } from './topic-state.js'
import {
  effectiveProperties,
  encodeTopicProperties,
  metadataColumn,
  parseTopicMetadata,
  readTopic,
  type TopicMetadata,
  checkNamespace,
  checkTopicId,
  topicPrefix,
  type TopicId,
  type MessagingTables,
} from '../topics/topic.js'
import type { TopicProperties } from '../types.js'

const timestamp = 1
const notExists = { notExists: true } as const

/** The parts of an open service that publishes, fetches and positions share. */
export interface ServiceParts {
  readonly database: Database
  readonly settings: MessagingSettings
  readonly tables: MessagingTables
  readonly writer: MessageWriter
  readonly topics: TopicRegistry
  /** The service is closed: waits end when their topic wakes them. */
  isClosed: boolean
}

export class TopicRegistry {
  readonly #database: Database
  readonly #table: Table
  readonly #tables: MessagingTables
  readonly #settings: MessagingSettings
  readonly #lastTimestamp: () => number
  readonly #topics = new Map<string, TopicState>()
  readonly #changes = new KeyedQueue()
  #all: readonly TopicState[] | undefined

  constructor(
    database: Database,
    tables: MessagingTables,
    settings: MessagingSettings,
    lastTimestamp: () => number,
  ) {
    this.#database = database
    this.#table = database.table(tables.metadata)
    this.#tables = tables
    this.#settings = settings
    this.#lastTimestamp = lastTimestamp
  }

  async load(): Promise<void> {
    for await (const result of this.#table.scan({ columns: [metadataColumn] })) {
      const found = readTopic(result)
      if (found !== undefined) this.#add(found.id, found)
    }
  }

  /** All topics, including deleted ones; the same array until a change. */
  all(): readonly TopicState[] {
    this.#all ??= [...this.#topics.values()]
    return this.#all
  }

  /** An existing topic. `ERR_INVALID_ARGUMENT` for its name, `ERR_TOPIC_NOT_FOUND`. */
  find(id: TopicId): TopicState {
    const { namespace, topic: name } = checkTopicId(id)
    const topic = this.#topics.get(`${namespace}:${name}`)
    if (topic?.exists === true) return topic
    throw topicNotFound(`${namespace}:${name}`)
  }

  /** Names of the topics of a namespace, or of all, in the order of their rows. */
  list(namespace?: string): TopicId[] {
    if (namespace !== undefined) checkNamespace(namespace)
    return this.all()
      .filter((topic) => topic.exists && (namespace ?? topic.id.namespace) === topic.id.namespace)
      .sort((a, b) => Buffer.compare(a.prefix, b.prefix))
      .map(({ id }) => id)
  }

  /** Creates a topic. `ERR_TOPIC_EXISTS`, `ERR_REQUEST_TOO_LARGE` at the limit of topics. */
  async create(id: TopicId, properties: TopicProperties): Promise<void> {
    checkTopicId(id)
    const effective = effectiveProperties(properties, this.#settings.ttlSecondsDefault)
    await this.#change(id, async (topic) => {
      if (topic?.exists === true) {
        const message = `topic '${topic.name}' exists already`
        throw new CellarError(MessagingErrorCode.topicExists, message)
      }
      if (topic === undefined && this.#topics.size >= this.#settings.topicsMax) {
        throw new CellarError(MessagingErrorCode.tooLarge, 'there are too many topics')
      }
      const generation = topic === undefined ? 1 : 1 - topic.generation
      await this.#write(id, topic, effective, generation)
    })
  }

  async update(id: TopicId, properties: TopicProperties): Promise<void> {
    this.find(id)
    const effective = effectiveProperties(properties, this.#settings.ttlSecondsDefault)
    await this.#change(id, async () => {
      const topic = this.find(id)
      await this.#write(id, topic, effective, topic.generation)
    })
  }

  async delete(id: TopicId): Promise<void> {
    this.find(id)
    await this.#change(id, async () => {
      const topic = this.find(id)
      await this.#write(id, topic, topic.properties, -topic.generation)
    })
  }

  #add(id: TopicId, state: TopicMetadata): void {
    // A topic takes at most a fourth of the memory for the newest messages.
    const cacheBytesMax = Math.floor(this.#settings.cacheBytesMax / 4)
    const topic = new TopicState(id, this.#tables, state, this.#lastTimestamp(), cacheBytesMax)
    this.#topics.set(topic.name, topic)
    this.#all = undefined
  }

  async #write(
    id: TopicId,
    topic: TopicState | undefined,
    properties: TopicProperties,
    generation: number,
  ): Promise<void> {
    const row = topicPrefix(id)
    const value = encodeTopicProperties({ ...properties, generation: String(generation) })
    const put = { cells: { [metadataColumn]: value }, timestamp }
    const expected = topic === undefined ? notExists : { equals: await this.#stored(row, topic) }
    const table = this.#tables.metadata
    const { success } = await this.#database.atomic({
      checks: [{ table, row, column: metadataColumn, ...expected }],
      mutations: [{ table, row, mutations: [{ put }] }],
      // A topic is no less durable than its messages, but never less than its table says.
      durability: this.#settings.durability === 'FSYNC_WAL' ? 'FSYNC_WAL' : 'USE_DEFAULT',
    })
    if (!success) {
      const message = `the metadata of topic '${id.namespace}:${id.topic}' was changed elsewhere`
      throw new CellarError(MessagingErrorCode.unavailable, message)
    }
    const metadata = parseTopicMetadata(value)!
    if (topic === undefined) this.#add(id, metadata)
    else topic.change(metadata)
    this.#all = undefined
  }

  /** The stored properties of a topic: CDAP writes the same ones as other bytes. */
  async #stored(row: Buffer, { properties }: TopicState): Promise<Buffer> {
    const own = encodeTopicProperties(properties)
    const stored = (await this.#table.get({ row, columns: [metadataColumn] })).value(metadataColumn)
    const found = stored && parseTopicMetadata(stored)
    return found && encodeTopicProperties(found.properties).equals(own) ? stored : own
  }

  /** Serializes the changes of one topic. */
  #change(id: TopicId, work: (topic: TopicState | undefined) => Promise<void>): Promise<void> {
    const name = `${id.namespace}:${id.topic}`
    return this.#changes.run(name, () => work(this.#topics.get(name)))
  }
}
