/**
 * The form of records in JSON: what each field may hold, declared once. The type of a record, its
 * reader and its writer all come from the declaration.
 *
 * Readers are strict: a missing field, an unknown one or a value out of range throws an {@link
 * InvariantError} whose message names the field. The reader of the manifest turns it into a
 * corruption error with file and offset. When an edit is published, the error passes unchanged,
 * because then the engine itself made a malformed edit.
 */
import { InvariantError } from '../../base/assert.js'

/** A JSON object whose fields are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A kind of field: how values are read from JSON and, if they differ there, written to it. */
export interface Field<T> {
  /** Returns the value. Throws if it is malformed; messages call it `name`. */
  read(this: void, value: unknown, name: string): T
  write?(this: void, value: T): unknown
  readonly isOptional?: boolean
}

/** A kind of field whose values are JSON objects. */
export interface RecordField<T> extends Field<T> {
  write(this: void, value: T): JsonObject
}

/** A field that may be absent. */
export interface OptionalField<T> extends Field<T> {
  readonly isOptional: true
}

type Fields = Readonly<Record<string, Field<unknown>>>
type ValueOf<F> = F extends { read(value: unknown, name: string): infer T } ? T : never
type OptionalNames<F> = {
  [K in keyof F]: F[K] extends { readonly isOptional: true } ? K : never
}[keyof F]

/** The type of the records that fields declare. */
export type RecordOf<F> = {
  readonly [K in keyof F as Exclude<K, OptionalNames<F>>]: ValueOf<F[K]>
} & {
  readonly [K in keyof F as Extract<K, OptionalNames<F>>]?: ValueOf<F[K]>
}

/**
 * Deepest nesting of an options object. A deeper one is refused, since it could exhaust the stack.
 */
export const optionsDepthMax = 32

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n
const decimalPattern = /^(?:0|-?[1-9]\d{0,18})$/

function malformed(name: string, expected: string): never {
  throw new InvariantError(`${name} is not ${expected}`)
}

/** Returns `value` if it is an object and no array. */
export function readObject(value: unknown, name: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    malformed(name, 'an object')
  }
  return value as JsonObject
}

/** A whole number from `minimum` to 2^53 - 1, both inclusive. */
export function count(minimum = 0): Field<number> {
  return {
    read(value, name) {
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum) return value
      return malformed(name, `a whole number of at least ${minimum}`)
    },
  }
}

/** A string that is not empty. */
export const name: Field<string> = {
  read(value, name) {
    if (typeof value === 'string' && value.length > 0) return value
    return malformed(name, 'a non-empty string')
  },
}

/** True; the field is absent for false. */
export const isTrue: OptionalField<true> = {
  isOptional: true,
  read: (value, name) => (value === true ? value : malformed(name, 'true')),
}

/** Bytes, as canonical base64. */
export const bytes: Field<Buffer> = {
  read(value, name) {
    if (typeof value !== 'string') malformed(name, 'base64')
    const decoded = Buffer.from(value, 'base64')
    if (decoded.toString('base64') !== value) malformed(name, 'canonical base64')
    return decoded
  },
  write: (value) => value.toString('base64'),
}

/** A signed 64-bit number, as a decimal string. */
export const int64: Field<bigint> = {
  read(value, name) {
    if (typeof value !== 'string' || !decimalPattern.test(value))
      malformed(name, 'a decimal string')
    const number = BigInt(value)
    if (number < int64Min || number > int64Max) malformed(name, 'within 64 signed bits')
    return number
  },
  write: String,
}

/** An object that this layer does not read, frozen with all its parts. */
export const freeObject: Field<JsonObject> = {
  read(value, name) {
    const object = readObject(value, name)
    freeze(object, name, 1)
    return object
  },
}

/** The same field, which may be absent. */
export function optional<T>(field: Field<T>): OptionalField<T> {
  return { ...field, isOptional: true }
}

/** A list of such values. */
export function listOf<T>(field: Field<T>): Field<readonly T[]> {
  const { write } = field
  return {
    read(value, name) {
      if (!Array.isArray(value)) malformed(name, 'an array')
      return value.map((each) => field.read(each, name))
    },
    ...(write !== undefined && { write: (list) => list.map((each) => write(each)) }),
  }
}

/** An object of exactly these fields; messages call it `what`. Written in the order of `fields`. */
export function record<F extends Fields>(what: string, fields: F): RecordField<RecordOf<F>> {
  const entries = Object.entries(fields)
  return {
    read(value) {
      const object = readObject(value, what)
      for (const name of Object.keys(object)) {
        if (!Object.hasOwn(fields, name)) {
          throw new InvariantError(`${what} has the unknown field ${name}`)
        }
      }
      const result: Record<string, unknown> = {}
      for (const [name, field] of entries) {
        if (object[name] === undefined && field.isOptional === true) continue
        result[name] = field.read(object[name], name)
      }
      return result as RecordOf<F>
    },
    write(value) {
      const result: Record<string, unknown> = {}
      for (const [name, { write }] of entries) {
        const each = (value as JsonObject)[name]
        if (each !== undefined) result[name] = write === undefined ? each : write(each)
      }
      return result
    },
  }
}

function freeze(value: unknown, name: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > optionsDepthMax) malformed(name, `nested at most ${optionsDepthMax} deep`)
  for (const child of Object.values(value)) freeze(child, name, depth + 1)
  Object.freeze(value)
}
