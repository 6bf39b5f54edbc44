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
 * A row without payload stands for the payloads of its pointer. The place inside of them belongs to
 * that row alone, and only delivered messages count towards a limit.
 */
import type { Database, ResultScanner } from '../api/index.js'
import type { Transaction } from '../transactions/index.js'
import { storedMessage, storedPayload } from './message-rows.js'
import { encodeMessageId, type MessageIdParts } from './message-id.js'
import { comparePlaces, type Place, type StoredMessage } from './stored-message.js'
import type { TopicState } from './topic-state.js'
import type { Message } from './types.js'

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
    const rowsMax = Math.min(count, rowsPerStepMax)
    const rows = this.#fromCache(rowsMax) ?? (await this.#fromTable(rowsMax))
    const messages: Message[] = []
    for (const row of rows) {
      const answer = this.#judge(row)
      if (answer === 'hold') {
        this.isHeld = true
        this.isDone = true
        break
      }
      if (answer === 'accept') {
        if (row.payload !== undefined) messages.push(plainMessage(row, row.payload))
        else if (!(await this.#addPayloads(row, count, messages))) break
      }
      this.#pass(row)
      if (messages.length >= count) break
    }
    topic.statistics.messagesFetched += messages.length
    return messages
  }

  /** What becomes of a row. */
  #judge({ pointer }: StoredMessage): 'accept' | 'skip' | 'hold' {
    const transaction = this.#transaction
    if (transaction === undefined || pointer === undefined) return 'accept'
    if (pointer < 0n) return 'skip'
    if (transaction.isVisible(pointer)) return 'accept'
    return transaction.invalids.has(pointer) ? 'skip' : 'hold'
  }

  /** The reader is done with a row. */
  #pass({ publishTimestamp, sequenceId }: StoredMessage): void {
    this.#place = { publishTimestamp, sequenceId }
    this.#inclusive = false
    this.#payload = undefined
  }

  /** Rows from memory; undefined if they do not reach back far enough. */
  #fromCache(rowsMax: number): StoredMessage[] | undefined {
    const { cache, statistics } = this.topic
    const { first } = cache
    const place = this.#place as StoredMessage
    const reaches = first !== undefined && comparePlaces(first, place) <= 0
    const isYoung =
      this.#transaction === undefined || place.publishTimestamp >= this.#settings.cachedSince
    if (!reaches || !isYoung) {
      statistics.cacheMisses++
      return undefined
    }
    statistics.cacheHits++
    const scan = cache.scan(place, this.#inclusive, rowsMax)
    const rows: StoredMessage[] = []
    let bytes = 0
    for (const row of scan.entries) {
      if (comparePlaces(row, this.end) > 0 || bytes >= bytesPerStepMax) break
      rows.push(row)
      bytes += row.payload?.length ?? 0
    }
    scan.close()
    if (rows.length < rowsMax && bytes < bytesPerStepMax) this.isDone = true
    return rows
  }

  async #fromTable(rowsMax: number): Promise<StoredMessage[]> {
    const { rows: keys } = this.topic
    const scanner = this.#settings.database.table(this.#settings.tables.message).scan({
      startRow: keys.messageRow(this.#place),
      startInclusive: this.#inclusive,
      stopRow: keys.messageRow(this.end),
      stopInclusive: true,
      limit: rowsMax,
    })
    const rows: StoredMessage[] = []
    const isWhole = await this.#collect(scanner, (results) => {
      let bytes = 0
      for (const result of results) {
        const row = storedMessage(result)
        bytes += row.payload?.length ?? 0
        rows.push(row)
      }
      return bytes
    })
    if (isWhole && rows.length < rowsMax) this.isDone = true
    return rows
  }

  /** Adds payloads of a row; false if the count was reached and there may be more of them. */
  async #addPayloads(row: StoredMessage, count: number, messages: Message[]): Promise<boolean> {
    const pointer = row.pointer!
    const { rows: keys } = this.topic
    const isHere = comparePlaces(row, this.#place) === 0
    const from = isHere ? this.#payload : undefined
    const prefix = keys.payloadPrefix(pointer < 0n ? -pointer : pointer)
    const limit = count - messages.length
    const scanner = this.#settings.database.table(this.#settings.tables.payload).scan({
      startRow: from === undefined ? prefix : keys.payloadRow(abs(pointer), from),
      startInclusive: from?.inclusive ?? true,
      stopRow: behindPrefix(prefix),
      limit,
    })
    let last: Place | undefined
    let added = 0
    const isWhole = await this.#collect(scanner, (results) => {
      let bytes = 0
      for (const result of results) {
        const { payload, ...place } = storedPayload(result)
        messages.push(payloadMessage(row, place, payload))
        bytes += payload.length
        last = place
        added++
      }
      return bytes
    })
    if ((isWhole && added < limit) || last === undefined) return true
    this.#pass(row)
    this.#inclusive = true
    this.#payload = { ...last, inclusive: false }
    this.isDone = false
    return false
  }

  /** Reads a scan to its end, or until so many bytes; whether it was to its end. */
  async #collect(
    scanner: ResultScanner,
    add: (results: Awaited<ReturnType<ResultScanner['nextBatch']>>) => number,
  ): Promise<boolean> {
    let bytes = 0
    try {
      // Rows may be large: few at first, then more.
      for (let batchRows = 8; ; batchRows = Math.min(2 * batchRows, 128)) {
        const results = await scanner.nextBatch(batchRows)
        bytes += add(results)
        if (results.length < batchRows) return true
        if (bytes >= bytesPerStepMax) return false
      }
    } finally {
      scanner.close()
    }
  }
}

function abs(pointer: bigint): bigint {
  return pointer < 0n ? -pointer : pointer
}

function plainMessage({ publishTimestamp, sequenceId }: Place, payload: Buffer): Message {
  const none = { payloadWriteTimestamp: 0, payloadSequenceId: 0 }
  return { id: encodeMessageId({ publishTimestamp, sequenceId, ...none }), payload }
}

function payloadMessage(row: Place, place: Place, payload: Buffer): Message {
  const id = encodeMessageId({
    publishTimestamp: row.publishTimestamp,
    sequenceId: row.sequenceId,
    payloadWriteTimestamp: place.publishTimestamp,
    payloadSequenceId: place.sequenceId,
  })
  return { id, payload }
}

/** The first row behind all that begin with a prefix, which is not all FF. */
function behindPrefix(prefix: Buffer): Buffer {
  let end = prefix.length
  while (prefix[end - 1] === 0xff) end--
  const row = Buffer.from(prefix.subarray(0, end))
  row[end - 1]++
  return row
}
