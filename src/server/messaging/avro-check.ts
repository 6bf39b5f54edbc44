/**
 * Checks the structure of Avro bodies before they are decoded. `avsc` does not validate counts: a
 * count of two billion makes it loop two billion times. The check is bounded by the bytes of the
 * body, and allocates nothing.
 */
import { invalidArgument } from '../http/http-errors.js'

/** The structure of a value; text counts as bytes. The keys of a map are texts. */
export type Shape =
  | 'bytes'
  | 'long'
  | 'int'
  | 'boolean'
  | 'null'
  | { array: Shape }
  | { map: Shape }
  | { union: Shape[] }

/** Bytes of the longest 64-bit number. */
const varintBytesMax = 10

/** Checks a body; `ERR_INVALID_ARGUMENT` unless it consists of exactly these fields. */
export function checkBody(body: Buffer, shape: readonly Shape[]): void {
  let at = 0
  // Above 2^53 a number is inexact, but still too large for any count or length.
  const varint = (): number => {
    let value = 0
    let factor = 1
    let isNegative = false
    for (let length = 0; length < varintBytesMax; length++) {
      if (at >= body.length) throw malformed('it ends too early')
      const byte = body[at++]
      if (length === 0) isNegative = (byte & 1) === 1
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return isNegative ? -(value + 1) / 2 : value / 2
      factor *= 0x80
    }
    throw malformed('a number is too long')
  }
  const skip = (bytes: number): void => {
    if (bytes < 0 || bytes > body.length - at) throw malformed('it ends too early')
    at += bytes
  }
  const walk = (part: Shape): void => {
    if (part === 'bytes') skip(varint())
    else if (part === 'boolean') skip(1)
    else if (part === 'long') varint()
    else if (part === 'int') {
      const value = varint()
      if ((value | 0) !== value) throw malformed('a number has more than 32 bits')
    } else if (typeof part === 'object' && 'union' in part) {
      const branch = varint()
      if (branch < 0 || branch >= part.union.length) throw malformed('an unknown branch')
      walk(part.union[branch])
    } else if (typeof part === 'object')
      walkBlocks('array' in part ? [part.array] : ['bytes', part.map])
  }
  const walkBlocks = (members: readonly Shape[]): void => {
    for (let count = varint(); count !== 0; count = varint()) {
      if (count < 0) {
        count = -count
        varint()
      }
      // Every item takes at least a byte.
      if (count > body.length - at) throw malformed('it ends too early')
      for (let i = 0; i < count; i++) for (const member of members) walk(member)
    }
  }
  for (const part of shape) walk(part)
  if (at !== body.length) throw malformed('there are bytes behind its end')
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function malformed(what: string): Error {
  return invalidArgument(`malformed Avro: ${what}`)
}
