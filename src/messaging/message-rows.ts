/**
 * The mutations that write messages, and what scans of the message table give back.
 *
 * All cells have the timestamp 1. Of cells with equal timestamps the last written counts, so a
 * rollback takes effect also if the clock of the machine has stepped back since the publish.
 */
import type { AtomicMutation, Result } from '../api/index.js'
import { writeTime, readTime } from './message-id.js'
import { messageTailBytes, payloadTailBytes } from './prune-job/row-layout.js'
import { encodePointer } from './rows.js'
import type { Place, StoredMessage } from './stored-message.js'

const timestamp = 1
const pointerColumn = 'd:t'
const payloadColumn = 'd:p'
const storedColumn = 'd:c'

/** Makes the rows of one generation of a topic. */
export class TopicRows {
  readonly #messageTable: string
  readonly #payloadTable: string
  /** `namespace:topic:` generation(4). */
  readonly #prefix: Buffer

  constructor(tables: { message: string; payload: string }, topic: Buffer, generation: number) {
    this.#messageTable = tables.message
    this.#payloadTable = tables.payload
    this.#prefix = Buffer.allocUnsafe(topic.length + 4)
    topic.copy(this.#prefix)
    this.#prefix.writeInt32BE(generation, topic.length)
  }

  /** The row of a message. */
  messageRow({ publishTimestamp, sequenceId }: Place): Buffer {
    const prefix = this.#prefix
    const row = Buffer.allocUnsafe(prefix.length + messageTailBytes - 4)
    prefix.copy(row)
    writeTime(row, prefix.length, publishTimestamp)
    row.writeUInt16BE(sequenceId, prefix.length + 8)
    return row
  }

  /** Writes a message. */
  message({ payload, pointer, ...place }: StoredMessage): AtomicMutation {
    const cells: Record<string, Buffer> = {}
    if (pointer !== undefined) cells[pointerColumn] = encodePointer(pointer)
    if (payload !== undefined) cells[payloadColumn] = payload
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** Changes the write pointer of a message. */
  pointer(place: Place, pointer: bigint): AtomicMutation {
    const cells = { [pointerColumn]: encodePointer(pointer) }
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** What the rows of the payloads of a transaction begin with. */
  payloadPrefix(pointer: bigint): Buffer {
    return Buffer.concat([this.#prefix, encodePointer(pointer)])
  }

  /** The row of a payload. */
  payloadRow(pointer: bigint, { publishTimestamp, sequenceId }: Place): Buffer {
    const prefix = this.#prefix
    const row = Buffer.allocUnsafe(prefix.length + payloadTailBytes - 4)
    prefix.copy(row)
    row.writeBigInt64BE(pointer, prefix.length)
    writeTime(row, prefix.length + 8, publishTimestamp)
    row.writeUInt16BE(sequenceId, prefix.length + 16)
    return row
  }

  /** Writes a payload; `place` is its write time and sequence. */
  payload(pointer: bigint, place: Place, payload: Buffer): AtomicMutation {
    const cells = { [storedColumn]: payload }
    const row = this.payloadRow(pointer, place)
    return { table: this.#payloadTable, row, mutations: [{ put: { cells, timestamp } }] }
  }
}

/** The message of a row of the message table. */
export function storedMessage(result: Result): StoredMessage {
  const row = result.row!
  const pointer = result.value(pointerColumn)
  return {
    publishTimestamp: readTime(row, row.length - 10),
    sequenceId: row.readUInt16BE(row.length - 2),
    pointer: pointer === undefined ? undefined : pointer.readBigInt64BE(),
    payload: result.value(payloadColumn),
  }
}

/** The place and the payload of a row of the payload table. */
export function storedPayload(result: Result): Place & { readonly payload: Buffer } {
  const row = result.row!
  return {
    publishTimestamp: readTime(row, row.length - 10),
    sequenceId: row.readUInt16BE(row.length - 2),
    payload: result.value(storedColumn) ?? Buffer.alloc(0),
  }
}
