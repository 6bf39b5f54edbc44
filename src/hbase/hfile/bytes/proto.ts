/** The little of protobuf that trailers and file infos need: varints, and lengths with bytes. */
import type { CellarError } from '../../../base/errors.js'

/** A field of a message: a number for a varint, else bytes. */
export type ProtoField = readonly [number: number, value: number | Buffer]

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  return [...bytes, rest]
}

/** Encodes the fields of a message in the order given. Numbers are safe integers >= 0. */
export function encodeMessage(fields: readonly ProtoField[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === 'number') return [Buffer.from([...varint(number * 8), ...varint(value)])]
      return [Buffer.from([...varint(number * 8 + 2), ...varint(value.length)]), value]
    }),
  )
}

/** Puts the length in front of a message. */
export function delimited(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from(varint(message.length)), message])
}

/** Reads messages from `source[at, end)`. `damaged` makes the error for bytes that are none. */
export class ProtoReader {
  readonly #source: Buffer
  readonly #end: number
  readonly #damaged: (found: string) => CellarError
  /** Offset of the next byte. */
  at: number

  constructor(source: Buffer, at: number, end: number, damaged: (found: string) => CellarError) {
    this.#source = source
    this.at = at
    this.#end = end
    this.#damaged = damaged
  }

  /** The next message with its length in front. */
  message(): ProtoField[] {
    const bytes = this.bytes()
    return new ProtoReader(bytes, 0, bytes.length, this.#damaged).fields()
  }

  fields(): ProtoField[] {
    const fields: ProtoField[] = []
    while (this.at < this.#end) {
      const tag = this.varint()
      const number = Math.floor(tag / 8)
      const form = tag % 8
      if (form !== 0 && form !== 2) throw this.#damaged(`a field of form ${form}`)
      fields.push([number, form === 0 ? this.varint() : this.bytes()])
    }
    return fields
  }

  /** The next number, in its shortest form; -1 for all 64 bits. */
  varint(): number {
    let value = 0n
    for (let shift = 0n; shift < 70n && this.at < this.#end; shift += 7n) {
      const byte = this.#source[this.at++]
      value |= BigInt(byte & 0x7f) << shift
      if (byte >= 0x80) continue
      const number = value === 2n ** 64n - 1n ? -1 : Number(value)
      if ((byte > 0 || shift === 0n) && Number.isSafeInteger(number)) return number
      break
    }
    throw this.#damaged(`no number at ${this.at}`)
  }

  /** The next bytes with their length in front. */
  bytes(): Buffer {
    const length = this.varint()
    const start = this.at
    if (length < 0 || length > this.#end - start)
      throw this.#damaged(`${length} bytes at ${start}, too many`)
    this.at = start + length
    return this.#source.subarray(start, this.at)
  }
}
