/** Jute, ZooKeeper's serialization: big-endian numbers, length-prefixed strings. */

import { ByteReader } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'

/** Writes a message, after its length. */
export class JuteWriter {
  readonly #writer = new ByteWriter()

  constructor() {
    this.#writer.int32(0)
  }

  int(value: number): this {
    this.#writer.int32(value)
    return this
  }

  long(value: bigint): this {
    this.#writer.int64(value)
    return this
  }

  bool(value: boolean): this {
    this.#writer.byte(value ? 1 : 0)
    return this
  }

  buffer(value: Uint8Array): this {
    this.#writer.int32(value.length)
    this.#writer.raw(value)
    return this
  }

  text(value: string): this {
    return this.buffer(Buffer.from(value))
  }

  /** The message with its length prefix. */
  frame(): Buffer {
    const bytes = this.#writer.finish()
    bytes.writeInt32BE(bytes.length - 4, 0)
    return bytes
  }
}

/** Reads a message. Fails after the end of the message. */
export class JuteReader {
  readonly #reader: ByteReader

  constructor(bytes: Buffer) {
    this.#reader = new ByteReader(bytes, 'a message of ZooKeeper')
  }

  get hasMore(): boolean {
    return !this.#reader.isAtEnd
  }

  int(): number {
    return this.#reader.int32()
  }

  long(): bigint {
    return this.#reader.int64()
  }

  bool(): boolean {
    return this.#reader.byte() !== 0
  }

  /** A view of the bytes. A length of -1 (null) is read as empty. */
  buffer(): Buffer {
    return this.#reader.raw(Math.max(0, this.int()))
  }

  text(): string {
    return this.buffer().toString()
  }
}
