/**
 * The JSON form of the messaging requests and responses: the fields of the Avro schemas, payloads
 * in base64, message ids in hexadecimal, and 64-bit numbers as strings of decimal digits.
 */
import { OptionNames } from '../../api/index.js'
import type {
  Message,
  PublishRequest,
  PublishResponse,
  SetPositionOptions,
} from '../../systems/messaging/index.js'
import {
  decodeTransaction,
  transactionFromJson,
  type Transaction,
} from '../../systems/transactions/index.js'
import { pointerOf } from '../../systems/transactions/tephra/transaction-forms.js'
import { invalidArgument } from '../http/http-errors.js'

/** A poll, from either form. */
export interface PollRequest {
  readonly from?: Uint8Array | undefined
  readonly time?: number | undefined
  readonly inclusive?: boolean | undefined
  readonly limit?: number | undefined
  readonly transaction?: Transaction | undefined
}

type Fields = Record<string, unknown>

const transactionWritePointer = true
const publishNames = new OptionNames('a body to publish', {
  transactionWritePointer,
  messages: true,
})
const responseNames = new OptionNames('the answer to a publish', {
  transactionWritePointer,
  rollbackRange: true,
})
const rangeNames = new OptionNames('a rollback range', {
  startTimestamp: true,
  startSequenceId: true,
  endTimestamp: true,
  endSequenceId: true,
})
const positionNames = new OptionNames('a position', { id: true, expected: true })
const pollNames = new OptionNames('a poll', {
  startFrom: true,
  inclusive: true,
  limit: true,
  transaction: true,
})

/** Parses a body; `ERR_INVALID_ARGUMENT` if it is no JSON object. */
export function parseObject(body: Buffer): Fields {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw invalidArgument('the body is no JSON')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw invalidArgument('the body is no JSON object')
}

/** The properties of a topic; numbers and booleans become strings. An empty body has none. */
export function parseProperties(body: Buffer): Record<string, string> {
  if (body.length === 0) return {}
  const properties: Record<string, string> = {}
  for (const [name, value] of Object.entries(parseObject(body))) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw invalidArgument(`the property '${name}' must be a string`)
    }
    Object.defineProperty(properties, name, {
      value: String(value),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return properties
}

/** A request to publish or store. */
export function parsePublish(body: Buffer): PublishRequest {
  const { transactionWritePointer, messages } = publishNames.check(parseObject(body))
  if (!Array.isArray(messages)) throw invalidArgument('messages must be an array')
  const payloads = messages.map((message) => bytesOf(message, 'a message', 'base64'))
  if (isAbsent(transactionWritePointer)) return { messages: payloads }
  return {
    messages: payloads,
    transactionWritePointer: pointerOf(transactionWritePointer, 'transactionWritePointer'),
  }
}

/** The JSON of a request to publish. */
export function publishJson({ messages, transactionWritePointer }: PublishRequest): string {
  return JSON.stringify({
    transactionWritePointer: transactionWritePointer?.toString() ?? null,
    messages: messages.map((message) => Buffer.from(message as string).toString('base64')),
  })
}

/** The JSON of the answer to a publish. */
export function responseJson({ transactionWritePointer, rollbackRange }: PublishResponse): string {
  const { startTimestamp, startSequenceId, endTimestamp, endSequenceId } = rollbackRange
  return JSON.stringify({
    transactionWritePointer: transactionWritePointer?.toString() ?? null,
    rollbackRange: {
      startTimestamp: String(startTimestamp),
      startSequenceId,
      endTimestamp: String(endTimestamp),
      endSequenceId,
    },
  })
}

/** The answer to a publish, for a rollback. */
export function parseResponse(body: Buffer): PublishResponse {
  const { transactionWritePointer, rollbackRange } = responseNames.check(parseObject(body))
  if (typeof rollbackRange !== 'object' || rollbackRange === null) {
    throw invalidArgument('rollbackRange must be an object')
  }
  const range = rangeNames.check(rollbackRange as Fields)
  const number = (name: string): number => Number(pointerOf(range[name], name))
  return {
    transactionWritePointer: isAbsent(transactionWritePointer)
      ? undefined
      : pointerOf(transactionWritePointer, 'transactionWritePointer'),
    rollbackRange: {
      startTimestamp: number('startTimestamp'),
      startSequenceId: number('startSequenceId'),
      endTimestamp: number('endTimestamp'),
      endSequenceId: number('endSequenceId'),
    },
  }
}

/**
 * A poll. `startFrom` is null, an id in hexadecimal, `{ "bytes": id }` or `{ "long": time }` with
 * milliseconds. `transaction` is null, an object, or base64 of CDAP's bytes, also as
 * `{ "bytes": ... }`.
 */
export function parsePoll(body: Buffer): PollRequest {
  const fields = body.length === 0 ? {} : parseObject(body)
  const { startFrom, inclusive, limit, transaction } = pollNames.check(fields)
  const request: { -readonly [K in keyof PollRequest]: PollRequest[K] } = {}
  const start = unwrap(startFrom)
  if (isLong(startFrom)) request.time = Number(pointerOf(start, 'startFrom'))
  else if (!isAbsent(start)) request.from = bytesOf(start, 'startFrom', 'hex')
  if (!isAbsent(inclusive)) {
    if (typeof inclusive !== 'boolean') throw invalidArgument('inclusive must be a boolean')
    request.inclusive = inclusive
  }
  const limited = unwrap(limit)
  if (!isAbsent(limited)) {
    if (typeof limited !== 'number') throw invalidArgument('limit must be a number')
    request.limit = limited
  }
  const own = unwrap(transaction)
  if (isAbsent(own)) return request
  request.transaction =
    typeof own === 'string'
      ? decodeTransaction(bytesOf(own, 'transaction', 'base64'))
      : transactionFromJson(own)
  return request
}

/** A position of a consumer: ids in hexadecimal; `expected` may be null. */
export function parsePosition(body: Buffer): { id: string } & SetPositionOptions {
  const { id, expected } = positionNames.check(parseObject(body))
  if (typeof id !== 'string') throw invalidArgument('id must be a string in hex')
  if (expected === undefined) return { id }
  if (expected === null || typeof expected === 'string') return { id, expected }
  throw invalidArgument('expected must be a string in hex, or null')
}

/** One message of an answer. */
export function messageJson({ id, payload }: Message): string {
  return `{"id":"${id.toString('hex')}","payload":"${payload.toString('base64')}"}`
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function isLong(value: unknown): value is { long: unknown } {
  return typeof value === 'object' && value !== null && 'long' in value
}

/** Unwraps the value of `{ "bytes": value }`, `{ "long": value }` and `{ "int": value }`. */
function unwrap(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const names = Object.keys(value)
  if (names.length !== 1 || !['bytes', 'long', 'int'].includes(names[0])) return value
  return (value as Fields)[names[0]]
}

/** Bytes of a text in this encoding. `ERR_INVALID_ARGUMENT`. */
export function bytesOf(value: unknown, what: string, encoding: 'base64' | 'hex'): Buffer {
  const pattern = encoding === 'hex' ? /^([0-9a-f]{2})*$/i : /^[A-Za-z0-9+/]*={0,2}$/
  if (typeof value === 'string' && pattern.test(value)) {
    if (encoding === 'hex' || value.length % 4 === 0) return Buffer.from(value, encoding)
  }
  throw invalidArgument(`${what} must be a string in ${encoding}`)
}
