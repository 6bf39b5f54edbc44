/**
 * The rows of the message and the payload table (byte diagrams in FORMAT.md).
 *
 *   message row = namespace:topic: generation(4) publishTimestamp(8) sequenceId(2)
 *   payload row = namespace:topic: generation(4) writePointer(8) writeTimestamp(8) sequenceId(2)
 *
 * Numbers are big-endian and not negative, so the order of rows is the order of the numbers.
 *
 * All cells have the timestamp 1. Among equal timestamps the last written cell wins, so a rollback
 * takes effect even if the system clock has stepped back since the publish.
 */
import { assert, type AtomicMutation, type Result } from '../../../api/index.js'
import { corrupt } from '../../bytes/byte-reader.js'
import { writeTime, readTime } from '../message-id.js'
import { PackedPayloads } from './packed-payloads.js'
import {
  batchQualifier,
  messageTailBytes,
  messagingFamily,
  payloadQualifier,
  payloadTailBytes,
  pointerQualifier,
  storedPayloadQualifier,
} from '../prune-job/row-layout.js'
import type { Place, StoredBatch } from './stored-batch.js'
import { parseTopicPrefix, type TopicId } from '../topics/topic.js'

const timestamp = 1
/** Its positive number does not fit into eight bytes. */
const pointerEnd = -(2n ** 63n)
const pointerColumn = `${messagingFamily}:${pointerQualifier}`
const payloadColumn = `${messagingFamily}:${payloadQualifier}`
const storedColumn = `${messagingFamily}:${storedPayloadQualifier}`
const batchColumn = `${messagingFamily}:${batchQualifier}`

export class TopicRows {
  /** `namespace:topic:` generation(4). */
  readonly prefix: Buffer
  readonly #messageTable: string
  readonly #payloadTable: string

  constructor(tables: { message: string; payload: string }, topic: Buffer, generation: number) {
    assert(Number.isInteger(generation) && generation > 0, 'data has a generation above 0')
    this.#messageTable = tables.message
    this.#payloadTable = tables.payload
    this.prefix = Buffer.allocUnsafe(topic.length + 4)
    topic.copy(this.prefix)
    this.prefix.writeInt32BE(generation, topic.length)
  }

  /** The row of a producer or a consumer. */
  named(name: string): Buffer {
    return Buffer.concat([this.prefix, Buffer.from(name, 'utf8')])
  }

  /** The row whose last message has this place. */
  messageRow(place: Place): Buffer {
    const { prefix } = this
    const row = Buffer.allocUnsafe(prefix.length + messageTailBytes - 4)
    prefix.copy(row)
    return writePlace(row, prefix.length, place)
  }

  messages({ payloads, pointer, ...place }: StoredBatch): AtomicMutation {
    const cells: Record<string, Buffer> = {}
    if (pointer !== undefined) cells[pointerColumn] = encodePointer(pointer)
    if (payloads !== undefined) {
      cells[payloads.isPacked ? batchColumn : payloadColumn] = payloads.value
    }
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** The messages of a row; undefined for a row of another form, which is foreign. */
  messagesOf(result: Result): StoredBatch | undefined {
    const row = result.row!
    if (row.length !== this.prefix.length + messageTailBytes - 4) return undefined
    const place = placeOfRow(row)
    const stored = result.value(pointerColumn)
    const pointer = stored?.length === 8 ? stored.readBigInt64BE() : undefined
    const payloads = payloadsOf(result, payloadColumn)
    const isMissing = pointer === undefined && (stored !== undefined || payloads === undefined)
    if (isMissing || pointer === 0n || pointer === pointerEnd) {
      throw damagedRow(row, 'no write pointer')
    }
    checkCount(row, place, payloads)
    const { publishTimestamp, sequenceId } = place
    // Not by a spread, which costs more than the rest of this function.
    return { publishTimestamp, sequenceId, pointer, payloads }
  }

  /** The stored payloads of a row with the place of the last one; undefined for a foreign row. */
  payloadsOf(result: Result): (Place & { readonly payloads: PackedPayloads }) | undefined {
    const row = result.row!
    if (row.length !== this.prefix.length + payloadTailBytes - 4) return undefined
    const place = placeOfRow(row)
    const payloads = payloadsOf(result, storedColumn) ?? PackedPayloads.single(Buffer.alloc(0))
    checkCount(row, place, payloads)
    return { ...place, payloads }
  }

  /** Changes the write pointer of a row. */
  pointer(place: Place, pointer: bigint): AtomicMutation {
    const cells = { [pointerColumn]: encodePointer(pointer) }
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** The row whose last payload has this place. */
  payloadRow(pointer: bigint, place: Place): Buffer {
    assert(pointer > 0n, 'stored payloads belong to a transaction')
    const { prefix } = this
    const row = Buffer.allocUnsafe(prefix.length + payloadTailBytes - 4)
    prefix.copy(row)
    row.writeBigInt64BE(pointer, prefix.length)
    return writePlace(row, prefix.length + 8, place)
  }

  /** Writes payloads; `place` has the write time and the sequence of the last one. */
  payloads(pointer: bigint, place: Place, payloads: PackedPayloads): AtomicMutation {
    const cells = { [payloads.isPacked ? batchColumn : storedColumn]: payloads.value }
    const row = this.payloadRow(pointer, place)
    return { table: this.#payloadTable, row, mutations: [{ put: { cells, timestamp } }] }
  }
}

function writePlace(row: Buffer, at: number, { publishTimestamp, sequenceId }: Place): Buffer {
  assert(Number.isInteger(sequenceId), 'a sequence is a whole number')
  writeTime(row, at, publishTimestamp)
  row.writeUInt16BE(sequenceId, at + 8)
  return row
}

function placeOfRow(row: Buffer): Place {
  const end = row.length
  return { publishTimestamp: readTime(row, end - 10), sequenceId: row.readUInt16BE(end - 2) }
}

/** The sequences of a row end with that of its key, and begin at 0 or later. */
function checkCount(row: Buffer, { sequenceId }: Place, payloads?: PackedPayloads): void {
  const count = payloads?.count ?? 1
  if (count > sequenceId + 1) throw damagedRow(row, `${count} messages up to ${sequenceId}`)
}

function damagedRow(row: Buffer, what: string): Error {
  return corrupt(`the row 0x${row.toString('hex')} of messages is damaged: it has ${what}`)
}

function payloadsOf(result: Result, column: string): PackedPayloads | undefined {
  const batch = result.value(batchColumn)
  if (batch !== undefined) return PackedPayloads.stored(batch)
  const payload = result.value(column)
  return payload === undefined ? undefined : PackedPayloads.single(payload)
}

/** Coordinates of a message. */
export interface MessageRow {
  readonly id: TopicId
  /** 1 to 2^31-1. */
  readonly generation: number
  /** Milliseconds since the epoch, 0 to 2^53-1. */
  readonly publishTimestamp: number
  /** 0 to 65535. */
  readonly sequenceId: number
}

/** Coordinates of a stored payload. */
export interface PayloadRow {
  readonly id: TopicId
  /** 1 to 2^31-1. */
  readonly generation: number
  /** Write pointer of the transaction, 1 to 2^63-1. */
  readonly writePointer: bigint
  /** Milliseconds since the epoch, 0 to 2^53-1. */
  readonly writeTimestamp: number
  /** 0 to 65535. */
  readonly sequenceId: number
}

/** Decodes a message row; undefined if the bytes are none. */
export function decodeMessageRow(row: Uint8Array): MessageRow | undefined {
  const found = decodeRow(row, messageTailBytes)
  if (found === undefined) return undefined
  const { id, generation, time: publishTimestamp, sequenceId } = found
  return { id, generation, publishTimestamp, sequenceId }
}

/** Decodes a payload row; undefined if the bytes are none. */
export function decodePayloadRow(row: Uint8Array): PayloadRow | undefined {
  const found = decodeRow(row, payloadTailBytes)
  if (found === undefined) return undefined
  const { id, generation, tail, time: writeTimestamp, sequenceId } = found
  const writePointer = tail.readBigInt64BE(4)
  return writePointer > 0n
    ? { id, generation, writePointer, writeTimestamp, sequenceId }
    : undefined
}

function decodeRow(row: Uint8Array, tailBytes: number) {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const id = parseTopicPrefix(bytes.subarray(0, Math.max(0, bytes.length - tailBytes)))
  if (id === undefined) return undefined
  const tail = bytes.subarray(bytes.length - tailBytes)
  const generation = tail.readInt32BE(0)
  const time = readTime(tail, tailBytes - 10)
  if (generation < 1 || time === Infinity) return undefined
  return { id, generation, tail, time, sequenceId: tail.readUInt16BE(tailBytes - 2) }
}

/**
 * Encodes a write pointer for the column `t`: eight bytes, two's complement. Positive: the
 * transaction of the message. Negative: the message was rolled back, or its transaction is invalid.
 */
export function encodePointer(pointer: bigint): Buffer {
  assert(pointer !== 0n, 'a write pointer is not 0')
  const value = Buffer.allocUnsafe(8)
  value.writeBigInt64BE(pointer)
  return value
}

/** Decodes the column `t`; undefined if it is 0 or does not have eight bytes. */
export function decodePointer(value: Uint8Array): bigint | undefined {
  if (value.length !== 8) return undefined
  const pointer = Buffer.from(value.buffer, value.byteOffset, 8).readBigInt64BE()
  return pointer === 0n ? undefined : pointer
}
