/**
 * Reads the messages of a topic from a start, step by step. No resource is held between two steps:
 * no scan is open, so an idle consumer costs only this object.
 *
 * A step reads from the cache if the cache starts at or before the reader's place, otherwise from
 * the table. It ends at the last message that was readable when the fetch began.
 *
 * With a transaction, each row is filtered in order. Rolled back and invalid rows are skipped. At
 * the first row whose transaction may still commit, the reader *holds*: it ends, so that no later
 * message is seen before an earlier one.
 *
 * A row holds any number of messages; messages before the reader's place are skipped. A row without
 * payload refers to the stored payloads of its pointer. The offset in those payloads belongs to
 * that row alone, and only delivered messages count towards a limit.
 */
import { assert, type Database, type Result, type ResultScanner } from '../../../api/index.js'
import type { Transaction } from '../../transactions/index.js'
import { storedBatch, storedPayloads } from '../store/rows.js'
import { DeliveredMessage } from './delivered-message.js'
import type { MessageIdParts } from '../message-id.js'
import type { PackedPayloads } from '../store/packed-payloads.js'
import {
  comparePlaces,
  firstSequence,
  type Place,
  type StoredBatch,
} from '../store/stored-batch.js'
import type { TopicState } from '../live/topic-state.js'
import type { Message } from '../types.js'

/** The start of a reader. */
export interface ReaderStart extends MessageIdParts {
  readonly inclusive: boolean
}

/** The parts of the service that a reader needs. */
export interface ReaderSettings {
  readonly database: Database
  readonly tables: { readonly message: string; readonly payload: string }
  /** For transactions, messages published earlier are read from the table. */
  readonly cachedSince: number
}

const rowsPerStepMax = 512
const bytesPerStepMax = 1 << 20
/** Rows may be large, and the rows of one read are in memory together. */
const rowsPerRead = 4

/** The place in the stored payloads of the row at the reader's place. */
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
    // A place among stored payloads: their row is read again.
    this.#inclusive = true
    this.#payload = {
      publishTimestamp: payloadWriteTimestamp,
      sequenceId: payloadSequenceId,
      inclusive: start.inclusive,
    }
  }

  /** At most `count` further messages, possibly none; `isDone` says whether the end is reached. */
  async step(count: number): Promise<Message[]> {
    const { topic, end } = this
    const order = comparePlaces(this.#place, end)
    if (order > 0 || (order === 0 && !this.#inclusive) || topic.generation !== this.#generation) {
      this.isDone = true
      return []
    }
    const cached = this.#fromCache(count)
    const rows = cached ?? (await this.#fromTable(count))
    // The cache keeps its bytes; bytes of a scan belong to this reader alone.
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
    // The next step reads the rest of these rows again.
    if (rows.length > 0 && comparePlaces(this.#place, rows[rows.length - 1]) < 0 && !this.isHeld) {
      this.isDone = false
    }
    topic.statistics.messagesFetched += messages.length
    return messages
  }

  /** The visibility of a row for the transaction. */
  #judge({ pointer }: StoredBatch): 'accept' | 'skip' | 'hold' {
    const transaction = this.#transaction
    if (transaction === undefined || pointer === undefined) return 'accept'
    if (pointer < 0n) return 'skip'
    if (transaction.isVisible(pointer)) return 'accept'
    return transaction.invalids.has(pointer) ? 'skip' : 'hold'
  }

  /** Moves the reader's place after a row. */
  #pass({ publishTimestamp, sequenceId }: Place): void {
    const before = this.#place
    this.#place = { publishTimestamp, sequenceId }
    this.#inclusive = false
    this.#payload = undefined
    assert(comparePlaces(before, this.#place) <= 0, 'the place of a reader only ascends')
  }

  /** Rows from the cache; undefined if the cache starts after the reader's place. */
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

  /** Messages of a row after the reader's place; an upper bound, because the row may be skipped. */
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

  /** Adds messages of a row; false if the count was reached before the end of the row. */
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

  /** Adds stored payloads of a row; false if the count was reached and more may remain. */
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

  /** Reads a scan to its end, or until there is enough; returns whether the end was reached. */
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
        // A short page may also mean that an error follows, so only an empty page is the end.
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

/** The first row after all rows with a prefix. REQUIRES that the prefix is not all FF. */
function behindPrefix(prefix: Buffer): Buffer {
  let end = prefix.length
  while (prefix[end - 1] === 0xff) end--
  const row = Buffer.from(prefix.subarray(0, end))
  row[end - 1]++
  return row
}
