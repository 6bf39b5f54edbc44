/**
 * The payloads of one row in their stored form (FORMAT.md): a single payload, or any number of
 * payloads packed into one value. A request of a hundred messages is therefore one cell, and no
 * object is made for a message before a reader needs it.
 *
 *   packed value = count(4) { end offset(4) }*count { payload }*count
 *
 * The end offsets count from the first payload, and ascend.
 */
import { CellarError, ErrorCode, type BytesLike, assert } from '../../../api/index.js'

const countBytes = 4
const endBytes = 4
/** Most payloads of one value: the messages of a row share one millisecond. */
const payloadsMax = 65_536

/** See the file header. Immutable; `value` must not be changed. */
export class PackedPayloads {
  /** Number of payloads, at least 1. */
  readonly count: number
  /** Whether `value` is in the packed form; otherwise it is the single payload. */
  readonly isPacked: boolean
  /** All payloads and their lengths, in the form of the payload table. */
  readonly value: Buffer

  private constructor(count: number, isPacked: boolean, value: Buffer) {
    this.count = count
    this.isPacked = isPacked
    this.value = value
  }

  static single(payload: Buffer): PackedPayloads {
    return new PackedPayloads(1, false, payload)
  }

  /** A stored packed value. `ERR_CORRUPTION` if it is malformed. */
  static stored(value: Buffer): PackedPayloads {
    const count = value.length < countBytes ? 0 : value.readUInt32BE(0)
    const start = countBytes + endBytes * count
    if (count === 0 || count > payloadsMax || start > value.length) throw malformed(value)
    let end = 0
    for (let at = countBytes; at < start; at += endBytes) {
      const next = value.readUInt32BE(at)
      if (next < end) throw malformed(value)
      end = next
    }
    if (start + end !== value.length) throw malformed(value)
    return new PackedPayloads(count, true, value)
  }

  /** A packed value that this process made. */
  static packed(count: number, value: Buffer): PackedPayloads {
    return new PackedPayloads(count, true, value)
  }

  /** Bytes of the payloads without their lengths. */
  get bytes(): number {
    return this.value.length - this.#start
  }

  /** Copies of the payloads from `from` up to but excluding `to`. */
  copies(from: number, to: number): Buffer[] {
    const first = this.#offset(from)
    const bytes = Buffer.from(this.value.subarray(first, this.#offset(to)))
    return this.#parts(bytes, first, from, to)
  }

  /** The payloads from `from` up to but excluding `to`, as views of `value`. */
  views(from: number, to: number): Buffer[] {
    return this.#parts(this.value, 0, from, to)
  }

  /** The payloads from `from` up to but excluding `to`: copied, always packed. */
  slice(from: number, to: number): PackedPayloads {
    const first = this.#offset(from)
    const bytes = this.#offset(to) - first
    const value = Buffer.allocUnsafe(countBytes + endBytes * (to - from) + bytes)
    let at = value.writeUInt32BE(to - from, 0)
    for (let i = from; i < to; i++) at = value.writeUInt32BE(this.#end(i) - first, at)
    this.value.copy(value, at, first, first + bytes)
    return new PackedPayloads(to - from, true, value)
  }

  /** Concatenates payloads in their order. */
  static join(parts: readonly PackedPayloads[]): PackedPayloads {
    if (parts.length === 1) return parts[0]
    let count = 0
    let bytes = 0
    for (const part of parts) {
      count += part.count
      bytes += part.bytes
    }
    const value = Buffer.allocUnsafe(countBytes + endBytes * count + bytes)
    let at = value.writeUInt32BE(count, 0)
    let target = countBytes + endBytes * count
    const start = target
    for (const part of parts) {
      const move = target - start - part.#start
      for (let i = 0; i < part.count; i++) at = value.writeUInt32BE(part.#end(i) + move, at)
      target += part.value.copy(value, target, part.#start)
    }
    return new PackedPayloads(count, true, value)
  }

  /** Views of payloads in bytes that hold `value` from `shift` on. */
  #parts(bytes: Buffer, shift: number, from: number, to: number): Buffer[] {
    const payloads: Buffer[] = []
    for (let i = from, start = this.#offset(from) - shift; i < to; i++) {
      const end = this.#end(i) - shift
      payloads.push(bytes.subarray(start, end))
      start = end
    }
    return payloads
  }

  /** Offset of the first payload. */
  get #start(): number {
    return this.isPacked ? countBytes + endBytes * this.count : 0
  }

  /** Start offset of a payload; of `count`: the end of the last one. */
  #offset(index: number): number {
    return index === 0 ? this.#start : this.#end(index - 1)
  }

  #end(index: number): number {
    if (!this.isPacked) return this.value.length
    return this.#start + this.value.readUInt32BE(countBytes + endBytes * index)
  }
}

/**
 * Packs payloads. The bytes are copied, so the caller may change its own afterwards. One packer
 * serves all requests, because packing does not wait.
 */
export class PayloadPacker {
  #bytes = Buffer.allocUnsafe(1 << 16)
  #ends = new Uint32Array(1 << 8)
  #length = 0
  #count = 0

  /** Number of payloads since the last `take`. */
  get count(): number {
    return this.#count
  }

  /** Bytes of those payloads. */
  get length(): number {
    return this.#length
  }

  /** Adds a payload, strings in UTF-8; returns its number of bytes. */
  add(payload: BytesLike): number {
    const before = this.#length
    if (typeof payload === 'string') {
      this.#reserve(3 * payload.length)
      this.#length += this.#bytes.write(payload, before, 'utf8')
    } else {
      this.#reserve(payload.length)
      this.#bytes.set(payload, before)
      this.#length += payload.length
    }
    if (this.#count === this.#ends.length) {
      const longer = new Uint32Array(2 * this.#count)
      longer.set(this.#ends)
      this.#ends = longer
    }
    this.#ends[this.#count++] = this.#length
    return this.#length - before
  }

  /** Returns the added payloads and empties the packer. REQUIRES at least one. */
  take(): PackedPayloads {
    const count = this.#count
    const length = this.#length
    assert(count > 0, 'a row has at least one payload')
    this.clear()
    const source = this.#bytes
    if (count === 1) return PackedPayloads.single(Buffer.from(source.subarray(0, length)))
    const start = countBytes + endBytes * count
    const value = Buffer.allocUnsafe(start + length)
    let at = value.writeUInt32BE(count, 0)
    for (let i = 0; i < count; i++) at = value.writeUInt32BE(this.#ends[i], at)
    source.copy(value, start, 0, length)
    return PackedPayloads.packed(count, value)
  }

  clear(): void {
    this.#count = 0
    this.#length = 0
  }

  #reserve(bytes: number): void {
    const wanted = this.#length + bytes
    if (wanted <= this.#bytes.length) return
    const longer = Buffer.allocUnsafe(Math.max(wanted, 2 * this.#bytes.length))
    this.#bytes.copy(longer, 0, 0, this.#length)
    this.#bytes = longer
  }
}

function malformed(value: Buffer): CellarError {
  const message = `packed messages of ${value.length} bytes are malformed`
  return new CellarError(ErrorCode.corruption, message)
}
