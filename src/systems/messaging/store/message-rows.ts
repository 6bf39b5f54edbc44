/**
 * Encodes messages as mutations, and decodes the results of scans of the message table.
 *
 * All cells have the timestamp 1. Among equal timestamps the last written cell wins, so a rollback
 * takes effect even if the system clock has stepped back since the publish.
 */
import type { AtomicMutation, Result } from '../../../api/index.js'
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
import { encodePointer } from './rows.js'
import type { Place, StoredBatch } from './stored-batch.js'

const timestamp = 1
const pointerColumn = `${messagingFamily}:${pointerQualifier}`
const payloadColumn = `${messagingFamily}:${payloadQualifier}`
const storedColumn = `${messagingFamily}:${storedPayloadQualifier}`
const batchColumn = `${messagingFamily}:${batchQualifier}`

/** The rows of one generation of a topic. */
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

  /** The row whose last message has this place. */
  messageRow({ publishTimestamp, sequenceId }: Place): Buffer {
    const prefix = this.#prefix
    const row = Buffer.allocUnsafe(prefix.length + messageTailBytes - 4)
    prefix.copy(row)
    writeTime(row, prefix.length, publishTimestamp)
    row.writeUInt16BE(sequenceId, prefix.length + 8)
    return row
  }

  /** Writes messages. */
  messages({ payloads, pointer, ...place }: StoredBatch): AtomicMutation {
    const cells: Record<string, Buffer> = {}
    if (pointer !== undefined) cells[pointerColumn] = encodePointer(pointer)
    if (payloads !== undefined) {
      cells[payloads.isPacked ? batchColumn : payloadColumn] = payloads.value
    }
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** Changes the write pointer of a row. */
  pointer(place: Place, pointer: bigint): AtomicMutation {
    const cells = { [pointerColumn]: encodePointer(pointer) }
    const row = this.messageRow(place)
    return { table: this.#messageTable, row, mutations: [{ put: { cells, timestamp } }] }
  }

  /** The common prefix of the payload rows of a transaction. */
  payloadPrefix(pointer: bigint): Buffer {
    return Buffer.concat([this.#prefix, encodePointer(pointer)])
  }

  /** The row whose last payload has this place. */
  payloadRow(pointer: bigint, { publishTimestamp, sequenceId }: Place): Buffer {
    const prefix = this.#prefix
    const row = Buffer.allocUnsafe(prefix.length + payloadTailBytes - 4)
    prefix.copy(row)
    row.writeBigInt64BE(pointer, prefix.length)
    writeTime(row, prefix.length + 8, publishTimestamp)
    row.writeUInt16BE(sequenceId, prefix.length + 16)
    return row
  }

  /** Writes payloads; `place` has the write time and the sequence of the last one. */
  payloads(pointer: bigint, place: Place, payloads: PackedPayloads): AtomicMutation {
    const cells = { [payloads.isPacked ? batchColumn : storedColumn]: payloads.value }
    const row = this.payloadRow(pointer, place)
    return { table: this.#payloadTable, row, mutations: [{ put: { cells, timestamp } }] }
  }
}

/** The messages of a row of the message table. */
export function storedBatch(result: Result): StoredBatch {
  const row = result.row!
  const pointer = result.value(pointerColumn)
  return {
    publishTimestamp: readTime(row, row.length - 10),
    sequenceId: row.readUInt16BE(row.length - 2),
    pointer: pointer === undefined ? undefined : pointer.readBigInt64BE(),
    payloads: payloadsOf(result, payloadColumn),
  }
}

/** The payloads of a row of the payload table, with the place of the last one. */
export function storedPayloads(result: Result): Place & { readonly payloads: PackedPayloads } {
  const row = result.row!
  return {
    publishTimestamp: readTime(row, row.length - 10),
    sequenceId: row.readUInt16BE(row.length - 2),
    payloads: payloadsOf(result, storedColumn) ?? PackedPayloads.single(Buffer.alloc(0)),
  }
}

function payloadsOf(result: Result, column: string): PackedPayloads | undefined {
  const batch = result.value(batchColumn)
  if (batch !== undefined) return PackedPayloads.stored(batch)
  const payload = result.value(column)
  return payload === undefined ? undefined : PackedPayloads.single(payload)
}
