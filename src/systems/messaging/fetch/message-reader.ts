/**
 * Reads the messages of a topic from a start, step by step. No resource is held between two steps:
 * no scan is open, so an idle consumer costs only this object.
 *
 * The position of a reader is the id of the first message that it has not passed. A step reads from
 * the cache if the cache starts at or before that position, otherwise from the table. It ends at
 * the last message that was readable when the fetch began.
 *
 * With a transaction, each row is filtered in order. Rolled back and invalid rows are skipped. At
 * the first row whose transaction may still commit, the reader *holds*: it ends, so that no later
 * message is seen before an earlier one.
 *
 * A row without payload refers to the stored payloads of its pointer. The position in those
 * payloads belongs to that row alone, and only delivered messages count towards a limit.
 */
import { assert } from '../../../api/index.js'
import { eachRow } from '../../../comfort/tables.js'
import type { Transaction } from '../../transactions/index.js'
import type { TopicRows } from '../store/rows.js'
import { encodeMessageId, type MessageIdParts } from '../message-id.js'
import type { PackedPayloads } from '../store/packed-payloads.js'
import {
  comparePlaces,
  firstSequence,
  placeAfter,
  type Place,
  type StoredBatch,
} from '../store/stored-batch.js'
import type { ServiceParts } from '../live/topic-registry.js'
import type { TopicState } from '../live/topic-state.js'
import type { Message } from '../types.js'

const rowsPerStepMax = 512
const bytesPerStepMax = 1 << 20
/** Rows may be large, and the rows of one read are in memory together. */
const rowsPerRead = 4
const firstPlace: Place = { publishTimestamp: 0, sequenceId: 0 }
const lastPlace: Place = { publishTimestamp: Number.MAX_SAFE_INTEGER, sequenceId: 0xffff }

/** The rows of a step, and whether no row before the end of the fetch is left. */
interface StepRows {
  readonly rows: readonly StoredBatch[]
  readonly isWhole: boolean
}

export class MessageReader {
  readonly topic: TopicState
  /** The last place that is part of the fetch. */
  readonly end: Place
  isHeld = false
  isDone = false
  readonly #parts: ServiceParts
  /** For transactions, messages published earlier are read from the table. */
  readonly #cachedSince: number
  readonly #transaction: Transaction | undefined
  /** Of the generation in which the fetch began. */
  readonly #rows: TopicRows
  /** The id of the first message that may be delivered. */
  #next: MessageIdParts

  constructor(
    parts: ServiceParts,
    topic: TopicState,
    start: MessageIdParts,
    transaction: Transaction | undefined,
  ) {
    const { clock, cacheAgeMillisecondsMax } = parts.settings
    this.topic = topic
    this.end = topic.readable
    this.#parts = parts
    this.#cachedSince = clock.now() - cacheAgeMillisecondsMax
    this.#transaction = transaction
    this.#rows = topic.rows
    this.#next = start
  }

  /** At most `count` further messages, possibly none; `isDone` says whether the end is reached. */
  async step(count: number): Promise<Message[]> {
    const { topic } = this
    if (comparePlaces(this.#next, this.end) > 0 || topic.rows !== this.#rows) {
      this.isDone = true
      return []
    }
    const cached = this.#fromCache(count)
    const { rows, isWhole } = cached ?? (await this.#fromTable(count))
    // The cache keeps its bytes; bytes of a scan belong to this reader alone.
    const isShared = cached !== undefined
    const messages: Message[] = []
    for (const row of rows) {
      const visibility = this.#visibilityOf(row)
      if (visibility === 'hold') {
        this.isHeld = true
        break
      }
      if (visibility === 'accept') {
        const { payloads } = row
        const isPassed =
          payloads === undefined
            ? await this.#addStored(row, count, messages)
            : this.#addOwn(row, payloads, isShared, count, messages)
        if (!isPassed) break
      }
      this.#moveTo(placeIn(placeAfter(row)))
      if (messages.length >= count) break
    }
    // The next step reads rows that were not passed again.
    const last = rows.at(-1)
    const isPast = last === undefined || comparePlaces(this.#next, last) > 0
    this.isDone = this.isHeld || (isWhole && isPast)
    topic.statistics.messagesFetched += messages.length
    return messages
  }

  #visibilityOf({ pointer }: StoredBatch): 'accept' | 'skip' | 'hold' {
    const transaction = this.#transaction
    if (transaction === undefined || pointer === undefined) return 'accept'
    // A negative pointer: rolled back, or marked as invalid by a flush.
    if (pointer < 0n) return 'skip'
    if (transaction.isVisible(pointer)) return 'accept'
    return transaction.invalids.has(pointer) ? 'skip' : 'hold'
  }

  #moveTo(next: MessageIdParts): void {
    assert(comparePlaces(this.#next, next) <= 0, 'the place of a reader only ascends')
    this.#next = next
  }

  /** Rows from the cache; undefined if the cache starts after the reader's position. */
  #fromCache(count: number): StepRows | undefined {
    const { cache, statistics } = this.topic
    const { first } = cache
    const place = this.#next as Place as StoredBatch
    const reaches =
      first !== undefined &&
      comparePlaces({ ...first, sequenceId: firstSequence(first) }, place) <= 0
    const isYoung = this.#transaction === undefined || place.publishTimestamp >= this.#cachedSince
    if (!reaches || !isYoung) {
      statistics.cacheMisses++
      return undefined
    }
    statistics.cacheHits++
    const { rows, add } = this.#collector(count)
    const scan = cache.scan(place, true, Math.min(count, rowsPerStepMax))
    let isWhole = true
    for (const row of scan.entries) {
      if (comparePlaces(row, this.end) > 0) break
      isWhole = add(row)
      if (!isWhole) break
    }
    scan.close()
    return { rows, isWhole }
  }

  async #fromTable(count: number): Promise<StepRows> {
    const keys = this.#rows
    const { database, tables } = this.#parts
    const scanner = database.table(tables.message).scan({
      startRow: keys.messageRow(this.#next),
      stopRow: keys.messageRow(this.end),
      stopInclusive: true,
      limit: Math.min(count, rowsPerStepMax),
    })
    const { rows, add } = this.#collector(count)
    const isWhole = await eachRow(scanner, rowsPerRead, (result) => {
      const row = keys.messagesOf(result)
      return row === undefined || add(row)
    })
    return { rows, isWhole }
  }

  /** Collects the rows of a step; `add` returns false when the step has enough. */
  #collector(count: number): { rows: StoredBatch[]; add: (row: StoredBatch) => boolean } {
    const rowsMax = Math.min(count, rowsPerStepMax)
    const rows: StoredBatch[] = []
    let bytes = 0
    /** An upper bound, because rows may be skipped. */
    let found = 0
    const add = (row: StoredBatch): boolean => {
      rows.push(row)
      if (row.payloads !== undefined) {
        bytes += row.payloads.value.length
        found += row.payloads.count - countBefore(row, this.#next)
      }
      return rows.length < rowsMax && bytes < bytesPerStepMax && found < count
    }
    return { rows, add }
  }

  /** Adds messages of a row; false if the count was reached before the end of the row. */
  #addOwn(
    row: StoredBatch,
    payloads: PackedPayloads,
    isShared: boolean,
    count: number,
    messages: Message[],
  ): boolean {
    const from = countBefore(row, this.#next)
    const to = Math.min(payloads.count, from + count - messages.length)
    const { publishTimestamp } = row
    const first = placeIn({ publishTimestamp, sequenceId: firstSequence(row) + from })
    const own = isShared ? payloads.copies(from, to) : payloads.views(from, to)
    for (let i = 0; i < own.length; i++) {
      messages.push(new DeliveredMessage(own[i], first, false, i))
    }
    if (to === payloads.count) return true
    this.#moveTo({ ...first, sequenceId: first.sequenceId + own.length })
    return false
  }

  /** Adds stored payloads of a row; false if the count was reached and more may remain. */
  async #addStored(row: StoredBatch, count: number, messages: Message[]): Promise<boolean> {
    const pointer = row.pointer! < 0n ? -row.pointer! : row.pointer!
    const keys = this.#rows
    const { payloadWriteTimestamp, payloadSequenceId } = this.#next
    const isHere = comparePlaces(row, this.#next) === 0
    const start = isHere
      ? { publishTimestamp: payloadWriteTimestamp, sequenceId: payloadSequenceId }
      : firstPlace
    if (start.publishTimestamp > lastPlace.publishTimestamp) return true
    const { database, tables } = this.#parts
    const scanner = database.table(tables.payload).scan({
      startRow: keys.payloadRow(pointer, start),
      stopRow: keys.payloadRow(pointer, lastPlace),
      stopInclusive: true,
    })
    let bytes = 0
    return eachRow(scanner, rowsPerRead, (result) => {
      const stored = keys.payloadsOf(result)
      if (stored === undefined) return true
      const { payloads, publishTimestamp } = stored
      const from = countBefore(stored, start)
      const to = Math.min(payloads.count, from + count - messages.length)
      const sequenceId = firstSequence(stored) + from
      const first = placeIn(row, { publishTimestamp, sequenceId })
      payloads.views(from, to).forEach((payload, i) => {
        messages.push(new DeliveredMessage(payload, first, true, i))
      })
      bytes += payloads.value.length
      const last = { publishTimestamp, sequenceId: sequenceId + to - from - 1 }
      this.#moveTo(placeIn(row, placeAfter(last)))
      return messages.length < count && bytes < bytesPerStepMax
    })
  }
}

/** The messages of a row that lie before a place. */
function countBefore(
  row: Pick<StoredBatch, keyof Place | 'payloads'>,
  { publishTimestamp, sequenceId }: Place,
): number {
  if (row.publishTimestamp !== publishTimestamp) return 0
  return Math.max(0, sequenceId - firstSequence(row))
}

/** The id of a place, and of a place among the stored payloads of its row. */
function placeIn({ publishTimestamp, sequenceId }: Place, payload = firstPlace): MessageIdParts {
  return {
    publishTimestamp,
    sequenceId,
    payloadWriteTimestamp: payload.publishTimestamp,
    payloadSequenceId: payload.sequenceId,
  }
}

/** The first id after an id. */
export function idAfter(id: MessageIdParts): MessageIdParts {
  const { payloadWriteTimestamp: publishTimestamp, payloadSequenceId: sequenceId } = id
  return publishTimestamp === 0 && sequenceId === 0
    ? placeIn(placeAfter(id))
    : placeIn(id, placeAfter({ publishTimestamp, sequenceId }))
}

/**
 * A message as delivered to a reader. Most consumers keep only the id of the last message, so an id
 * is encoded on access.
 */
class DeliveredMessage implements Message {
  readonly payload: Buffer
  /** The id of the first message of the row; the following messages have the next sequences. */
  readonly #first: MessageIdParts
  readonly #isPayload: boolean
  readonly #index: number

  constructor(payload: Buffer, first: MessageIdParts, isPayload: boolean, index: number) {
    this.payload = payload
    this.#first = first
    this.#isPayload = isPayload
    this.#index = index
  }

  get id(): Buffer {
    const { payloadSequenceId, sequenceId } = this.#first
    return encodeMessageId(
      this.#isPayload
        ? { ...this.#first, payloadSequenceId: payloadSequenceId + this.#index }
        : { ...this.#first, sequenceId: sequenceId + this.#index },
    )
  }

  /** As plain data, for comparisons and logs. */
  toJSON(): { id: string; payload: string } {
    return { id: this.id.toString('hex'), payload: this.payload.toString('base64') }
  }
}
