/** Reads numbers and bytes from files and messages of Tephra, with bounds checks. */
import { invalidArgument } from '../../../api/index.js'

/** A position in bytes that advances with each read. `ERR_INVALID_ARGUMENT` behind their end. */
export class ByteSource {
  /** Whether a read failed because the bytes end inside of a record. */
  isCut = false
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Remaining bytes. */
  get left(): number {
    return this.#bytes.length - this.#at
  }

  byte(): number {
    return this.#bytes[this.#take(1)]
  }

  short(): number {
    return this.#bytes.readInt16BE(this.#take(2))
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  long(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8))
  }

  bytes(length: number): Buffer {
    if (length < 0) throw malformed(`a length of ${length}`)
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  /** A zigzag varint, as in Avro. */
  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw malformed('a number of more than ten bytes')
  }

  /** The number of the following records of at least `bytes` bytes; they must be present. */
  count(count: number | bigint, bytes = 1): number {
    if (count < 0) throw malformed(`${count} records`)
    this.#check(Number(count) * bytes)
    return Number(count)
  }

  #take(length: number): number {
    this.#check(length)
    const start = this.#at
    this.#at += length
    return start
  }

  #check(length: number): void {
    if (length <= this.left) return
    this.isCut = true
    throw malformed('they end inside of a record')
  }
}

/** `ERR_INVALID_ARGUMENT` for bytes that Tephra has not written. */
export function malformed(what: string): Error {
  return invalidArgument(`malformed bytes of Tephra: ${what}`)
}
