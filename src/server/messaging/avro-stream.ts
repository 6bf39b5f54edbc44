/**
 * Decodes the blocks of a poll response as they arrive. Messages are views of the pieces, so the
 * caller must not reuse the pieces.
 */
import { CellarError } from '../../api/index.js'
import { MessagingErrorCode, type Message } from '../../systems/messaging/index.js'

/** Decodes an array of messages from pieces of any size. */
export class BlockDecoder {
  #rest: Buffer = Buffer.alloc(0)
  #left = 0
  #isDone = false

  /** Whether the end of the array was read. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** Adds bytes; returns the messages that are complete now. */
  add(chunk: Uint8Array): Message[] {
    const bytes =
      this.#rest.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : Buffer.concat([this.#rest, chunk])
    const messages: Message[] = []
    let at = 0
    while (!this.#isDone) {
      if (this.#left === 0) {
        const count = readVarint(bytes, at)
        if (count === undefined) break
        at = count.next
        this.#left = count.value
        this.#isDone = this.#left === 0
        continue
      }
      const id = readBytes(bytes, at)
      const payload = id && readBytes(bytes, id.next)
      if (id === undefined || payload === undefined) break
      messages.push({ id: id.value, payload: payload.value })
      at = payload.next
      this.#left--
    }
    this.#rest = bytes.subarray(at)
    return messages
  }
}

function readVarint(bytes: Buffer, offset: number): { value: number; next: number } | undefined {
  let value = 0
  let factor = 1
  for (let at = offset; at < bytes.length; at++) {
    value += (bytes[at] & 0x7f) * factor
    if (bytes[at] < 0x80) {
      if (value % 2 === 1) throw malformed()
      return { value: value / 2, next: at + 1 }
    }
    factor *= 0x80
    if (at - offset > 6) throw malformed()
  }
  return undefined
}

function readBytes(bytes: Buffer, offset: number): { value: Buffer; next: number } | undefined {
  const length = readVarint(bytes, offset)
  if (length === undefined || length.next + length.value > bytes.length) return undefined
  const next = length.next + length.value
  return { value: bytes.subarray(length.next, next), next }
}

function malformed(): CellarError {
  return new CellarError(MessagingErrorCode.server, 'the server sent malformed Avro')
}
