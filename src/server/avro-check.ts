/**
 * Walks bodies in Avro before they are decoded. `avsc` trusts what it decodes: a count of two
 * billion makes it loop so often. The walk is bounded by the bytes of the body, and costs no
 * memory.
 */
import { invalidArgument } from './http-errors.js'

/** What a value is made of; text counts as bytes. A map has texts as keys. */
export type Shape =
  | 'bytes'
  | 'long'
  | 'int'
  | 'boolean'
  | 'null'
  | { array: Shape }
  | { map: Shape }
  | { union: Shape[] }

/** Walks a body; `ERR_INVALID_ARGUMENT` if it is not made of these fields, and nothing behind. */
export function checkBody(body: Buffer, shape: readonly Shape[]): void {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= body.length) throw malformed('it ends too early')
      const byte = body[at++]
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw malformed('a number is too long')
  }
  const skip = (bytes: bigint): void => {
    if (bytes < 0n || bytes > BigInt(body.length - at)) throw malformed('it ends too early')
    at += Number(bytes)
  }
  const walk = (part: Shape): void => {
    if (part === 'bytes') skip(varint())
    else if (part === 'boolean') skip(1n)
    else if (part === 'long') varint()
    else if (part === 'int') {
      const value = varint()
      if (BigInt.asIntN(32, value) !== value) throw malformed('a number has more than 32 bits')
    } else if (typeof part === 'object' && 'union' in part) {
      const branch = varint()
      if (branch < 0n || branch >= BigInt(part.union.length)) throw malformed('an unknown branch')
      walk(part.union[Number(branch)])
    } else if (typeof part === 'object')
      walkBlocks('array' in part ? [part.array] : ['bytes', part.map])
  }
  const walkBlocks = (members: readonly Shape[]): void => {
    for (let count = varint(); count !== 0n; count = varint()) {
      if (count < 0n) {
        count = -count
        varint()
      }
      // Every item takes a byte at least.
      if (count > BigInt(body.length - at)) throw malformed('it ends too early')
      for (let i = 0n; i < count; i++) for (const member of members) walk(member)
    }
  }
  for (const part of shape) walk(part)
  if (at !== body.length) throw malformed('there are bytes behind its end')
}

/** `ERR_INVALID_ARGUMENT`. */
export function malformed(what: string): Error {
  return invalidArgument(`malformed Avro: ${what}`)
}
