/**
 * A checksum over answers: what makes a fast wrong answer fail.
 *
 * Inside timed loops every answer enters it with its length and up to 16 bytes spread over each
 * value; the final state of a store enters it with every byte.
 */
import type { RowValues } from '../engine.js'

const prime = 0x01000193

/** Folds answers into 32 bits, in order. */
export class Checksum {
  #state = 0x811c9dc5 | 0

  /** Adds a number: a count, or whether something succeeded. */
  addNumber(value: number): void {
    this.#mix(value | 0)
    // Counters may be larger than 32 bits.
    if (value > 0x7fffffff) this.#mix(Math.floor(value / 0x1_0000_0000))
  }

  /** Adds the length and a sample of the bytes. */
  addSample(bytes: Buffer): void {
    const { length } = bytes
    this.#mix(length)
    if (length < 4) {
      for (let at = 0; at < length; at++) this.#mix(bytes[at])
      return
    }
    this.#mix(bytes.readInt32LE(0))
    if (length > 4) this.#mix(bytes.readInt32LE(length - 4))
    if (length > 32) {
      this.#mix(bytes.readInt32LE(length >>> 1))
      this.#mix(bytes.readInt32LE(length >>> 2))
    }
  }

  /** Adds the values of a row, absent ones too. */
  addRow(values: RowValues): void {
    this.#mix(values.length)
    for (let column = 0; column < values.length; column++) {
      const value = values[column]
      if (value === undefined) this.#mix(-1)
      else this.addSample(value)
    }
  }

  /** Adds every byte. */
  addAll(bytes: Buffer): void {
    this.#mix(bytes.length)
    const words = bytes.length >>> 2
    for (let word = 0; word < words; word++) this.#mix(bytes.readInt32LE(word << 2))
    for (let at = words << 2; at < bytes.length; at++) this.#mix(bytes[at])
  }

  /** Eight hexadecimal digits. */
  get hex(): string {
    let mixed = this.#state
    mixed ^= mixed >>> 16
    return (Math.imul(mixed, 0x85ebca6b) >>> 0).toString(16).padStart(8, '0')
  }

  #mix(value: number): void {
    const state = Math.imul(this.#state ^ value, prime)
    this.#state = (state << 13) | (state >>> 19)
  }
}
