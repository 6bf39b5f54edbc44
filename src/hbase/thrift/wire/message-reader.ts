/**
 * Cuts the bytes of a connection into messages.
 *
 * Framed: the length stands in front. Buffered: nothing says where a message ends, so its elements
 * are passed over one by one. The position is kept between arrivals of bytes: an answer of many
 * megabytes comes in thousands of pieces, and no byte is looked at twice.
 */
import { wrongAnswer } from './errors.js'

/** Takes the bytes that arrive, and returns a message when it is whole. */
export abstract class MessageReader {
  protected bytes: Buffer = Buffer.alloc(0)
  /** Bytes that arrived and belong to no message that was returned. */
  protected length = 0
  protected readonly bytesMax: number

  /** A message of more than `bytesMax` bytes is refused. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Returns the message that these bytes complete. Throws `ERR_UNAVAILABLE` for other bytes. */
  push(more: Buffer): Buffer | undefined {
    const length = this.length + more.length
    if (length > this.bytesMax) {
      throw wrongAnswer(`it is longer than messageBytesMax, ${this.bytesMax} bytes`)
    }
    if (this.length === 0) this.bytes = more
    else {
      if (length > this.bytes.length) {
        const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.bytes.length))
        this.bytes.copy(larger, 0, 0, this.length)
        this.bytes = larger
      }
      more.copy(this.bytes, this.length)
    }
    this.length = length
    const [start, end] = this.find() ?? []
    if (end === undefined) return undefined
    if (end !== length) throw wrongAnswer('bytes follow that belong to no call')
    this.length = 0
    return this.bytes.subarray(start, end)
  }

  /** Start and end of the message; undefined while it is not whole. */
  protected abstract find(): readonly [start: number, end: number] | undefined
}

/** Messages with their length in front. */
export class FramedReader extends MessageReader {
  protected find(): readonly [start: number, end: number] | undefined {
    if (this.length < 4) return undefined
    const length = this.bytes.readInt32BE(0)
    if (length < 0 || length > this.bytesMax) throw wrongAnswer(`a frame of ${length} bytes`)
    return this.length < 4 + length ? undefined : [4, 4 + length]
  }
}

/** Bytes of the values that have always the same length, by number of the type. */
const fixedBytes: Readonly<Record<number, number>> = { 2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8 }
const textCode = 11
const structCode = 12
const mapCode = 13
const setCode = 14
const listCode = 15
/** The first half of a message of the binary protocol. */
const version = 0x8001
/** Deepest nesting of values; HBase's service nests values six deep. */
const depthMax = 64

/** Values that a message still has to bring: `count` of them, of the types in turn. */
interface ValuesToCome {
  count: number
  readonly types: readonly number[]
}

/** Messages that follow each other directly. */
export class BufferedReader extends MessageReader {
  /** End of the elements that were passed over. */
  #at = 0
  /** Innermost last; undefined: the head of the message comes first. */
  #due: ValuesToCome[] | undefined = undefined

  protected find(): readonly [start: number, end: number] | undefined {
    if (this.#due === undefined && !this.#passHead()) return undefined
    const due = this.#due as unknown as ValuesToCome[]
    for (;;) {
      const last = due.at(-1)
      if (last === undefined) break
      if (last.count === 0) due.pop()
      else if (!this.#passValue(due, last)) return undefined
    }
    const end = this.#at
    this.#at = 0
    this.#due = undefined
    return [0, end]
  }

  /** Passes over version, name and number of the message. */
  #passHead(): boolean {
    const { bytes, length } = this
    if (length < 8) return false
    if (bytes.readUInt16BE(0) !== version) {
      throw wrongAnswer(`it begins with ${bytes.toString('hex', 0, 8)}, as no Thrift answer does`)
    }
    const nameBytes = bytes.readInt32BE(4)
    if (nameBytes < 0) throw wrongAnswer('a name of negative length')
    if (length < 12 + nameBytes) return false
    this.#at = 12 + nameBytes
    this.#due = [{ count: 1, types: [structCode] }]
    return true
  }

  /** Passes over one value or, of one that contains others, over its head. */
  #passValue(due: ValuesToCome[], last: ValuesToCome): boolean {
    const { bytes, length } = this
    const type = last.types[last.count % last.types.length]
    const left = length - this.#at
    const fixed = fixedBytes[type]
    if (fixed !== undefined) return this.#pass(last, fixed, left)
    if (type === structCode) return this.#passField(due, last, left)
    if (type === textCode) {
      if (left < 4) return false
      return this.#pass(last, 4 + counted(bytes.readInt32BE(this.#at)), left)
    }
    const headBytes = type === mapCode ? 6 : 5
    if (![mapCode, setCode, listCode].includes(type)) throw wrongAnswer(`type ${type} of a value`)
    if (left < headBytes) return false
    const size = counted(bytes.readInt32BE(this.#at + headBytes - 4))
    // Counted downwards: of a map's 2 * size values the first is a key.
    const types = [...bytes.subarray(this.#at, this.#at + headBytes - 4)]
    this.#pass(last, headBytes, left)
    nest(due, { count: size * types.length, types })
    return true
  }

  /** Passes over the head of a struct's next field, or over its end. */
  #passField(due: ValuesToCome[], last: ValuesToCome, left: number): boolean {
    if (left < 1) return false
    const type = this.bytes[this.#at]
    if (type === 0) return this.#pass(last, 1, left)
    if (left < 3) return false
    this.#at += 3
    nest(due, { count: 1, types: [type] })
    return true
  }

  #pass(last: ValuesToCome, bytes: number, left: number): boolean {
    if (left < bytes) return false
    this.#at += bytes
    last.count--
    return true
  }
}

function nest(due: ValuesToCome[], more: ValuesToCome): void {
  if (due.length >= depthMax) throw wrongAnswer('values nested too deeply')
  due.push(more)
}

function counted(length: number): number {
  if (length < 0) throw wrongAnswer('a negative length')
  return length
}
