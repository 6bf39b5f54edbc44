/**
 * Avro's binary encoding: numbers as zigzag varints, bytes with their length before them.
 *
 * A reader takes no count or length on trust: each is bounded by the bytes that are left, so a
 * hostile body costs no more than its bytes.
 */
import { invalidArgument } from '../../api/index.js'
import { ByteReader, endsEarly } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'

const varintBytesMax = 10

/** Writes values one after the other. */
export class AvroWriter extends ByteWriter {
  /** A number of 64 bits. */
  long(value: bigint | number): void {
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER / 2) {
      this.varint(2 * value)
      return
    }
    const signed = BigInt(value)
    let rest = BigInt.asUintN(64, (signed << 1n) ^ (signed >> 63n))
    for (; rest >= 0x80n; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80)
    this.byte(Number(rest))
  }

  lengthAndBytes(value: Uint8Array): void {
    this.long(value.length)
    this.raw(value)
  }

  boolean(value: boolean): void {
    this.byte(value ? 1 : 0)
  }
}

/** Reads values one after the other; `ERR_INVALID_ARGUMENT` for malformed bytes. */
export class AvroReader extends ByteReader {
  readonly #bytes: Buffer
  readonly #what: string
  #isShort = false

  /** Results are views of `bytes`, which `what` names in messages. */
  constructor(bytes: Buffer, what = 'Avro') {
    super(bytes, what)
    this.#bytes = bytes
    this.#what = what
  }

  /** The bytes that were not read yet. */
  get rest(): Buffer {
    return this.#bytes.subarray(this.#bytes.length - this.left)
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
      const byte = this.byte()
      if (length === 0) isNegative = (byte & 1) === 1
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return isNegative ? -(value + 1) / 2 : value / 2
      factor *= 0x80
    }
    throw this.failure('a number is too long')
  }

  /** A number of 64 bits. */
  long(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 7n * BigInt(varintBytesMax); shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw this.failure('a number is too long')
  }

  lengthAndBytes(): Buffer {
    const length = this.number()
    if (length < 0) throw this.failure('a length is negative')
    return this.raw(length)
  }

  boolean(): boolean {
    return this.byte() !== 0
  }

  /** The number of items of the next block of an array or a map; 0 at the end of the last one. */
  blockCount(): number {
    const count = this.number()
    // A negative count precedes the size of the block in bytes.
    if (count < 0) this.number()
    return Math.abs(count)
  }

  items<T>(read: () => T): T[] {
    const items: T[] = []
    for (let count = this.blockCount(); count > 0; count = this.blockCount()) {
      // Every item takes at least a byte.
      if (count > this.left) throw this.failure(endsEarly)
      for (let i = 0; i < count; i++) items.push(read())
    }
    return items
  }

  /** Makes an `ERR_INVALID_ARGUMENT`. */
  override failure(problem: string): Error {
    if (problem === endsEarly) this.#isShort = true
    return invalidArgument(`malformed ${this.#what}: ${problem}`)
  }
}
