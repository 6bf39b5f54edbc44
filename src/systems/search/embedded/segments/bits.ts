/** A bitmap of document numbers: the removed documents of a segment. */
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'

/** A set of integers from 0 up to a fixed size, as a bitmap. */
export class Bits {
  readonly #words: Uint32Array
  #count = 0

  constructor(size: number, words?: Uint32Array, count = 0) {
    this.#words = words ?? new Uint32Array((size + 31) >>> 5)
    this.#count = count
  }

  /** Number of integers in the set. */
  get count(): number {
    return this.#count
  }

  has(number: number): boolean {
    return ((this.#words[number >>> 5] >>> (number & 31)) & 1) === 1
  }

  /** Adds a number; false if the set already contains it. */
  add(number: number): boolean {
    if (this.has(number)) return false
    this.#words[number >>> 5] |= 1 << (number & 31)
    this.#count++
    return true
  }

  copy(): Bits {
    return new Bits(0, this.#words.slice(), this.#count)
  }

  /** The numbers in ascending order. */
  toArray(): Int32Array {
    const numbers = new Int32Array(this.#count)
    let at = 0
    for (let index = 0; index < this.#words.length; index++) {
      let word = this.#words[index]
      while (word !== 0) {
        const bit = 31 - Math.clz32(word & -word)
        numbers[at++] = index * 32 + bit
        word &= word - 1
      }
    }
    return numbers
  }

  /** The count, then each number as the distance from its predecessor, all varints. */
  encode(): Buffer {
    const writer = new ByteWriter()
    writer.varint(this.#count)
    let last = -1
    for (const number of this.toArray()) {
      writer.varint(number - last - 1)
      last = number
    }
    return writer.finish()
  }

  /** Decodes {@link encode}; `ERR_CORRUPTION` also for a number of `size` or more. */
  static decode(bytes: Buffer, size: number, what: string): Bits {
    const reader = new ByteReader(bytes, what)
    const bits = new Bits(size)
    let last = -1
    for (let left = reader.count(); left > 0; left--) {
      last += reader.varint() + 1
      if (last >= size) throw reader.failure(`there is no document ${last}`)
      bits.add(last)
    }
    reader.finish()
    return bits
  }
}
