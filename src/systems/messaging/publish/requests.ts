/** Checks of the requests of publishers and consumers. */
import {
  CellarError,
  invalidArgument,
  checkArray,
  checkBytesLike,
  readArguments,
  type BytesLike,
} from '../../../api/index.js'
import { startOf } from '../../transactions/index.js'
import { MessagingErrorCode } from '../errors.js'
import { publishFields, type MessagingSettings } from '../options.js'
import { PayloadPacker, type PackedPayloads } from '../store/packed-payloads.js'
import { rowBytesMax } from '../live/message-writer.js'
import type { Producer, PublishRequest } from '../options.js'

/** A checked, copied and packed request to publish or store. */
export interface CheckedRequest {
  /** In portions, one for each row. */
  readonly payloads: readonly PackedPayloads[]
  readonly count: number
  readonly bytes: number
  readonly pointer: bigint | undefined
  readonly producer: Producer | undefined
}

/** Approximate bytes of a message beside its payload. */
const overheadBytes = 64

/** `ERR_INVALID_ARGUMENT`, `ERR_REQUEST_TOO_LARGE`. */
export function checkRequest(request: PublishRequest, limits: MessagingSettings): CheckedRequest {
  return readArguments(() => {
    const { messages, transactionWritePointer: pointer, producer } = publishFields.read(request)
    if (messages.length > limits.requestMessagesMax) {
      throw tooLarge(`${messages.length} messages`, limits.requestMessagesMax)
    }
    const { payloads, bytes } = pack(messages, limits)
    return { payloads, count: messages.length, bytes, pointer, producer }
  })
}

/**
 * A copy of a request for a remote service, which applies the limits. The bytes of messages are not
 * copied. `ERR_INVALID_ARGUMENT`.
 */
export function checkedPublish(request: PublishRequest): PublishRequest {
  return readArguments(() => {
    const fields = publishFields.read(request)
    const messages = checkArray(fields.messages, 'messages')
    for (const message of messages) checkBytesLike(message, 'a message')
    return { ...fields, messages }
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
    // Each character takes at least a byte, so a text that is too long is not read.
    if (typeof message === 'string' && message.length > messageBytesMax) {
      throw tooLargeMessage(message.length, messageBytesMax)
    }
    checkBytesLike(message, 'a message')
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

function tooLargeMessage(bytes: number, limit: number): CellarError {
  return tooLarge(`a message of ${bytes} bytes`, limit)
}

function tooLarge(what: string, limit: number): CellarError {
  const message = `the request has ${what}, at most ${limit} are allowed`
  return new CellarError(MessagingErrorCode.tooLarge, message)
}
