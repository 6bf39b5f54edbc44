/**
 * Parses the numbers after the topic in stored rows, without allocation.
 *
 * Rows are in the form of keys, with each byte 00 escaped (storage/cell/FORMAT.md). The numbers are
 * unescaped into a buffer of this object; one object serves a whole job.
 */
import { unescapeInto } from '../../../storage/cell/cell-key.js'

const generationBytes = 4
/** High half of 2^53-1. */
const safeHighMax = 0x1f_ffff

export class StoredRow {
  generation = 0
  /** The time of the message or payload in milliseconds. */
  time = 0
  readonly #tail: Uint8Array
  readonly #timeOffset: number

  /**
   * Rows have `tailBytes` bytes after the topic: generation(4), writePointer(8) unless `timeOffset`
   * is 4, and time(8) at `timeOffset`.
   */
  constructor(tailBytes: number, timeOffset: number) {
    this.#tail = new Uint8Array(tailBytes)
    this.#timeOffset = timeOffset
  }

  /**
   * Parses the escaped bytes after the topic: `source[start, end)`. False, with undefined fields,
   * if the length or a number is impossible for such a row (`encodeMessageRow`,
   * `encodePayloadRow`).
   */
  parse(source: Buffer, start: number, end: number): boolean {
    const tail = this.#tail
    const timeOffset = this.#timeOffset
    if (unescapeInto(source, start, end, tail) !== tail.length) return false
    this.generation = readInt32(tail, 0)
    const timeHigh = readInt32(tail, timeOffset)
    this.time = timeHigh * 0x1_0000_0000 + (readInt32(tail, timeOffset + 4) >>> 0)
    const timeIsGood = timeHigh >= 0 && timeHigh <= safeHighMax
    return (
      this.generation > 0 && timeIsGood && (timeOffset === generationBytes || this.#hasPointer())
    )
  }

  /** Whether the number between generation and time is positive. */
  #hasPointer(): boolean {
    const high = readInt32(this.#tail, generationBytes)
    return high > 0 || (high === 0 && readInt32(this.#tail, generationBytes + 4) !== 0)
  }
}

function readInt32(source: Uint8Array, offset: number): number {
  return (
    (source[offset] << 24) |
    (source[offset + 1] << 16) |
    (source[offset + 2] << 8) |
    source[offset + 3]
  )
}
