/** Publishing and storing: batches of the writer assign places to requests. */
import type { ServiceParts } from '../live/topic-registry.js'
import {
  invalidArgument,
  checkArray,
  checkObject,
  type AtomicMutation,
} from '../../../api/index.js'
import { notCarried } from '../../transactions/index.js'
import { topicNotFound } from '../errors.js'
import { type WriteBatch, type WritePart } from '../live/message-writer.js'
import { checkPointer } from '../options.js'
import { producerMutation, type ProducerRow } from '../live/producers.js'
import { checkAge, checkHandedOut, checkRequest, type CheckedRequest } from './requests.js'
import type { TopicState } from '../live/topic-state.js'
import type { TopicId } from '../topics/topic.js'
import type { PublishResponse } from '../types.js'
import type { Producer, PublishRequest } from '../options.js'

/** Messages for one topic of a commit. */
export interface CommitPublish {
  /** The topic of the messages. */
  readonly id: TopicId
  /** The messages in their order; strings are UTF-8. */
  readonly messages: PublishRequest['messages']
}

/** See the file header. */
export class Publishing {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  /** `Messaging.publish`. */
  async publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined> {
    const checked = checkRequest(request, this.#parts.settings)
    const { pointer, payloads, producer } = checked
    if (pointer === undefined && payloads.length === 0) {
      throw invalidArgument('a publish outside of transactions needs at least one message')
    }
    const topic = this.#parts.topics.find(id)
    if (pointer !== undefined) checkAge(pointer, this.#parts.settings)
    topic.statistics.publishRequested++
    if (producer !== undefined) return this.#publishOnce(topic, checked, producer)
    const response = await this.#publish(topic, checked)
    return pointer === undefined ? undefined : response
  }

  /** `Messaging.store`. */
  async store(id: TopicId, request: PublishRequest): Promise<void> {
    const { payloads, pointer, bytes, count } = checkRequest(request, this.#parts.settings)
    if (pointer === undefined) throw invalidArgument('payloads are stored for a transaction')
    if (pointer < 0n) throw invalidArgument('a write pointer is positive')
    checkHandedOut(pointer, this.#parts.settings)
    if (count === 0) throw invalidArgument('there are no payloads to store')
    const topic = this.#parts.topics.find(id)
    await this.#parts.writer.write(bytes, () => {
      checkExists(topic)
      const { storeClock, rows } = topic
      storeClock.advance(this.#parts.settings.clock.now())
      const mutations: AtomicMutation[] = []
      for (let rest of payloads) {
        for (;;) {
          const { publishTimestamp, firstSequence, count: taken } = storeClock.take(rest.count)
          const part = taken === rest.count ? rest : rest.slice(0, taken)
          const place = { publishTimestamp, sequenceId: firstSequence + taken - 1 }
          mutations.push(rows.payloads(pointer, place, part))
          if (taken === rest.count) break
          rest = rest.slice(taken, rest.count)
        }
      }
      const timestampMax = storeClock.timestamp
      const written = (): void => void (topic.statistics.payloadsStored += count)
      return { mutations, timestampMax, written }
    })
  }

  /** `MessagingService.publishAtCommit`. */
  async publishAtCommit(
    pointer: bigint,
    publishes: readonly CommitPublish[],
    mutations: readonly AtomicMutation[],
  ): Promise<void> {
    // Whether the database received the frame: only then can its outcome be unknown.
    let isHanded = false
    try {
      const { parts, bytes } = this.#partsOfCommit(pointer, publishes)
      await this.#parts.writer.write(bytes, (batch) => {
        isHanded = false
        for (const { topic } of parts) checkExists(topic)
        const written = parts.map(({ topic, request }) => this.#part(batch, topic, request))
        isHanded = true
        return {
          mutations: [...written.flatMap((part) => part.mutations), ...mutations],
          timestampMax: Math.max(-1, ...written.map((part) => part.timestampMax)),
          written: () => written.forEach((part) => part.written()),
        }
      })
    } catch (error) {
      throw isHanded ? error : notCarried(error)
    }
  }

  /** Checks the publishes of a commit. */
  #partsOfCommit(
    pointer: bigint,
    publishes: readonly CommitPublish[],
  ): { parts: { topic: TopicState; request: CheckedRequest }[]; bytes: number } {
    checkPointer(pointer)
    checkAge(pointer, this.#parts.settings)
    let bytes = 0
    const parts = checkArray(publishes, 'publishes').map((publish) => {
      const { id, messages } = checkObject(publish, 'a publish')
      const request = checkRequest(
        { messages, transactionWritePointer: pointer },
        this.#parts.settings,
      )
      bytes += request.bytes
      const topic = this.#parts.topics.find(id)
      topic.statistics.publishRequested++
      return { topic, request }
    })
    return { parts, bytes }
  }

  async #publish(
    topic: TopicState,
    request: CheckedRequest,
    row?: ProducerRow,
  ): Promise<PublishResponse> {
    let response: PublishResponse | undefined
    try {
      await this.#parts.writer.write(request.bytes, (batch) => {
        checkExists(topic)
        row?.check(batch)
        const part = this.#part(batch, topic, request, row)
        response = part.response
        return part
      })
    } catch (error) {
      topic.statistics.publishFailed++
      throw error
    }
    return response!
  }

  /** Publishes unless the producer has already published the same sequence. */
  async #publishOnce(
    topic: TopicState,
    request: CheckedRequest,
    producer: Producer,
  ): Promise<PublishResponse> {
    const { database, settings, tables } = this.#parts
    const oldest = settings.clock.now() - topic.ttlMilliseconds
    const source = { database, table: tables.producer, topic, oldest }
    return topic.producers.with(producer.id, source, (state) => {
      const publish = (row: ProducerRow): Promise<PublishResponse> =>
        this.#publish(topic, request, row)
      return state.find(producer) ?? state.publish(producer.sequence, publish)
    })
  }

  /** Assigns the places of a request. */
  #part(
    batch: WriteBatch,
    topic: TopicState,
    request: CheckedRequest,
    row?: ProducerRow,
  ): WritePart & { response: PublishResponse } {
    const { payloads, count, pointer, producer, bytes } = request
    const now = this.#parts.settings.clock.now()
    const rollbackRange = batch.appendTo(topic).add(payloads, pointer, now)
    const { endTimestamp } = rollbackRange
    const response = { transactionWritePointer: pointer, rollbackRange }
    const mutations: AtomicMutation[] = []
    if (row !== undefined) {
      const value = row.value(batch, response)
      mutations.push(producerMutation(this.#parts.tables.producer, topic, producer!.id, value))
    }
    const written = (): void => {
      row?.written(response)
      if (pointer !== undefined) topic.remember(pointer, rollbackRange)
      topic.statistics.publishSucceeded++
      topic.statistics.messagesPublished += count
      topic.statistics.bytesPublished += bytes
      topic.statistics.lastPublishTime = endTimestamp
    }
    return { mutations, timestampMax: endTimestamp, written, response }
  }
}

/** `ERR_TOPIC_NOT_FOUND` for a topic that was deleted meanwhile. */
export function checkExists(topic: TopicState): void {
  if (!topic.exists) throw topicNotFound(topic.name)
}
