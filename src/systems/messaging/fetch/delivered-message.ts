/**
 * A message as delivered to a reader. Most consumers keep only the id of the last message, so an id
 * is encoded on access.
 */
import { encodeMessageId, type MessageIdParts } from '../message-id.js'
import type { Message } from '../types.js'

/** See the file header. */
export class DeliveredMessage implements Message {
  readonly payload: Buffer
  /** The id of the first message of the row; the following messages have the next sequences. */
  readonly #first: MessageIdParts
  readonly #isPayload: boolean
  readonly #index: number

  constructor(payload: Buffer, first: MessageIdParts, isPayload: boolean, index: number) {
    this.payload = payload
    this.#first = first
    this.#isPayload = isPayload
    this.#index = index
  }

  get id(): Buffer {
    const first = this.#first
    return encodeMessageId(
      this.#isPayload
        ? { ...first, payloadSequenceId: first.payloadSequenceId + this.#index }
        : { ...first, sequenceId: first.sequenceId + this.#index },
    )
  }

  /** As plain data, for comparisons and logs. */
  toJSON(): { id: string; payload: string } {
    return { id: this.id.toString('hex'), payload: this.payload.toString('base64') }
  }
}
