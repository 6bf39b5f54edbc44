/**
 * The state of one topic in a service: its properties, its clocks, its newest messages, and its
 * waiting readers.
 */
import { assert } from '../../../api/index.js'
import { AscendingClock } from '../ascending-clock.js'
import { MessageCache } from '../store/message-cache.js'
import { TopicRows } from '../store/rows.js'
import { Producers } from './producers.js'
import {
  comparePlaces,
  placeOf,
  weightOf,
  type Place,
  type StoredBatch,
} from '../store/stored-batch.js'
import { topicPrefix, type TopicId } from '../topics/topic.js'
import type { MessageRange, TopicProperties } from '../types.js'

/** Counters of a topic since the service was opened. */
export interface TopicStatistics {
  /** Requests to publish. */
  publishRequested: number
  /** Requests whose messages were written. */
  publishSucceeded: number
  /** Requests whose write failed. */
  publishFailed: number
  /** Messages of the requests that were written. */
  messagesPublished: number
  /** Bytes of the requests that were written. */
  bytesPublished: number
  /** Payloads of transactions that were stored ahead of their publish. */
  payloadsStored: number
  /** Messages that were rolled back. */
  rolledBack: number
  /** Fetches. */
  fetches: number
  /** Fetches that ended at a transaction that was in progress for the reader. */
  fetchesHeld: number
  /** Messages delivered to readers. */
  messagesFetched: number
  /** Steps of fetches served by the cache. */
  cacheHits: number
  /** Steps of fetches that read the table. */
  cacheMisses: number
  /** Milliseconds since the epoch; 0 = none. */
  lastPublishTime: number
}

/** The part of the state of a topic that the metadata table holds. */
export interface TopicMetadata {
  properties: TopicProperties
  /** Negative: the topic is deleted, and this was its last generation. */
  generation: number
  ttlMilliseconds: number
}

/** Most ranges of transactions per topic that are retained for a rollback by pointer. */
const rangesMax = 10_000
/** The place before all messages, for a topic without messages. */
const nowhere: Place = { publishTimestamp: -1, sequenceId: 0xffff }

/** See the file header. */
export class TopicState {
  readonly id: TopicId
  readonly name: string
  readonly prefix: Buffer
  properties: TopicProperties
  /** Negative: the topic is deleted, and this was its last generation. */
  generation: number
  ttlMilliseconds: number
  rows: TopicRows
  readonly statistics: TopicStatistics = {
    publishRequested: 0,
    publishSucceeded: 0,
    publishFailed: 0,
    messagesPublished: 0,
    bytesPublished: 0,
    payloadsStored: 0,
    rolledBack: 0,
    fetches: 0,
    fetchesHeld: 0,
    messagesFetched: 0,
    cacheHits: 0,
    cacheMisses: 0,
    lastPublishTime: 0,
  }
  /** Created by the first publish. */
  readonly publishClock: AscendingClock
  readonly storeClock: AscendingClock
  /** The last durable message; readers stop here. */
  readable: Place
  /** The newest rows. */
  readonly cache: MessageCache<StoredBatch>
  readonly producers = new Producers()
  readonly #ranges = new Map<bigint, MessageRange[]>()
  readonly #waiters = new Set<() => void>()
  readonly #tables: { message: string; payload: string }

  constructor(
    id: TopicId,
    tables: { message: string; payload: string },
    state: TopicMetadata,
    lastTimestamp: number,
    cacheBytesMax: number,
  ) {
    this.id = id
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
    this.#ranges.clear()
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

  /** Records the range of a transaction's publish, for a rollback by pointer. */
  remember(pointer: bigint, range: MessageRange): void {
    const ranges = this.#ranges.get(pointer)
    if (ranges !== undefined) ranges.push(range)
    else this.#ranges.set(pointer, [range])
    if (this.#ranges.size > rangesMax) this.#ranges.delete(this.#ranges.keys().next().value!)
  }

  /** Removes and returns the known ranges of a transaction; undefined if none are known. */
  takeRanges(pointer: bigint): readonly MessageRange[] | undefined {
    const ranges = this.#ranges.get(pointer)
    this.#ranges.delete(pointer)
    return ranges
  }

  /** Number of waiting readers. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Wakes all waiting readers. */
  wake(): void {
    if (this.#waiters.size === 0) return
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const wake of waiters) wake()
  }

  /** Resolves after a change, after `milliseconds`, or when the signal fires. */
  async changed(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, milliseconds)
      const waiters = this.#waiters
      function end(): void {
        clearTimeout(timer)
        waiters.delete(end)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      waiters.add(end)
      signal?.addEventListener('abort', end)
    })
  }
}
