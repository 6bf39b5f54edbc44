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
import type { WriteBatch } from '../live/message-writer.js'
import { checkPointer, type Producer, type PublishRequest } from '../options.js'
import { producerMutation, type ProducerRow } from '../live/producers.js'
import { checkAge, checkHandedOut, checkRequest, type CheckedRequest } from './requests.js'
import type { TopicState } from '../live/topic-state.js'
import type { TopicId } from '../topics/topic.js'
import type { PublishResponse } from '../types.js'

/** Messages for one topic of a commit. */
export interface CommitPublish {
  /** The topic of the messages. */
  readonly id: TopicId
  /** The messages in their order; strings are UTF-8. */
  readonly messages: PublishRequest['messages']
}

interface TopicRequest {
  readonly topic: TopicState
  readonly request: CheckedRequest
  readonly row?: ProducerRow
}

/** `Messaging.publish`. */
export async function publish(
  parts: ServiceParts,
  id: TopicId,
  given: PublishRequest,
): Promise<PublishResponse | undefined> {
  const request = checkRequest(given, parts.settings)
  const { pointer, payloads, producer } = request
  if (pointer === undefined && payloads.length === 0) {
    throw invalidArgument('a publish outside of transactions needs at least one message')
  }
  const topic = parts.topics.find(id)
  if (pointer !== undefined) checkAge(pointer, parts.settings)
  topic.statistics.publishRequested++
  if (producer !== undefined) return publishOnce(parts, topic, request, producer)
  const [response] = await write(parts, [{ topic, request }])
  return pointer === undefined ? undefined : response
}

/** `Messaging.store`. */
export async function store(
  parts: ServiceParts,
  id: TopicId,
  request: PublishRequest,
): Promise<void> {
  const { payloads, pointer, bytes, count } = checkRequest(request, parts.settings)
  if (pointer === undefined) throw invalidArgument('payloads are stored for a transaction')
  if (pointer < 0n) throw invalidArgument('a write pointer is positive')
  checkHandedOut(pointer, parts.settings)
  if (count === 0) throw invalidArgument('there are no payloads to store')
  const topic = parts.topics.find(id)
  await parts.writer.write(bytes, (batch) => {
    checkExists(topic)
    const { storeClock, rows } = topic
    storeClock.advance(parts.settings.clock.now())
    for (const each of payloads) {
      storeClock.assign(each, (part, last) => {
        batch.mutations.push(rows.payloads(pointer, last, part))
      })
    }
    batch.timestampMax = Math.max(batch.timestampMax, storeClock.timestamp)
    batch.written.push(() => (topic.statistics.payloadsStored += count))
  })
}

/** `MessagingService.publishAtCommit`. */
export async function publishAtCommit(
  parts: ServiceParts,
  pointer: bigint,
  publishes: readonly CommitPublish[],
  mutations: readonly AtomicMutation[],
): Promise<void> {
  const commit = { mutations, isHanded: false }
  try {
    await write(parts, requestsOf(parts, pointer, publishes), commit)
  } catch (error) {
    throw commit.isHanded ? error : notCarried(error)
  }
}

/** Checks the publishes of a commit. */
function requestsOf(
  parts: ServiceParts,
  pointer: bigint,
  publishes: readonly CommitPublish[],
): TopicRequest[] {
  const { settings, topics } = parts
  checkPointer(pointer)
  checkAge(pointer, settings)
  return checkArray(publishes, 'publishes').map((publish) => {
    const { id, messages } = checkObject(publish, 'a publish')
    const request = checkRequest({ messages, transactionWritePointer: pointer }, settings)
    const topic = topics.find(id)
    topic.statistics.publishRequested++
    return { topic, request }
  })
}

/** Publishes unless the producer has already published the same sequence. */
async function publishOnce(
  parts: ServiceParts,
  topic: TopicState,
  request: CheckedRequest,
  producer: Producer,
): Promise<PublishResponse> {
  const outcome = await topic.producers.with(parts, topic, producer.id, (state) => {
    const publish = async (row: ProducerRow): Promise<PublishResponse> =>
      (await write(parts, [{ topic, request, row }]))[0]
    return state.find(producer) ?? state.publish(producer.sequence, publish)
  })
  // The producer keeps the outcome for retries.
  return { ...outcome, rollbackRange: { ...outcome.rollbackRange } }
}

/**
 * Writes requests in one batch, with the mutations of a commit. Its `isHanded` says whether the
 * database received the frame: only then can the outcome be unknown.
 */
async function write(
  parts: ServiceParts,
  requests: readonly TopicRequest[],
  commit?: { readonly mutations: readonly AtomicMutation[]; isHanded: boolean },
): Promise<PublishResponse[]> {
  let responses: PublishResponse[] = []
  let bytes = 0
  for (const { request } of requests) bytes += request.bytes
  try {
    await parts.writer.write(bytes, (batch) => {
      if (commit !== undefined) commit.isHanded = false
      for (const { topic, row } of requests) {
        checkExists(topic)
        row?.check(batch)
      }
      responses = requests.map((request) => assign(parts, batch, request))
      if (commit === undefined) return
      for (const mutation of commit.mutations) batch.mutations.push(mutation)
      commit.isHanded = true
    })
  } catch (error) {
    for (const { topic } of requests) topic.statistics.publishFailed++
    throw error
  }
  return responses
}

function assign(
  parts: ServiceParts,
  batch: WriteBatch,
  { topic, request, row }: TopicRequest,
): PublishResponse {
  const { payloads, count, pointer, producer, bytes } = request
  const now = parts.settings.clock.now()
  const rollbackRange = batch.appendTo(topic).add(payloads, pointer, now)
  const { endTimestamp } = rollbackRange
  const response = { transactionWritePointer: pointer, rollbackRange }
  if (row !== undefined) {
    const value = row.value(batch, response)
    const { producer: table } = parts.tables
    batch.mutations.push(producerMutation(table, topic, producer!.id, value))
  }
  batch.timestampMax = Math.max(batch.timestampMax, endTimestamp)
  batch.written.push(() => {
    row?.written(response)
    topic.statistics.publishSucceeded++
    topic.statistics.messagesPublished += count
    topic.statistics.bytesPublished += bytes
    topic.statistics.lastPublishTime = endTimestamp
  })
  return response
}

/** `ERR_TOPIC_NOT_FOUND` for a topic that was deleted meanwhile. */
export function checkExists(topic: TopicState): void {
  if (!topic.exists) throw topicNotFound(topic.name)
}
