/** Checks of the requests of publishers and consumers. */
import {
  CellarError,
  invalidArgument,
  checkArray,
  checkBoolean,
  checkBytesLike,
  checkObject,
  checkSignal,
  OptionNames,
  readArguments,
  shown,
  type BytesLike,
} from '../../../api/index.js'
import { startOf } from '../../transactions/index.js'
import { checkTransaction } from '../../transactions/transaction.js'
import { MessagingErrorCode } from '../errors.js'
import { decodeMessageId, parseMessageId } from '../message-id.js'
import type { ReaderStart } from '../store/message-reader.js'
import type { MessagingSettings } from '../options.js'
import { PayloadPacker, type PackedPayloads } from '../store/packed-payloads.js'
import { rowBytesMax } from '../topics/topic-append.js'
import type {
  FetchOptions,
  MessageRange,
  Producer,
  PublishRequest,
  PublishResponse,
} from '../types.js'

/** A checked, copied and packed request to publish or store. */
export interface CheckedRequest {
  /** In portions, one for each row. */
  readonly payloads: readonly PackedPayloads[]
  readonly count: number
  readonly bytes: number
  readonly pointer: bigint | undefined
  readonly producer: Producer | undefined
}

const requestNames = new OptionNames<PublishRequest>('a request to publish', {
  messages: true,
  transactionWritePointer: true,
  producer: true,
})
const producerNames = new OptionNames<Producer>('a producer', { id: true, sequence: true })

const pointerLimit = 2n ** 63n
const producerIdBytesMax = 256
/** Approximate bytes of a message beside its payload. */
const overheadBytes = 64

/** `ERR_INVALID_ARGUMENT`, `ERR_REQUEST_TOO_LARGE`. */
export function checkRequest(request: PublishRequest, limits: MessagingSettings): CheckedRequest {
  return readArguments(() => readRequest(request, limits))
}

function readRequest(request: PublishRequest, limits: MessagingSettings): CheckedRequest {
  const { messages, transactionWritePointer: pointer, producer } = readFields(request)
  if (messages.length > limits.requestMessagesMax) {
    throw tooLarge(`${messages.length} messages`, limits.requestMessagesMax)
  }
  const { payloads, bytes } = pack(messages, limits)
  return { payloads, count: messages.length, bytes, pointer, producer }
}

/** The fields of a request; the messages are not checked yet. */
function readFields(request: PublishRequest): PublishRequest {
  const { messages, transactionWritePointer, producer: given } = requestNames.check(request)
  // Copied, because the caller may reuse its object for the next request.
  const producer = given && { ...given }
  if (!Array.isArray(messages)) throw invalidArgument('messages must be an array')
  if (transactionWritePointer !== undefined) checkPointer(transactionWritePointer)
  if (producer !== undefined) checkProducer(producer)
  return { messages: messages as readonly BytesLike[], transactionWritePointer, producer }
}

/**
 * A copy of a request for a remote service, which applies the limits. The bytes of messages are not
 * copied. `ERR_INVALID_ARGUMENT`.
 */
export function checkedPublish(request: PublishRequest): PublishRequest {
  return readArguments(() => {
    const fields = readFields(request)
    const messages = checkArray(fields.messages, 'messages')
    for (const message of messages) {
      if (typeof message !== 'string') checkBytesLike(message, 'a message')
    }
    return { ...fields, messages }
  })
}

/** A copy of the answer of a publish, for a rollback. `ERR_INVALID_ARGUMENT`. */
export function checkedResponse(response: PublishResponse): {
  readonly transactionWritePointer: bigint
  readonly rollbackRange: MessageRange
} {
  return readArguments(() => {
    const given = checkObject(response, 'the answer of a publish')
    const { transactionWritePointer, rollbackRange } = given
    const range = checkedRange(checkObject(rollbackRange, 'rollbackRange'))
    checkPointer(transactionWritePointer)
    return { transactionWritePointer, rollbackRange: range }
  })
}

const packer = new PayloadPacker()

/** Copies messages into portions for rows. */
function pack(
  messages: readonly BytesLike[],
  { messageBytesMax, requestBytesMax }: MessagingSettings,
): { payloads: PackedPayloads[]; bytes: number } {
  const payloads: PackedPayloads[] = []
  let bytes = overheadBytes * messages.length
  // An earlier error may have left payloads in the packer.
  packer.clear()
  for (const message of messages) {
    if (typeof message !== 'string') checkBytesLike(message, 'a message')
    // Each character takes at least a byte.
    if (message.length > messageBytesMax) throw tooLargeMessage(message.length, messageBytesMax)
    // An estimate: a string may take more bytes than characters.
    if (packer.count > 0 && packer.length + message.length > rowBytesMax) {
      payloads.push(packer.take())
    }
    const added = packer.add(message)
    if (added > messageBytesMax) throw tooLargeMessage(added, messageBytesMax)
    bytes += added
    if (bytes > requestBytesMax) throw tooLarge(`${bytes} bytes`, requestBytesMax)
  }
  if (packer.count > 0) payloads.push(packer.take())
  return { payloads, bytes }
}

/** `ERR_INVALID_ARGUMENT` unless the value is a write pointer. */
export function checkPointer(pointer: unknown): asserts pointer is bigint {
  if (typeof pointer === 'bigint' && pointer !== 0n && pointer < pointerLimit) {
    if (pointer > -pointerLimit) return
  }
  throw invalidArgument(`a write pointer is a bigint other than 0, got ${shown(pointer)}`)
}

/** Sequence ids take two bytes. */
const sequenceIdMax = 0xffff

/** A copy of a range. `ERR_INVALID_ARGUMENT` for a range that no publish can return. */
export function checkedRange(range: MessageRange): MessageRange {
  const { startTimestamp, startSequenceId, endTimestamp, endSequenceId } = range
  for (const time of [startTimestamp, endTimestamp]) {
    if (Number.isSafeInteger(time) && time >= 0) continue
    throw invalidArgument(`a range has times in milliseconds, 0 or more, got ${shown(time)}`)
  }
  for (const id of [startSequenceId, endSequenceId]) {
    if (Number.isInteger(id) && id >= 0 && id <= sequenceIdMax) continue
    throw invalidArgument(`a range has sequence ids of 0 to ${sequenceIdMax}, got ${shown(id)}`)
  }
  return { startTimestamp, startSequenceId, endTimestamp, endSequenceId }
}

/** Tolerance for the clock of another machine, used without a transaction manager. */
const clockAheadMilliseconds = 60_000

/**
 * `ERR_INVALID_ARGUMENT` for a write pointer without a transaction: its messages would hold all
 * readers with transactions until the messages expire.
 */
export function checkHandedOut(pointer: bigint, settings: MessagingSettings): void {
  const { transactions, clock } = settings
  const isHandedOut =
    transactions === undefined
      ? startOf(pointer) <= clock.now() + clockAheadMilliseconds
      : pointer <= transactions.writePointer
  if (!isHandedOut) throw invalidArgument(`no transaction has the write pointer ${pointer}`)
}

/** `ERR_TRANSACTION_TOO_OLD` for a transaction that may no longer publish. */
export function checkAge(pointer: bigint, settings: MessagingSettings): void {
  const { clock, lifetimeMilliseconds } = settings
  if (pointer <= 0n || clock.now() - startOf(pointer) > lifetimeMilliseconds) {
    const message = `transaction ${pointer} is older than ${lifetimeMilliseconds} ms`
    throw new CellarError(MessagingErrorCode.transactionTooOld, message)
  }
  checkHandedOut(pointer, settings)
}

const fetchNames = new OptionNames<FetchOptions>('a fetch', {
  from: true,
  time: true,
  inclusive: true,
  transaction: true,
  limit: true,
  waitMilliseconds: true,
  signal: true,
})

/**
 * A copy of the options of a fetch. `ERR_INVALID_ARGUMENT`, except for checks that depend on the
 * topic.
 */
export function checkedFetch(options: FetchOptions): FetchOptions {
  return readArguments(() => readFetch(fetchNames.copy(options)))
}

function readFetch(options: FetchOptions): FetchOptions {
  const { from, time, inclusive, limit, transaction, waitMilliseconds, signal } = options
  checkBoolean(inclusive, 'inclusive', true)
  if (from !== undefined && time !== undefined) {
    throw invalidArgument('a fetch starts at a message or at a time, not at both')
  }
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit <= 0)) {
    throw invalidArgument(`the limit must be a whole number above 0, got ${shown(limit)}`)
  }
  if (time !== undefined && (!Number.isSafeInteger(time) || time < 0)) {
    throw invalidArgument(`the time must be milliseconds, 0 or more, got ${shown(time)}`)
  }
  if (transaction !== undefined) checkTransaction(transaction)
  if (waitMilliseconds !== undefined) checkWait(waitMilliseconds)
  checkSignal(signal)
  if (from === undefined) return options
  checkBytesLike(from, 'the start of a fetch')
  return typeof from === 'string' ? options : { ...options, from: Buffer.from(from) }
}

function checkWait(milliseconds: number): void {
  if (typeof milliseconds === 'number' && milliseconds >= 0) return
  throw invalidArgument(`waitMilliseconds must be 0 or more, got ${shown(milliseconds)}`)
}

/** The start of a fetch, no earlier than `oldest`. `ERR_INVALID_ARGUMENT` for a malformed id. */
export function startOfFetch(options: FetchOptions, oldest: number): ReaderStart {
  const { from, time, inclusive = true } = options
  const atOldest = {
    publishTimestamp: oldest,
    sequenceId: 0,
    payloadWriteTimestamp: 0,
    payloadSequenceId: 0,
    inclusive: true,
  }
  if (from !== undefined) {
    const id = decodeMessageId(typeof from === 'string' ? parseMessageId(from) : from)
    return id.publishTimestamp < oldest ? atOldest : { ...id, inclusive }
  }
  if (time === undefined) return atOldest
  return { ...atOldest, publishTimestamp: Math.max(oldest, inclusive ? time : time + 1) }
}

function checkProducer(producer: Producer): void {
  const { id, sequence } = producerNames.check(producer)
  if (typeof id !== 'string' || id.length === 0 || Buffer.byteLength(id) > producerIdBytesMax) {
    throw invalidArgument(`the id of a producer is a text of 1 to ${producerIdBytesMax} bytes`)
  }
  if (!Number.isSafeInteger(sequence) || sequence < 0) {
    throw invalidArgument(`the sequence of a producer is a whole number, got ${shown(sequence)}`)
  }
}

function tooLargeMessage(bytes: number, limit: number): CellarError {
  return tooLarge(`a message of ${bytes} bytes`, limit)
}

function tooLarge(what: string, limit: number): CellarError {
  const message = `the request has ${what}, at most ${limit} are allowed`
  return new CellarError(MessagingErrorCode.tooLarge, message)
}
