/**
 * The state of one topic in a service: its properties, its clocks, its newest messages, and its
 * waiting readers. The newest messages of all topics share a budget of memory.
 */
import { assert, Waiters } from '../../../api/index.js'
import { MessageCache } from '../store/message-cache.js'
import { TopicRows } from '../store/rows.js'
import { Producers } from './producers.js'
import {
  AscendingClock,
  comparePlaces,
  placeOf,
  weightOf,
  type Place,
  type StoredBatch,
} from '../store/stored-batch.js'
import { type TopicMetadata, topicPrefix, type TopicId } from '../topics/topic.js'
import type { TopicProperties } from '../types.js'

/** The counters of a topic that was not used yet. */
function noCounts() {
  return {
    /** Requests to publish. */
    publishRequested: 0,
    /** Requests whose messages were written. */
    publishSucceeded: 0,
    /** Requests whose write failed. */
    publishFailed: 0,
    /** Messages of the requests that were written. */
    messagesPublished: 0,
    /** Bytes of the requests that were written. */
    bytesPublished: 0,
    /** Payloads of transactions that were stored ahead of their publish. */
    payloadsStored: 0,
    /** Messages that were rolled back. */
    rolledBack: 0,
    /** Fetches. */
    fetches: 0,
    /** Fetches that ended at a transaction that was in progress for the reader. */
    fetchesHeld: 0,
    /** Messages delivered to readers. */
    messagesFetched: 0,
    /** Steps of fetches served by the cache. */
    cacheHits: 0,
    /** Steps of fetches that read the table. */
    cacheMisses: 0,
    /** Milliseconds since the epoch; 0 = none. */
    lastPublishTime: 0,
  }
}

/** Counters of a topic since the service was opened. */
export interface TopicStatistics extends ReturnType<typeof noCounts> {}

/** The place before all messages, for a topic without messages. */
const nowhere: Place = { publishTimestamp: -1, sequenceId: 0xffff }

/** One topic; see the file header. */
export class TopicState {
  readonly id: TopicId
  readonly name: string
  readonly prefix: Buffer
  properties: TopicProperties
  /** Negative: the topic is deleted, and this was its last generation. */
  generation: number
  ttlMilliseconds: number
  rows: TopicRows
  readonly statistics: TopicStatistics = noCounts()
  readonly publishClock: AscendingClock
  readonly storeClock: AscendingClock
  /** The last durable message; readers stop here. */
  readable: Place
  /** The newest rows. */
  readonly cache: MessageCache<StoredBatch>
  readonly producers = new Producers()
  readonly #waiters = new Waiters()
  readonly #tables: { message: string; payload: string }

  constructor(
    id: TopicId,
    tables: { message: string; payload: string },
    state: TopicMetadata,
    lastTimestamp: number,
    cacheBytesMax: number,
  ) {
    this.id = Object.freeze(id)
    this.name = `${id.namespace}:${id.topic}`
    this.prefix = topicPrefix(id)
    this.properties = state.properties
    this.generation = state.generation
    this.ttlMilliseconds = state.ttlMilliseconds
    this.#tables = tables
    this.rows = new TopicRows(tables, this.prefix, Math.abs(state.generation))
    this.publishClock = new AscendingClock(lastTimestamp)
    this.storeClock = new AscendingClock(lastTimestamp)
    this.readable = lastTimestamp < 0 ? nowhere : { ...nowhere, publishTimestamp: lastTimestamp }
    this.cache = new MessageCache<StoredBatch>(
      { compare: comparePlaces, weigh: weightOf },
      {
        minRetain: Math.floor(cacheBytesMax / 2),
        reduceTrigger: Math.floor(0.7 * cacheBytesMax),
        hardLimit: cacheBytesMax,
      },
    )
  }

  get exists(): boolean {
    return this.generation > 0
  }

  /** Applies a change of the metadata table. */
  change(state: TopicMetadata): void {
    const generation = Math.abs(state.generation)
    assert(generation >= Math.abs(this.generation), 'the generation of a topic never falls')
    this.properties = state.properties
    this.ttlMilliseconds = state.ttlMilliseconds
    if (state.generation === this.generation) return
    this.generation = state.generation
    this.rows = new TopicRows(this.#tables, this.prefix, generation)
    this.cache.clear()
    this.producers.clear()
    this.wake()
  }

  /** Called after rows are durable: makes them readable. */
  written(rows: readonly StoredBatch[]): void {
    const last = rows.at(-1)
    if (last === undefined) return
    assert(comparePlaces(this.readable, last) < 0, 'readable places only ascend')
    this.readable = placeOf(last)
    try {
      this.cache.addAll(rows)
    } catch {
      // The cache is empty after an error, and readers find the rows in the table.
    }
    this.wake()
  }

  /** Number of waiting readers. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Wakes all waiting readers. */
  wake(): void {
    this.#waiters.wake()
  }

  /** Resolves after a change, after `milliseconds`, or when the signal fires. */
  changed(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return this.#waiters.wait(signal, milliseconds)
  }
}

/** Divides the memory for the newest messages among the topics of a service. */
export class CacheBudget {
  readonly #bytesMax: number
  /** Weight of each topic with messages in memory, least recently written first. */
  readonly #weights = new Map<TopicState, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Approximate bytes of all topics. */
  get bytes(): number {
    return this.#bytes
  }

  /** Updates the weight of a topic after a write; may evict the messages of other topics. */
  written(topic: TopicState): void {
    this.#bytes += topic.cache.weight - (this.#weights.get(topic) ?? 0)
    assert(this.#bytes >= 0, 'the weight of all caches is never negative')
    this.#weights.delete(topic)
    this.#weights.set(topic, topic.cache.weight)
    for (const [oldest, weight] of this.#weights) {
      if (this.#bytes <= this.#bytesMax || oldest === topic) return
      this.#bytes -= weight
      this.#weights.delete(oldest)
      oldest.cache.clear()
    }
  }
}
