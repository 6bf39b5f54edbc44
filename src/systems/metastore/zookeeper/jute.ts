/** Jute, ZooKeeper's serialization: big-endian numbers, length-prefixed strings. */

/** Writes a message, after space for its length prefix. */
export class JuteWriter {
  #bytes = Buffer.allocUnsafe(256)
  #at = 4

  int(value: number): this {
    this.#need(4)
    this.#at = this.#bytes.writeInt32BE(value, this.#at)
    return this
  }

  long(value: bigint): this {
    this.#need(8)
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at)
    return this
  }

  bool(value: boolean): this {
    this.#need(1)
    this.#bytes[this.#at++] = value ? 1 : 0
    return this
  }

  buffer(value: Uint8Array): this {
    this.int(value.length)
    this.#need(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
    return this
  }

  text(value: string): this {
    return this.buffer(Buffer.from(value))
  }

  /** The message with its length prefix. */
  frame(): Buffer {
    this.#bytes.writeInt32BE(this.#at - 4, 0)
    return this.#bytes.subarray(0, this.#at)
  }

  #need(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + count))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}

/** Reads a message. Throws a RangeError after the end of the message. */
export class JuteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length
  }

  int(): number {
    const value = this.#bytes.readInt32BE(this.#at)
    this.#at += 4
    return value
  }

  long(): bigint {
    const value = this.#bytes.readBigInt64BE(this.#at)
    this.#at += 8
    return value
  }

  bool(): boolean {
    return this.#bytes.readUInt8(this.#at++) !== 0
  }

  /** A view of the bytes. A length of -1 (null) is read as empty. */
  buffer(): Buffer {
    const length = this.int()
    if (length <= 0) return Buffer.alloc(0)
    if (this.#at + length > this.#bytes.length) throw new RangeError('a message ends too early')
    const value = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return value
  }

  text(): string {
    return this.buffer().toString()
  }
}
