/** The requests and answers of messaging, and the streamed messages of a poll. */
import { messageIdBytes, type Message } from '../index.js'
import {
  decodeTransaction,
  encodeTransaction,
  transactionFromJson,
  type Transaction,
} from '../../transactions/index.js'
import { AvroReader, AvroWriter } from '../../bytes/avro.js'
import {
  branchOf,
  bytes,
  bytesOf,
  int,
  list,
  long,
  map,
  messageId,
  optional,
  record,
  text,
  time,
  trueByDefault,
  unwrapped,
  type Form,
  type WireType,
} from './wire-types.js'

/** Names of topics. */
export const names = list(text)

/** The properties of a topic. */
export const properties = map(text)

/** A request to publish or store. */
export const publishRequest = record('a body to publish', {
  transactionWritePointer: optional('long', long),
  messages: list(bytes),
})

/** The answer to a transactional publish, and the request of its rollback. */
export const publishResponse = record('the answer to a publish', {
  transactionWritePointer: optional('long', long),
  rollbackRange: record('a rollback range', {
    startTimestamp: time,
    startSequenceId: int,
    endTimestamp: time,
    endSequenceId: int,
  }),
})

interface Start {
  readonly from?: Uint8Array | undefined
  readonly time?: number | undefined
}

/** The union of the bytes of an id, a time in milliseconds, and null. */
const start: WireType<Start> = {
  write: (target, { from, time: milliseconds }) => {
    target.long(from !== undefined ? 0 : milliseconds !== undefined ? 1 : 2)
    if (from !== undefined) target.lengthAndBytes(from)
    else if (milliseconds !== undefined) target.long(milliseconds)
  },
  read: (source) => {
    const branch = branchOf(source, 3)
    if (branch === 0) return { from: source.lengthAndBytes() }
    return branch === 1 ? { time: time.read(source) } : {}
  },
  toJson: ({ from, time: milliseconds }) => {
    if (from !== undefined) return { bytes: messageId.toJson(from) }
    return milliseconds === undefined ? null : { long: String(milliseconds) }
  },
  fromJson: (json, what) => {
    const milliseconds = unwrapped(json, 'long')
    if (milliseconds !== json) return { time: time.fromJson(milliseconds, what) }
    const from = unwrapped(json, 'bytes')
    return from === undefined || from === null ? {} : { from: messageId.fromJson(from, what) }
  },
  schema: { description: 'null, { "bytes": id in hexadecimal } or { "long": milliseconds }' },
}

/** CDAP's bytes of a transaction; in JSON also an object. */
const transaction: WireType<Transaction> = {
  write: (target, value) => target.lengthAndBytes(encodeTransaction(value)),
  read: (source) => decodeTransaction(source.lengthAndBytes()),
  toJson: (value) => encodeTransaction(value).toString('base64'),
  fromJson: (json, what) => {
    if (typeof json !== 'string') return transactionFromJson(json)
    return decodeTransaction(bytesOf(json, what, 'base64'))
  },
  schema: { description: 'an object, or base64 of the Thrift form' },
}

/** A request to poll. */
export const consumeRequest = record('a poll', {
  startFrom: start,
  inclusive: trueByDefault,
  limit: optional('int', int),
  transaction: optional('bytes', transaction),
})

const message = record('a message', { id: messageId, payload: bytes })

/** The answer to a poll: blocks of messages, which {@link blockOf} makes, and an end. */
export const consumeResponse = list(message)

/** Messages as a part of the answer; `isFirst` for the first part. */
export function blockOf(
  messages: readonly Message[],
  form: Form,
  isFirst: boolean,
): Buffer | string {
  if (form === 'json') return (isFirst ? '[' : ',') + messages.map(messageText).join(',')
  let capacity = 10
  // The size is not computed from the id, because each access to an id encodes it.
  for (const { payload } of messages) capacity += messageIdBytes + payload.length + 20
  const target = new AvroWriter(capacity)
  target.long(messages.length)
  for (const { id, payload } of messages) {
    target.lengthAndBytes(id)
    target.lengthAndBytes(payload)
  }
  return target.finish()
}

function messageText({ id, payload }: Message): string {
  return `{"id":"${id.toString('hex')}","payload":"${payload.toString('base64')}"}`
}

const blocksEnd = Buffer.of(0)

/** The end of the answer; `isEmpty` if no part precedes it. */
export function endOf(form: Form, isEmpty: boolean): Buffer | string {
  if (form === 'avro') return blocksEnd
  return isEmpty ? '[]' : ']'
}

/** Decodes the answer to a poll as it arrives. */
export interface MessageDecoder {
  readonly isDone: boolean
  /** Adds bytes; returns the messages that are complete now. They may be views of the bytes. */
  add(chunk: Uint8Array): Message[]
}

/** The decoder of a form. */
export function messageDecoder(form: Form): MessageDecoder {
  return form === 'avro' ? new BlockDecoder() : new JsonDecoder()
}

class BlockDecoder implements MessageDecoder {
  #rest: Buffer = Buffer.alloc(0)
  #left = 0
  isDone = false

  add(chunk: Uint8Array): Message[] {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const reader = new AvroReader(
      this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]),
    )
    const messages: Message[] = []
    this.#rest = reader.rest
    try {
      while (!this.isDone) {
        if (this.#left === 0) {
          this.#left = reader.blockCount()
          this.isDone = this.#left === 0
        } else {
          messages.push({ id: reader.lengthAndBytes(), payload: reader.lengthAndBytes() })
          this.#left--
        }
        this.#rest = reader.rest
      }
    } catch (error) {
      if (!reader.isShort) throw error
    }
    return messages
  }
}

/** Decodes an array of flat objects. */
class JsonDecoder implements MessageDecoder {
  #text = ''
  isDone = false

  add(chunk: Uint8Array): Message[] {
    this.#text += Buffer.from(chunk).toString('latin1')
    const messages: Message[] = []
    let at = 0
    for (let end = this.#text.indexOf('}'); end >= 0; end = this.#text.indexOf('}', at)) {
      const begin = this.#text.indexOf('{', at)
      messages.push(message.fromJson(JSON.parse(this.#text.slice(begin, end + 1)), 'a message'))
      at = end + 1
    }
    this.#text = this.#text.slice(at)
    this.isDone = this.#text.endsWith(']')
    return messages
  }
}
