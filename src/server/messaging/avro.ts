/** The Avro binary form of the messaging requests and responses, through the package `avsc`. */
import { checkBody, malformed, type Shape } from './avro-check.js'
import {
  messageIdBytes,
  type Message,
  type MessageRange,
  type PublishRequest,
  type PublishResponse,
  type TopicProperties,
} from '../../systems/messaging/index.js'
import { requirePackage } from '../../api/index.js'
import type avsc from 'avsc'

/** The fields of a request to read, as in the schema. */
export interface ConsumeFields {
  readonly startFrom: Buffer | bigint | null
  readonly inclusive: boolean
  readonly limit: number | null
  readonly transaction: Buffer | null
}

const optionalLong: Shape = { union: ['long', 'null'] }
const publishShape: Shape[] = [optionalLong, { array: 'bytes' }]
const rollbackShape: Shape[] = [optionalLong, 'long', 'int', 'long', 'int']
const consumeShape: Shape[] = [
  { union: ['bytes', 'long', 'null'] },
  'boolean',
  { union: ['int', 'null'] },
  { union: ['bytes', 'null'] },
]
const propertiesShape: Shape[] = [{ map: 'bytes' }]
const namesShape: Shape[] = [{ array: 'bytes' }]

const longOrNull = ['long', 'null']
const publishSchema = {
  type: 'record',
  name: 'PublishRequest',
  fields: [
    { name: 'transactionWritePointer', type: longOrNull },
    { name: 'messages', type: { type: 'array', items: 'bytes' } },
  ],
}
const responseSchema = {
  type: 'record',
  name: 'PublishResponse',
  fields: [
    { name: 'transactionWritePointer', type: longOrNull },
    {
      name: 'rollbackRange',
      type: {
        type: 'record',
        name: 'RollbackRange',
        fields: [
          { name: 'startTimestamp', type: 'long' },
          { name: 'startSequenceId', type: 'int' },
          { name: 'endTimestamp', type: 'long' },
          { name: 'endSequenceId', type: 'int' },
        ],
      },
    },
  ],
}
const consumeSchema = {
  type: 'record',
  name: 'ConsumeRequest',
  fields: [
    { name: 'startFrom', type: ['bytes', 'long', 'null'] },
    { name: 'inclusive', type: 'boolean', default: true },
    { name: 'limit', type: ['int', 'null'] },
    { name: 'transaction', type: ['bytes', 'null'] },
  ],
}

/** Encodes and decodes; loads `avsc`, or fails with `ERR_MISSING_PACKAGE`. */
export class AvroForms {
  readonly #publish: avsc.Type
  readonly #response: avsc.Type
  readonly #consume: avsc.Type
  readonly #properties: avsc.Type
  readonly #names: avsc.Type

  constructor() {
    const { Type, types } = requirePackage<typeof avsc>('avsc', 'the Avro form of messaging')
    // Write pointers exceed 2^53, so all longs are bigints.
    const long = types.LongType.__with({
      fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
      toBuffer: (value: bigint) => {
        const buffer = Buffer.allocUnsafe(8)
        buffer.writeBigInt64LE(value)
        return buffer
      },
      fromJSON: (value: unknown) => BigInt(value as string),
      toJSON: String,
      isValid: (value: unknown) => typeof value === 'bigint',
      compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
    })
    const make = (schema: object): avsc.Type =>
      Type.forSchema(schema as avsc.Schema, { registry: { long }, wrapUnions: true })
    this.#publish = make(publishSchema)
    this.#response = make(responseSchema)
    this.#consume = make(consumeSchema)
    this.#properties = make({ type: 'map', values: 'string' })
    this.#names = make({ type: 'array', items: 'string' })
  }

  encodeProperties(properties: TopicProperties): Buffer {
    return this.#properties.toBuffer({ ...properties })
  }

  decodeProperties(body: Buffer): TopicProperties {
    return decode(this.#properties, body, propertiesShape) as TopicProperties
  }

  /** Encodes names of topics. */
  encodeNames(names: readonly string[]): Buffer {
    return this.#names.toBuffer([...names])
  }

  decodeNames(body: Buffer): string[] {
    return decode(this.#names, body, namesShape) as string[]
  }

  encodePublish({ transactionWritePointer, messages }: PublishRequest): Buffer {
    return this.#publish.toBuffer({
      transactionWritePointer: optional(transactionWritePointer, 'long'),
      messages: messages.map((message) => {
        if (typeof message === 'string') return Buffer.from(message, 'utf8')
        // A view suffices: the bytes are copied into the body in the same turn.
        return Buffer.from(message.buffer, message.byteOffset, message.byteLength)
      }),
    })
  }

  decodePublish(body: Buffer): PublishRequest {
    const { transactionWritePointer, messages } = decode(this.#publish, body, publishShape) as {
      transactionWritePointer: { long: bigint } | null
      messages: Buffer[]
    }
    if (transactionWritePointer === null) return { messages }
    return { messages, transactionWritePointer: transactionWritePointer.long }
  }

  encodeResponse({ transactionWritePointer, rollbackRange }: PublishResponse): Buffer {
    return this.#response.toBuffer({
      transactionWritePointer: optional(transactionWritePointer, 'long'),
      rollbackRange: {
        ...rollbackRange,
        startTimestamp: BigInt(rollbackRange.startTimestamp),
        endTimestamp: BigInt(rollbackRange.endTimestamp),
      },
    })
  }

  decodeResponse(body: Buffer): PublishResponse {
    const { transactionWritePointer, rollbackRange } = decode(
      this.#response,
      body,
      rollbackShape,
    ) as {
      transactionWritePointer: { long: bigint } | null
      rollbackRange: Record<keyof MessageRange, number | bigint>
    }
    return {
      transactionWritePointer: transactionWritePointer?.long,
      rollbackRange: {
        startTimestamp: Number(rollbackRange.startTimestamp),
        startSequenceId: Number(rollbackRange.startSequenceId),
        endTimestamp: Number(rollbackRange.endTimestamp),
        endSequenceId: Number(rollbackRange.endSequenceId),
      },
    }
  }

  encodeConsume({ startFrom, inclusive, limit, transaction }: ConsumeFields): Buffer {
    const start = typeof startFrom === 'bigint' ? { long: startFrom } : optional(startFrom, 'bytes')
    return this.#consume.toBuffer({
      startFrom: start,
      inclusive,
      limit: optional(limit, 'int'),
      transaction: optional(transaction, 'bytes'),
    })
  }

  decodeConsume(body: Buffer): ConsumeFields {
    const { startFrom, inclusive, limit, transaction } = decode(
      this.#consume,
      body,
      consumeShape,
    ) as {
      startFrom: { bytes: Buffer } | { long: bigint } | null
      inclusive: boolean
      limit: { int: number } | null
      transaction: { bytes: Buffer } | null
    }
    const start =
      startFrom === null ? null : 'bytes' in startFrom ? startFrom.bytes : startFrom.long
    return {
      startFrom: start,
      inclusive,
      limit: limit?.int ?? null,
      transaction: transaction?.bytes ?? null,
    }
  }
}

/** One block of the array of a response: its count, then its messages. */
export function encodeBlock(messages: readonly Message[]): Buffer {
  let bytes = 10
  // The size is not computed from the id, because each access to an id encodes it.
  for (const { payload } of messages) bytes += messageIdBytes + payload.length + 20
  const block = Buffer.allocUnsafe(bytes)
  let at = writeVarint(block, 0, messages.length)
  for (const { id, payload } of messages) {
    at = writeVarint(block, at, id.length)
    at += id.copy(block, at)
    at = writeVarint(block, at, payload.length)
    at += payload.copy(block, at)
  }
  return block.subarray(0, at)
}

/** The end of the array of a response. */
export const blocksEnd = Buffer.from([0])

/** A non-negative number below 2^31 as Avro's zigzag varint. */
function writeVarint(target: Buffer, offset: number, value: number): number {
  let rest = 2 * value
  let at = offset
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80
  target[at++] = rest
  return at
}

function optional<K extends string, V>(value: V | null | undefined, name: K) {
  return value === null || value === undefined ? null : { [name]: value }
}

function decode(type: avsc.Type, body: Buffer, shape: readonly Shape[]): unknown {
  checkBody(body, shape)
  try {
    return type.fromBuffer(body) as unknown
  } catch (cause) {
    throw malformed((cause as Error).message)
  }
}
