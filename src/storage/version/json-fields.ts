/**
 * Strict readers for the fields of a decoded JSON object.
 *
 * Every function throws an {@link InvariantError} whose message names the field. The reader of the
 * manifest turns it into a corruption error with file and offset. When an edit is published, the
 * error passes unchanged, because then the engine itself made a malformed edit.
 */

import { InvariantError } from '../../base/assert.js'

/** A JSON object whose fields are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Deepest nesting of an options object. A deeper one is refused, since it could exhaust the stack.
 */
export const optionsDepthMax = 32

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n
const decimalPattern = /^(?:0|-?[1-9]\d{0,18})$/

/** Throws an {@link InvariantError}: `field` is not `expected`. */
export function malformed(field: string, expected: string): never {
  throw new InvariantError(`${field} is not ${expected}`)
}

/** Returns `value` if it is an object and no array. */
export function readObject(value: unknown, field: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    malformed(field, 'an object')
  }
  return value as JsonObject
}

/** Returns `value` if it is an array. */
export function readArray(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) malformed(field, 'an array')
  return value
}

/** Throws if the object has a field that is not in `known`. */
export function refuseUnknownFields(
  object: JsonObject,
  known: ReadonlySet<string>,
  what: string,
): void {
  for (const field of Object.keys(object)) {
    if (!known.has(field)) throw new InvariantError(`${what} has the unknown field ${field}`)
  }
}

/** Reads a whole number from `minimum` to 2^53 - 1, both inclusive. */
export function readCount(object: JsonObject, field: string, minimum = 0): number {
  const value = object[field]
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < minimum) {
    malformed(field, `a whole number of at least ${minimum}`)
  }
  return value
}

/** Reads a string that is not empty. */
export function readName(object: JsonObject, field: string): string {
  const value = object[field]
  if (typeof value !== 'string' || value.length === 0) malformed(field, 'a non-empty string')
  return value
}

/** Reads bytes in canonical base64. */
export function readBase64(object: JsonObject, field: string): Buffer {
  const value = object[field]
  if (typeof value !== 'string') malformed(field, 'base64')
  const bytes = Buffer.from(value, 'base64')
  if (bytes.toString('base64') !== value) malformed(field, 'canonical base64')
  return bytes
}

/** Reads a signed 64-bit number, written as a decimal string. */
export function readInt64(object: JsonObject, field: string): bigint {
  const value = object[field]
  if (typeof value !== 'string' || !decimalPattern.test(value)) malformed(field, 'a decimal string')
  const number = BigInt(value)
  if (number < int64Min || number > int64Max) malformed(field, 'within 64 signed bits')
  return number
}

/** Reads an options object and freezes it with all its parts. */
export function readOptions(object: JsonObject, field: string): JsonObject {
  const options = readObject(object[field], field)
  freeze(options, field, 1)
  return options
}

function freeze(value: unknown, field: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > optionsDepthMax) malformed(field, `nested at most ${optionsDepthMax} deep`)
  for (const child of Object.values(value)) freeze(child, field, depth + 1)
  Object.freeze(value)
}
