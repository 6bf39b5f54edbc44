/**
 * Message ids: 20 bytes, big-endian, whose order is the order of consumption within a topic.
 *
 *   publishTimestamp(8) sequenceId(2) payloadWriteTimestamp(8) payloadSequenceId(2)
 *
 * The last ten bytes are 0 for a message whose payload is in the message table. Topic, generation
 * and write pointer are not part of an id.
 */
import { assert, invalidArgument, checkBytes, checkObject, shown } from '../../api/index.js'

/** Length of a message id. */
export const messageIdBytes = 20

/** The numbers of a message id. Times are milliseconds; sequences are 0 to 65535. */
export interface MessageIdParts {
  /** Publish time, in milliseconds since the Unix epoch. */
  readonly publishTimestamp: number
  /** Position among the messages of that millisecond. */
  readonly sequenceId: number
  /**
   * Time at which the payload was stored before its publish; 0 for a directly published message.
   */
  readonly payloadWriteTimestamp: number
  /** Position among the payloads of that millisecond; 0 for a directly published message. */
  readonly payloadSequenceId: number
}

/**
 * Encodes an id, into `target` at `offset` if given. `ERR_INVALID_ARGUMENT` if the target is too
 * short, and for numbers out of their range.
 */
export function encodeMessageId(parts: MessageIdParts, target?: Buffer, offset = 0): Buffer {
  const { publishTimestamp, sequenceId, payloadWriteTimestamp, payloadSequenceId } = checkObject(
    parts,
    'the parts of a message id',
  )
  checkTime(publishTimestamp, 'publishTimestamp')
  checkSequence(sequenceId, 'sequenceId')
  checkTime(payloadWriteTimestamp, 'payloadWriteTimestamp')
  checkSequence(payloadSequenceId, 'payloadSequenceId')
  if (target !== undefined) checkBytes(target, 'the target of a message id')
  const bytes = target ?? Buffer.allocUnsafe(messageIdBytes)
  if (!Number.isInteger(offset) || offset < 0 || offset + messageIdBytes > bytes.length) {
    throw invalidArgument(`a message id takes ${messageIdBytes} bytes`)
  }
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  writeTime(view, offset, publishTimestamp)
  view.writeUInt16BE(sequenceId, offset + 8)
  writeTime(view, offset + 10, payloadWriteTimestamp)
  view.writeUInt16BE(payloadSequenceId, offset + 18)
  return bytes
}

/**
 * Decodes an id; `ERR_INVALID_ARGUMENT` unless it has 20 bytes. Times above 2^53 become Infinity:
 * such an id is a position after all messages.
 */
export function decodeMessageId(id: Uint8Array): MessageIdParts {
  if (checkBytes(id, 'a message id').length !== messageIdBytes) {
    throw invalidArgument(`a message id has ${messageIdBytes} bytes, got ${id.length}`)
  }
  const bytes = Buffer.from(id.buffer, id.byteOffset, id.byteLength)
  return {
    publishTimestamp: readTime(bytes, 0),
    sequenceId: bytes.readUInt16BE(8),
    payloadWriteTimestamp: readTime(bytes, 10),
    payloadSequenceId: bytes.readUInt16BE(18),
  }
}

/** A copy of an id, given as bytes or in hexadecimal. `ERR_INVALID_ARGUMENT`. */
export function checkMessageId(id: Uint8Array | string): Buffer {
  return encodeMessageId(decodeMessageId(typeof id === 'string' ? parseMessageId(id) : id))
}

/** The bytes of an id in hexadecimal; `ERR_INVALID_ARGUMENT` for any other text. */
export function parseMessageId(text: string): Buffer {
  if (typeof text === 'string' && /^([0-9a-f]{2})*$/i.test(text)) return Buffer.from(text, 'hex')
  throw invalidArgument('a message id is written in hexadecimal digits')
}

function checkTime(value: number, name: string): void {
  if (Number.isSafeInteger(value) && value >= 0) return
  throw invalidArgument(`${name} must be milliseconds, 0 to 2^53-1, got ${shown(value)}`)
}

function checkSequence(value: number, name: string): void {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffff) return
  throw invalidArgument(`${name} must be 0 to 65535, got ${shown(value)}`)
}

/** Writes milliseconds as eight bytes. */
export function writeTime(target: Buffer, offset: number, milliseconds: number): void {
  assert(Number.isSafeInteger(milliseconds) && milliseconds >= 0, 'a time is whole milliseconds')
  target.writeUInt32BE(Math.floor(milliseconds / 0x1_0000_0000), offset)
  target.writeUInt32BE(milliseconds % 0x1_0000_0000, offset + 4)
}

/** Reads eight bytes as milliseconds; Infinity above 2^53. */
export function readTime(source: Buffer, offset: number): number {
  const high = source.readUInt32BE(offset)
  if (high > 0x1f_ffff) return Infinity
  return high * 0x1_0000_0000 + source.readUInt32BE(offset + 4)
}
