/**
 * Avro's binary encoding: numbers as zigzag varints, bytes with their length before them.
 *
 * A reader takes no count or length on trust: each is bounded by the bytes that are left, so a
 * hostile body costs no more than its bytes.
 */
import { CellarError, ErrorCode } from '../../../api/index.js'

/** Bytes of the longest 64-bit number. */
const varintBytesMax = 10

/** Writes values one after the other. */
export class AvroWriter {
  #bytes: Buffer
  #end = 0

  /** `capacity`: bytes to expect; more are possible. */
  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  /** The bytes written so far. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }

  /** A number of 64 bits. */
  long(value: bigint | number): void {
    this.#reserve(varintBytesMax)
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER / 2) {
      let rest = 2 * value
      for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#byte((rest % 0x80) | 0x80)
      this.#byte(rest)
      return
    }
    const signed = BigInt(value)
    let rest = BigInt.asUintN(64, (signed << 1n) ^ (signed >> 63n))
    for (; rest >= 0x80n; rest >>= 7n) this.#byte(Number(rest & 0x7fn) | 0x80)
    this.#byte(Number(rest))
  }

  /** A length and that many bytes. */
  lengthAndBytes(value: Uint8Array): void {
    this.long(value.length)
    this.#reserve(value.length)
    this.#bytes.set(value, this.#end)
    this.#end += value.length
  }

  boolean(value: boolean): void {
    this.long(0)
    if (value) this.#bytes[this.#end - 1] = 1
  }

  #byte(value: number): void {
    this.#bytes[this.#end++] = value
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#end + more))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}

/** Reads values one after the other; `ERR_INVALID_ARGUMENT` for malformed bytes. */
export class AvroReader {
  readonly #bytes: Buffer
  #at = 0
  #isShort = false

  /** Results are views of `bytes`. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The bytes that were not read yet. */
  get rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }

  /** Whether a read failed because the bytes end within a value. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** A number that is exact up to 2^53, and above that still too large for any count. */
  number(): number {
    let value = 0
    let factor = 1
    let isNegative = false
    for (let length = 0; length < varintBytesMax; length++) {
      const byte = this.#byte()
      if (length === 0) isNegative = (byte & 1) === 1
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return isNegative ? -(value + 1) / 2 : value / 2
      factor *= 0x80
    }
    throw malformed('a number is too long')
  }

  /** A number of 64 bits. */
  long(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 7n * BigInt(varintBytesMax); shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw malformed('a number is too long')
  }

  /** A length and that many bytes. */
  lengthAndBytes(): Buffer {
    const length = this.number()
    if (length < 0) throw malformed('a length is negative')
    if (length > this.#bytes.length - this.#at) throw this.#endsEarly()
    const start = this.#at
    this.#at += length
    return this.#bytes.subarray(start, this.#at)
  }

  boolean(): boolean {
    return this.#byte() !== 0
  }

  /** The number of items of the next block of an array or a map; 0 at the end of the last one. */
  blockCount(): number {
    const count = this.number()
    // A negative count precedes the size of the block in bytes.
    if (count < 0) this.number()
    return Math.abs(count)
  }

  /** The items of an array or a map. */
  items<T>(read: () => T): T[] {
    const items: T[] = []
    for (let count = this.blockCount(); count > 0; count = this.blockCount()) {
      // Every item takes at least a byte.
      if (count > this.#bytes.length - this.#at) throw this.#endsEarly()
      for (let i = 0; i < count; i++) items.push(read())
    }
    return items
  }

  /** `ERR_INVALID_ARGUMENT` unless all bytes were read. */
  checkEnd(): void {
    if (this.#at !== this.#bytes.length) throw malformed('there are bytes after its end')
  }

  #byte(): number {
    if (this.#at >= this.#bytes.length) throw this.#endsEarly()
    return this.#bytes[this.#at++]
  }

  #endsEarly(): Error {
    this.#isShort = true
    return malformed('it ends too early')
  }
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function malformed(what: string): Error {
  return new CellarError(ErrorCode.invalidArgument, `malformed Avro: ${what}`)
}
