/** Writes the parts of a value one after the other into a growing buffer. */

/** A growing byte string; numbers are big-endian. `finish` hands the bytes over. */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  /** `capacity` is the initial size of the buffer in bytes, at least 1. */
  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length
  }

  /** Empties the writer and keeps its memory: later writes overwrite the bytes of `finish`. */
  clear(): void {
    this.#length = 0
  }

  /** A number from 0 to 255. */
  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** Unsigned LEB128 of a safe integer: seven bits a byte, low bits first. */
  varint(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  /** Four bytes, signed. */
  int32(value: number): void {
    this.#reserve(4)
    this.#length = this.#bytes.writeInt32BE(value, this.#length)
  }

  /** Eight bytes, signed. */
  int64(value: bigint): void {
    this.#reserve(8)
    this.#length = this.#bytes.writeBigInt64BE(value, this.#length)
  }

  /** Eight bytes, IEEE 754. */
  double(value: number): void {
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleBE(value, this.#length)
  }

  /** The bytes alone, without their length. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** The number of bytes, then the bytes. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length)
    this.raw(bytes)
  }

  /** The number of bytes of the UTF-8 form, then that form. */
  text(text: string): void {
    const length = Buffer.byteLength(text)
    this.varint(length)
    this.#reserve(length)
    this.#bytes.write(text, this.#length, length, 'utf8')
    this.#length += length
  }

  /** The number of bytes that `write` writes, then those bytes. */
  nested(write: () => void): void {
    const start = this.#length
    write()
    const end = this.#length
    const size = end - start
    const prefix = varintBytes(size)
    this.#reserve(prefix)
    this.#bytes.copyWithin(start + prefix, start, end)
    this.#length = start
    this.varint(size)
    this.#length = end + prefix
  }

  /** The bytes; the writer must not be used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/** A number from 0 to 2^32-1 as four bytes, big-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function varintBytes(value: number): number {
  let count = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) count++
  return count
}
