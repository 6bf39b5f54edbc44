/**
 * The rows of the message and the payload table (byte diagrams in FORMAT.md).
 *
 *   message row = namespace:topic: generation(4) publishTimestamp(8) sequenceId(2)
 *   payload row = namespace:topic: generation(4) writePointer(8) writeTimestamp(8) sequenceId(2)
 *
 * Numbers are big-endian and not negative, so the order of rows is the order of the numbers. These
 * functions serve writers and readers of single rows; flushes and compactions parse stored rows
 * with `StoredRow`, which allocates nothing.
 */
import { invalidArgument } from '../../../api/index.js'
import { messageTailBytes, payloadTailBytes } from '../prune-job/row-layout.js'
import { generationMax, parseTopicPrefix, topicPrefix, type TopicId } from '../topics/topic.js'

/** Coordinates of a message. */
export interface MessageRow {
  /** Topic of the message. */
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
  /** The topic of the payload. */
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

/** Encodes a message row; `ERR_INVALID_ARGUMENT` for a number out of its range. */
export function encodeMessageRow(row: MessageRow): Buffer {
  const target = withPrefix(row.id, row.generation, messageTailBytes)
  const tail = target.length - messageTailBytes
  writeTime(target, tail + 4, row.publishTimestamp, 'publish timestamp')
  writeSequence(target, tail + 12, row.sequenceId)
  return target
}

/** Encodes a payload row; `ERR_INVALID_ARGUMENT` for a number out of its range. */
export function encodePayloadRow(row: PayloadRow): Buffer {
  const target = withPrefix(row.id, row.generation, payloadTailBytes)
  const tail = target.length - payloadTailBytes
  encodePointer(row.writePointer).copy(target, tail + 4)
  if (row.writePointer <= 0n) throw invalidArgument('the write pointer of a payload is positive')
  writeTime(target, tail + 12, row.writeTimestamp, 'write timestamp')
  writeSequence(target, tail + 20, row.sequenceId)
  return target
}

/** Decodes a message row; undefined if the bytes are none. */
export function decodeMessageRow(row: Uint8Array): MessageRow | undefined {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const tail = bytes.length - messageTailBytes
  const start = decodeStart(bytes, tail)
  const publishTimestamp = start && readTime(bytes, tail + 4)
  if (start === undefined || publishTimestamp === undefined) return undefined
  return { ...start, publishTimestamp, sequenceId: bytes.readUInt16BE(tail + 12) }
}

/** Decodes a payload row; undefined if the bytes are none. */
export function decodePayloadRow(row: Uint8Array): PayloadRow | undefined {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const tail = bytes.length - payloadTailBytes
  const start = decodeStart(bytes, tail)
  const writeTimestamp = start && readTime(bytes, tail + 12)
  if (start === undefined || writeTimestamp === undefined) return undefined
  const writePointer = bytes.readBigInt64BE(tail + 4)
  if (writePointer <= 0n) return undefined
  return { ...start, writePointer, writeTimestamp, sequenceId: bytes.readUInt16BE(tail + 20) }
}

/**
 * Encodes a write pointer for the column `t`: eight bytes, two's complement. Positive: the
 * transaction of the message. Negative: the message was rolled back, or its transaction is invalid.
 */
export function encodePointer(pointer: bigint): Buffer {
  if (typeof pointer !== 'bigint' || pointer === 0n || BigInt.asIntN(64, pointer) !== pointer) {
    throw invalidArgument(`a write pointer is a bigint of 64 bits other than 0, got ${pointer}`)
  }
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

function withPrefix(id: TopicId, generation: number, tailBytes: number): Buffer {
  if (!Number.isInteger(generation) || generation < 1 || generation > generationMax) {
    throw invalidArgument(`a generation of data is 1 to ${generationMax}, got ${generation}`)
  }
  const prefix = topicPrefix(id)
  const target = Buffer.allocUnsafe(prefix.length + tailBytes)
  prefix.copy(target)
  target.writeInt32BE(generation, prefix.length)
  return target
}

function writeTime(target: Buffer, offset: number, milliseconds: number, what: string): void {
  if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
    throw invalidArgument(`${what} must be whole milliseconds, 0 to 2^53-1, got ${milliseconds}`)
  }
  target.writeBigInt64BE(BigInt(milliseconds), offset)
}

function writeSequence(target: Buffer, offset: number, sequenceId: number): void {
  if (!Number.isInteger(sequenceId) || sequenceId < 0 || sequenceId > 0xffff) {
    throw invalidArgument(`a sequence id is 0 to 65535, got ${sequenceId}`)
  }
  target.writeUInt16BE(sequenceId, offset)
}

function decodeStart(bytes: Buffer, tail: number): { id: TopicId; generation: number } | undefined {
  const id = tail > 0 ? parseTopicPrefix(bytes.subarray(0, tail)) : undefined
  const generation = id === undefined ? 0 : bytes.readInt32BE(tail)
  return id === undefined || generation < 1 ? undefined : { id, generation }
}

function readTime(bytes: Buffer, offset: number): number | undefined {
  const milliseconds = bytes.readBigInt64BE(offset)
  if (milliseconds < 0n || milliseconds > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return Number(milliseconds)
}
