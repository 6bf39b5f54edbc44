/**
 * Reads the messages of a topic from a start on, step by step. Between two steps nothing is held:
 * no scan is open, so a consumer that stops reading costs nothing but this object.
 *
 * A step reads from the newest messages in memory if they begin at or before its place, else from
 * the table. It ends at the last message that was readable when the fetch began.
 *
 * With a transaction each row is judged in order: rolled back and invalid ones are passed over, and
 * at the first one whose transaction may still commit the reader *holds*: it ends, so that no later
 * message is seen before an earlier one.
 *
 * A row holds any number of messages; those before the place of the reader are left out. A row
 * without payload stands for the payloads of its pointer. The place inside of them belongs to that
 * row alone, and only delivered messages count towards a limit.
 */
import type { Database, Result, ResultScanner } from '../../../api/index.js'
import type { Transaction } from '../../transactions/index.js'
import { storedBatch, storedPayloads } from './message-rows.js'
import { DeliveredMessage } from '../fetch/delivered-message.js'
import type { MessageIdParts } from '../message-id.js'
import type { PackedPayloads } from './packed-payloads.js'
import { comparePlaces, firstSequence, type Place, type StoredBatch } from './stored-batch.js'
import type { TopicState } from '../topics/topic-state.js'
import type { Message } from '../types.js'

/** Where a reader starts. */
export interface ReaderStart extends MessageIdParts {
  readonly inclusive: boolean
}

/** What a reader needs of its service. */
export interface ReaderSettings {
  readonly database: Database
  readonly tables: { readonly message: string; readonly payload: string }
  /** Messages that were published before it are read from the table for transactions. */
  readonly cachedSince: number
}

const rowsPerStepMax = 512
const bytesPerStepMax = 1 << 20
/** Rows may be large, and those of one read are in memory together. */
const rowsPerRead = 4

/** How far inside of the payloads of the row at the reader's place. */
interface PayloadPlace extends Place {
  readonly inclusive: boolean
}

export class MessageReader {
  readonly topic: TopicState
  /** The last place that is part of the fetch. */
  readonly end: Place
  isHeld = false
  isDone = false
  readonly #settings: ReaderSettings
  readonly #transaction: Transaction | undefined
  readonly #generation: number
  #place: Place
  #inclusive: boolean
  #payload: PayloadPlace | undefined

  constructor(
    topic: TopicState,
    start: ReaderStart,
    transaction: Transaction | undefined,
    settings: ReaderSettings,
  ) {
    this.topic = topic
    this.end = topic.readable
    this.#settings = settings
    this.#transaction = transaction
    this.#generation = topic.generation
    const { publishTimestamp, sequenceId, payloadWriteTimestamp, payloadSequenceId } = start
    this.#place = { publishTimestamp, sequenceId }
    this.#inclusive = start.inclusive
    if (payloadWriteTimestamp === 0 && payloadSequenceId === 0) return
    // A place inside of payloads: their row is looked at again.
    this.#inclusive = true
    this.#payload = {
      publishTimestamp: payloadWriteTimestamp,
      sequenceId: payloadSequenceId,
      inclusive: start.inclusive,
    }
  }

  /** At most `count` further messages, maybe none; `isDone` says whether there may be more. */
  async step(count: number): Promise<Message[]> {
    const { topic, end } = this
    const order = comparePlaces(this.#place, end)
    if (order > 0 || (order === 0 && !this.#inclusive) || topic.generation !== this.#generation) {
      this.isDone = true
      return []
    }
    const cached = this.#fromCache(count)
    const rows = cached ?? (await this.#fromTable(count))
    // The cache keeps its bytes; those of a scan are nobody else's.
    const isShared = cached !== undefined
    const messages: Message[] = []
    for (const row of rows) {
      const answer = this.#judge(row)
      if (answer === 'hold') {
        this.isHeld = true
        this.isDone = true
        break
      }
      if (answer === 'accept') {
        const { payloads } = row
        if (payloads !== undefined) {
          if (!this.#addMessages(row, payloads, isShared, count, messages)) break
        } else if (!(await this.#addPayloads(row, count, messages))) break
      }
      this.#pass(row)
      if (messages.length >= count) break
    }
    // Rows that were read and not passed are read again by the next step.
    if (rows.length > 0 && comparePlaces(this.#place, rows[rows.length - 1]) < 0 && !this.isHeld) {
      this.isDone = false
    }
    topic.statistics.messagesFetched += messages.length
    return messages
  }

  /** What becomes of a row. */
  #judge({ pointer }: StoredBatch): 'accept' | 'skip' | 'hold' {
    const transaction = this.#transaction
    if (transaction === undefined || pointer === undefined) return 'accept'
    if (pointer < 0n) return 'skip'
    if (transaction.isVisible(pointer)) return 'accept'
    return transaction.invalids.has(pointer) ? 'skip' : 'hold'
  }

  /** The reader is done with a row. */
  #pass({ publishTimestamp, sequenceId }: Place): void {
    this.#place = { publishTimestamp, sequenceId }
    this.#inclusive = false
    this.#payload = undefined
  }

  /** Rows from memory; undefined if they do not reach back far enough. */
  #fromCache(count: number): StoredBatch[] | undefined {
    const { cache, statistics } = this.topic
    const { first } = cache
    const place = this.#place as StoredBatch
    const reaches =
      first !== undefined &&
      comparePlaces({ ...first, sequenceId: firstSequence(first) }, place) <= 0
    const isYoung =
      this.#transaction === undefined || place.publishTimestamp >= this.#settings.cachedSince
    if (!reaches || !isYoung) {
      statistics.cacheMisses++
      return undefined
    }
    statistics.cacheHits++
    const rowsMax = Math.min(count, rowsPerStepMax)
    const scan = cache.scan(place, this.#inclusive, rowsMax)
    const rows: StoredBatch[] = []
    let bytes = 0
    let found = 0
    for (const row of scan.entries) {
      if (comparePlaces(row, this.end) > 0) break
      rows.push(row)
      bytes += row.payloads?.value.length ?? 0
      found += this.#countAhead(row)
      if (bytes >= bytesPerStepMax || found >= count) break
    }
    scan.close()
    if (rows.length < rowsMax && bytes < bytesPerStepMax && found < count) this.isDone = true
    return rows
  }

  async #fromTable(count: number): Promise<StoredBatch[]> {
    const { rows: keys } = this.topic
    const rowsMax = Math.min(count, rowsPerStepMax)
    const scanner = this.#settings.database.table(this.#settings.tables.message).scan({
      startRow: keys.messageRow(this.#place),
      startInclusive: this.#inclusive,
      stopRow: keys.messageRow(this.end),
      stopInclusive: true,
      limit: rowsMax,
    })
    const rows: StoredBatch[] = []
    let found = 0
    const isWhole = await this.#collect(scanner, (result) => {
      const row = storedBatch(result)
      rows.push(row)
      found += this.#countAhead(row)
      return { bytes: row.payloads?.value.length ?? 0, isEnough: found >= count }
    })
    if (isWhole && rows.length < rowsMax) this.isDone = true
    return rows
  }

  /** Messages of a row that lie behind the reader's place; at most, if it is none of the first. */
  #countAhead(row: StoredBatch): number {
    if (row.payloads === undefined) return 0
    return row.payloads.count - this.#messagesBefore(row)
  }

  /** Messages of a row that lie before the reader's place. */
  #messagesBefore(row: StoredBatch): number {
    const { publishTimestamp, sequenceId } = this.#place
    if (row.publishTimestamp !== publishTimestamp) return 0
    return Math.max(0, sequenceId + (this.#inclusive ? 0 : 1) - firstSequence(row))
  }

  /** Adds messages of a row; false if the count was reached and there are more of them. */
  #addMessages(
    row: StoredBatch,
    payloads: PackedPayloads,
    isShared: boolean,
    count: number,
    messages: Message[],
  ): boolean {
    const from = this.#messagesBefore(row)
    const to = Math.min(payloads.count, from + count - messages.length)
    const first = firstSequence(row)
    const { publishTimestamp } = row
    const start = {
      publishTimestamp,
      sequenceId: first + from,
      payloadWriteTimestamp: 0,
      payloadSequenceId: 0,
    }
    const own = isShared ? payloads.copies(from, to) : payloads.views(from, to)
    for (let i = 0; i < own.length; i++) {
      messages.push(new DeliveredMessage(own[i], start, false, i))
    }
    if (to === payloads.count) return true
    this.#pass({ publishTimestamp, sequenceId: first + to - 1 })
    return false
  }

  /** Adds payloads of a row; false if the count was reached and there may be more of them. */
  async #addPayloads(row: StoredBatch, count: number, messages: Message[]): Promise<boolean> {
    const pointer = abs(row.pointer!)
    const { rows: keys } = this.topic
    const isHere = comparePlaces(row, this.#place) === 0
    const start = isHere ? this.#payload : undefined
    const prefix = keys.payloadPrefix(pointer)
    const scanner = this.#settings.database.table(this.#settings.tables.payload).scan({
      startRow: start === undefined ? prefix : keys.payloadRow(pointer, start),
      startInclusive: start?.inclusive ?? true,
      stopRow: behindPrefix(prefix),
    })
    let last: Place | undefined
    let isCut = false
    const isWhole = await this.#collect(scanner, (result) => {
      const { payloads, publishTimestamp, sequenceId } = storedPayloads(result)
      const first = sequenceId + 1 - payloads.count
      const before =
        start?.publishTimestamp === publishTimestamp
          ? Math.max(0, start.sequenceId + (start.inclusive ? 0 : 1) - first)
          : 0
      const to = Math.min(payloads.count, before + count - messages.length)
      isCut = to < payloads.count
      const id = {
        publishTimestamp: row.publishTimestamp,
        sequenceId: row.sequenceId,
        payloadWriteTimestamp: publishTimestamp,
        payloadSequenceId: first + before,
      }
      payloads.views(before, to).forEach((payload, i) => {
        messages.push(new DeliveredMessage(payload, id, true, i))
      })
      last = { publishTimestamp, sequenceId: first + to - 1 }
      return { bytes: payloads.value.length, isEnough: messages.length >= count }
    })
    if ((isWhole && !isCut) || last === undefined) return true
    this.#place = { publishTimestamp: row.publishTimestamp, sequenceId: row.sequenceId }
    this.#inclusive = true
    this.#payload = { ...last, inclusive: false }
    this.isDone = false
    return false
  }

  /** Reads a scan to its end, or until there is enough; whether it was to its end. */
  async #collect(
    scanner: ResultScanner,
    add: (result: Result) => { bytes: number; isEnough: boolean },
  ): Promise<boolean> {
    let read = 0
    try {
      for (;;) {
        const results = await scanner.nextBatch(rowsPerRead)
        for (const result of results) {
          const { bytes, isEnough } = add(result)
          read += bytes
          if (isEnough) return false
        }
        // Fewer rows may also mean that an error follows.
        if (results.length === 0) return true
        if (read >= bytesPerStepMax) return false
      }
    } finally {
      scanner.close()
    }
  }
}

function abs(pointer: bigint): bigint {
  return pointer < 0n ? -pointer : pointer
}

/** The first row behind all that begin with a prefix, which is not all FF. */
function behindPrefix(prefix: Buffer): Buffer {
  let end = prefix.length
  while (prefix[end - 1] === 0xff) end--
  const row = Buffer.from(prefix.subarray(0, end))
  row[end - 1]++
  return row
}
