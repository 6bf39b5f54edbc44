/**
 * The last outcomes of the producers of a topic. A retried request is answered with its first
 * outcome. The row of a producer is written in the frame of its messages.
 *
 *   row    = namespace:topic: generation(4) producer id
 *   column = d:q = the last outcomes, oldest first, each: sequence(8) startTimestamp(8)
 *            startSequenceId(2) endTimestamp(8) endSequenceId(2) writePointer(8; 0 = none)
 *
 * Only a written request has an outcome: a refused request may be retried and is then tried again.
 * A request is not written while an earlier request of its producer is neither written nor part of
 * the same frame. Messages therefore never overtake refused ones.
 */
import { assert, CellarError, type AtomicMutation } from '../../../api/index.js'
import { MessagingErrorCode, topicNotFound } from '../errors.js'
import { corrupt } from '../../bytes/byte-reader.js'
import { readTime, writeTime } from '../message-id.js'
import { producerOutcomeBytes, producerTimeOffset } from '../prune-job/row-layout.js'
import type { ServiceParts } from './topic-registry.js'
import type { TopicState } from './topic-state.js'
import type { PublishResponse } from '../types.js'
import type { Producer } from '../options.js'

const column = 'd:q'
/** Retained outcomes of a producer, which is also the limit of its requests in progress. */
const outcomesKept = 5
/** Most producers of a topic in memory; other producers are read from the table. */
const producersMax = 10_000

interface Outcome {
  readonly sequence: number
  readonly response: PublishResponse
}

/** A request without an outcome. */
interface Pending {
  readonly sequence: number
  answer: Promise<PublishResponse>
  /** The batch that assigned its places. */
  batch: object | undefined
}

/** One producer of one generation of a topic. */
class ProducerState {
  /** Resolves when the outcomes are read from the table. */
  readonly read: Promise<void>
  readonly #topic: TopicState
  readonly #generation: number
  /** Undefined until they are read. */
  #outcomes: readonly Outcome[] | undefined
  readonly #pending = new Map<number, Pending>()
  /** The outcomes after the current batch, and that batch. */
  #next: { readonly batch: object; readonly outcomes: readonly Outcome[] } | undefined

  constructor(parts: ServiceParts, topic: TopicState, id: string) {
    this.#topic = topic
    this.#generation = topic.generation
    this.read = readOutcomes(parts, topic, id).then((outcomes) => {
      this.#outcomes = outcomes
    })
  }

  get isIdle(): boolean {
    return this.#outcomes !== undefined && this.#pending.size === 0
  }

  /** REQUIRES that they are read. */
  get #known(): readonly Outcome[] {
    assert(this.#outcomes !== undefined, 'a producer is read before its requests')
    return this.#outcomes
  }

  /**
   * Forgets the outcomes if the last message was published before a time: the row may be pruned.
   */
  forgetBefore(oldest: number): void {
    const last = this.#known.at(-1)?.response.rollbackRange.endTimestamp
    if (last !== undefined && last < oldest) this.#outcomes = []
  }

  /**
   * The outcome of a known or pending sequence. `ERR_PRODUCER_SEQUENCE` if the sequence is too old.
   */
  find({ id, sequence }: Producer): Promise<PublishResponse> | undefined {
    const pending = this.#pending.get(sequence)
    if (pending !== undefined) return pending.answer
    const known = this.#known.find((outcome) => outcome.sequence === sequence)
    if (known !== undefined) return Promise.resolve(known.response)
    let latest = this.#known.at(-1)?.sequence ?? -1
    for (const other of this.#pending.keys()) latest = Math.max(latest, other)
    if (sequence > latest) return undefined
    const message = `producer '${id}' has published sequence ${latest} already`
    throw new CellarError(MessagingErrorCode.producerSequence, message)
  }

  /** Publishes a new sequence; `write` receives the producer's row for its request. */
  publish(
    sequence: number,
    write: (row: ProducerRow) => Promise<PublishResponse>,
  ): Promise<PublishResponse> {
    const pending: Pending = { sequence, answer: undefined as never, batch: undefined }
    // Entered first, because `write` may refuse the request in the same turn.
    this.#pending.set(sequence, pending)
    pending.answer = write({
      check: (batch) => this.#check(pending, batch),
      value: (batch, response) => this.#place(pending, batch, response),
      written: (response) => this.#written(pending, response),
    })
    pending.answer.catch(() => this.#pending.delete(sequence))
    return pending.answer
  }

  #check(pending: Pending, batch: object): void {
    if (this.#topic.generation !== this.#generation) throw topicNotFound(this.#topic.name)
    for (const { sequence, batch: own } of this.#pending.values()) {
      if (sequence >= pending.sequence || own === batch) continue
      const message = `sequence ${sequence} of the producer was not written; send it again first`
      throw new CellarError(MessagingErrorCode.busy, message)
    }
  }

  #place(pending: Pending, batch: object, response: PublishResponse): Buffer {
    pending.batch = batch
    const before = this.#next?.batch === batch ? this.#next.outcomes : this.#known
    const outcomes = behind(before, { sequence: pending.sequence, response })
    this.#next = { batch, outcomes }
    return encodeOutcomes(outcomes)
  }

  #written({ sequence }: Pending, response: PublishResponse): void {
    this.#outcomes = behind(this.#known, { sequence, response })
    const wasPending = this.#pending.delete(sequence)
    assert(wasPending, 'a request of a producer is written once')
  }
}

/** The row of a producer, which gets its value when the request gets its places. */
export interface ProducerRow {
  /** `ERR_MESSAGING_BUSY` if an earlier request of the producer has no places. */
  check(batch: object): void
  value(batch: object, response: PublishResponse): Buffer
  written(response: PublishResponse): void
}

export class Producers {
  readonly #held = new Map<string, ProducerState>()

  get size(): number {
    return this.#held.size
  }

  /** Removes all producers: the generation of the topic has ended. */
  clear(): void {
    this.#held.clear()
  }

  /**
   * Passes a producer to `use`, after a read from the table if necessary. `use` must enter its
   * request in the same turn. `ERR_TOPIC_NOT_FOUND` if the generation of the topic ends meanwhile.
   */
  async with<T>(
    parts: ServiceParts,
    topic: TopicState,
    id: string,
    use: (producer: ProducerState) => T,
  ): Promise<Awaited<T>> {
    const { generation } = topic
    const oldest = parts.settings.clock.now() - topic.ttlMilliseconds
    for (;;) {
      const producer = this.#held.get(id) ?? this.#read(parts, topic, id)
      await producer.read
      if (topic.generation !== generation) throw topicNotFound(topic.name)
      // Another request has evicted the producer: two states of one producer would miss each
      // other's requests.
      if (this.#held.get(id) !== producer) continue
      producer.forgetBefore(oldest)
      return await use(producer)
    }
  }

  #read(parts: ServiceParts, topic: TopicState, id: string): ProducerState {
    const producer = new ProducerState(parts, topic, id)
    this.#held.set(id, producer)
    // A failed read says nothing about the producer, so the next request reads again.
    producer.read.catch(() => {
      if (this.#held.get(id) === producer) this.#held.delete(id)
    })
    if (this.#held.size > producersMax) this.#forgetIdle()
    return producer
  }

  /** Evicts the oldest producers without requests. */
  #forgetIdle(): void {
    const ids = [...this.#held.keys()].slice(0, producersMax / 2)
    for (const id of ids) if (this.#held.get(id)?.isIdle === true) this.#held.delete(id)
  }
}

/** Writes the row of a producer. */
export function producerMutation(
  table: string,
  topic: TopicState,
  id: string,
  value: Buffer,
): AtomicMutation {
  const put = { cells: { [column]: value }, timestamp: 1 }
  return { table, row: topic.rows.named(id), mutations: [{ put }] }
}

function behind(outcomes: readonly Outcome[], last: Outcome): readonly Outcome[] {
  return [...outcomes.slice(1 - outcomesKept), last]
}

async function readOutcomes(
  { database, tables }: ServiceParts,
  topic: TopicState,
  id: string,
): Promise<readonly Outcome[]> {
  const get = { row: topic.rows.named(id), columns: [column] }
  const result = await database.table(tables.producer).get(get)
  const value = result.value(column)
  if (value === undefined) return []
  // To take it as none would publish a repeated request again.
  if (value.length % producerOutcomeBytes !== 0) throw damagedOutcomes(topic, id, value.length)
  const outcomes: Outcome[] = []
  for (let at = 0; at < value.length; at += producerOutcomeBytes) {
    const pointer = value.readBigInt64BE(at + 28)
    const rollbackRange = {
      startTimestamp: readTime(value, at + 8),
      startSequenceId: value.readUInt16BE(at + 16),
      endTimestamp: readTime(value, at + producerTimeOffset),
      endSequenceId: value.readUInt16BE(at + 26),
    }
    const transactionWritePointer = pointer === 0n ? undefined : pointer
    const sequence = Number(value.readBigInt64BE(at))
    outcomes.push({ sequence, response: { transactionWritePointer, rollbackRange } })
  }
  return outcomes
}

function damagedOutcomes({ name }: TopicState, id: string, bytes: number): Error {
  return corrupt(`the outcomes of the producer '${id}' in ${name} are damaged: ${bytes} bytes`)
}

function encodeOutcomes(outcomes: readonly Outcome[]): Buffer {
  const value = Buffer.allocUnsafe(outcomes.length * producerOutcomeBytes)
  let at = 0
  for (const { sequence, response } of outcomes) {
    const { transactionWritePointer, rollbackRange } = response
    value.writeBigInt64BE(BigInt(sequence), at)
    writeTime(value, at + 8, rollbackRange.startTimestamp)
    value.writeUInt16BE(rollbackRange.startSequenceId, at + 16)
    writeTime(value, at + producerTimeOffset, rollbackRange.endTimestamp)
    value.writeUInt16BE(rollbackRange.endSequenceId, at + 26)
    value.writeBigInt64BE(transactionWritePointer ?? 0n, at + 28)
    at += producerOutcomeBytes
  }
  return value
}
