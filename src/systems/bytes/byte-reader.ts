/** Reads the parts of a stored value. Malformed bytes are corruption, never a wrong value. */
import { isUtf8 } from 'node:buffer'
import { CellarError, ErrorCode } from '../../api/index.js'

/** Texts of a value up to this size are slices of one string of the whole value. */
const sharedTextBytesMax = 2048

/** The problem of bytes that end within a value. */
export const endsEarly = 'the bytes end too early'

/** The record whose bytes are read, as it is named in messages. */
export interface NamedRecord {
  /** Text of the id. */
  readonly text: string
}

/** A position in stored bytes; numbers are big-endian. Every read fails with `ERR_CORRUPTION`. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #what: string | NamedRecord
  #at: number
  #end: number
  /** The whole value as Latin-1, made for the first text. */
  #whole: string | undefined

  /** `what` names the value in messages; a record makes its name only then. */
  constructor(bytes: Buffer, what: string | NamedRecord, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#what = what
    this.#at = start
    this.#end = end
  }

  /** Whether everything was read. */
  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  /** Number of bytes not yet read. */
  get left(): number {
    return this.#end - this.#at
  }

  /** A number from 0 to 255. */
  byte(): number {
    this.#need(1)
    return this.#bytes[this.#at++]
  }

  /** A number from 0 to 2^53-1, in seven bits a byte, the lowest first. */
  varint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 8; i++) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break
        return value
      }
      scale *= 0x80
    }
    throw this.failure('a number is too large')
  }

  /** A count of elements. Each has at least one byte, which bounds a damaged count. */
  count(): number {
    const count = this.varint()
    if (count > this.#end - this.#at) throw this.failure(`${count} elements do not fit`)
    return count
  }

  /** Four bytes, signed. */
  int32(): number {
    this.#need(4)
    this.#at += 4
    return this.#bytes.readInt32BE(this.#at - 4)
  }

  /** Eight bytes, signed. */
  int64(): bigint {
    this.#need(8)
    this.#at += 8
    return this.#bytes.readBigInt64BE(this.#at - 8)
  }

  /** Eight bytes, IEEE 754. */
  double(): number {
    this.#need(8)
    this.#at += 8
    return this.#bytes.readDoubleBE(this.#at - 8)
  }

  /** The next bytes, as a view of the source. */
  raw(length: number): Buffer {
    this.#need(length)
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** Skips bytes. */
  skip(length: number): void {
    this.#need(length)
    this.#at += length
  }

  /** A length as a varint, then that many bytes. They share memory with the source. */
  bytes(): Buffer {
    return this.raw(this.varint())
  }

  /** A length in bytes as a varint, then UTF-8. */
  text(): string {
    const length = this.varint()
    this.#need(length)
    const start = this.#at
    this.#at += length
    const bytes = this.#bytes
    // Decoding a string calls native code; a slice of an existing string does not.
    if (bytes.length > sharedTextBytesMax || !isAscii(bytes, start, this.#at)) {
      if (!isUtf8(bytes.subarray(start, this.#at))) throw this.failure('a text is not UTF-8')
      return bytes.toString('utf8', start, this.#at)
    }
    this.#whole ??= bytes.toString('latin1')
    return this.#whole.slice(start, this.#at)
  }

  /** Checks that no bytes follow. */
  finish(): void {
    if (!this.isAtEnd) throw this.failure(`${this.#end - this.#at} bytes follow`)
  }

  /** Makes an `ERR_CORRUPTION` about this value. */
  failure(problem: string): Error {
    const what = typeof this.#what === 'string' ? this.#what : `the record ${this.#what.text}`
    return corrupt(`${what} is damaged at byte ${this.#at}: ${problem}`)
  }

  #need(count: number): void {
    if (count > this.#end - this.#at) throw this.failure(endsEarly)
  }
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  let bits = 0
  let at = start
  for (; at + 4 <= end; at += 4) bits |= bytes[at] | bytes[at + 1] | bytes[at + 2] | bytes[at + 3]
  for (; at < end; at++) bits |= bytes[at]
  return bits < 0x80
}

/** Makes an `ERR_CORRUPTION`: stored bytes that no writer of this format makes. */
export function corrupt(message: string): CellarError {
  return new CellarError(ErrorCode.corruption, message)
}
