/** Reads numbers and bytes from files of Tephra, with bounds checks. */
import { CellarError, ErrorCode } from '../../../api/index.js'

/** The bytes end inside a record. */
export class EndOfBytes extends CellarError {
  constructor() {
    super(ErrorCode.invalidArgument, 'the bytes end inside of a record')
  }
}

/** A position in bytes that advances with each read. */
export class ByteSource {
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

  /** The number of the following records of at least one byte; it must fit the remaining bytes. */
  count(count: number | bigint): number {
    if (count < 0) throw malformed(`${count} records`)
    if (count > this.left) throw new EndOfBytes()
    return Number(count)
  }

  #take(length: number): number {
    if (length > this.left) throw new EndOfBytes()
    const start = this.#at
    this.#at += length
    return start
  }
}

/** `ERR_INVALID_ARGUMENT` for bytes that are not a file of Tephra. */
export function malformed(what: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, `malformed state of Tephra: ${what}`)
}
