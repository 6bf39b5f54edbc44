/**
 * The types of requests and answers. A type has two forms, Avro's binary one and JSON, and the JSON
 * schema of the second for the OpenAPI description.
 *
 * In JSON bytes are base64, ids are hexadecimal, and 64-bit numbers are strings of digits. A member
 * of a union may have the name of its Avro type: `{ "long": "7" }`.
 */
import {
  declareOptions,
  invalidArgument,
  type JsonSchema,
  type Option,
} from '../../../api/index.js'
import { pointerOf } from '../../transactions/tephra/transaction-forms.js'
import { parsedJson } from '../../../http/operations.js'
import { AvroReader, AvroWriter } from '../../bytes/avro.js'

/** A type; the readers throw `ERR_INVALID_ARGUMENT`, with `what` as the name of the value. */
export interface WireType<Read, Written = Read> {
  write(target: AvroWriter, value: Written): void
  read(source: AvroReader): Read
  toJson(value: Written): unknown
  fromJson(json: unknown, what: string): Read
  readonly schema: JsonSchema
}

/** The forms of a body. */
export type Form = 'avro' | 'json'

/** The content types of the forms. */
export const contentTypes = { avro: 'avro/binary', json: 'application/json' } as const

/** The bytes or the text of a value. `capacity`: bytes to expect. */
export function encode<T>(
  type: WireType<unknown, T>,
  value: T,
  form: Form,
  capacity?: number,
): Buffer | string {
  if (form === 'json') return JSON.stringify(type.toJson(value))
  const target = new AvroWriter(capacity)
  type.write(target, value)
  return target.finish()
}

/** The value of a body; an empty body is an empty object in JSON. `ERR_INVALID_ARGUMENT`. */
export function decode<T>(type: WireType<T, never>, body: Buffer, form: Form): T {
  if (form === 'json') return type.fromJson(parsedJson(body), 'the body')
  const source = new AvroReader(body)
  const value = type.read(source)
  source.finish()
  return value
}

type Fields = Readonly<Record<string, unknown>>

/** `ERR_INVALID_ARGUMENT` unless the value is an object of JSON. */
export function checkFields(json: unknown, what: string): Fields {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Fields
  throw invalidArgument(`${what} is no JSON object`)
}

/** Bytes of a text in this encoding. `ERR_INVALID_ARGUMENT`. */
export function bytesOf(value: unknown, what: string, encoding: 'base64' | 'hex'): Buffer {
  const pattern = encoding === 'hex' ? /^([0-9a-f]{2})*$/i : /^[A-Za-z0-9+/]*={0,2}$/
  if (typeof value === 'string' && pattern.test(value)) {
    if (encoding === 'hex' || value.length % 4 === 0) return Buffer.from(value, encoding)
  }
  throw invalidArgument(`${what} must be a string in ${encoding}`)
}

function bytesIn(encoding: 'base64' | 'hex', schema: JsonSchema): WireType<Buffer, Uint8Array> {
  return {
    write: (target, value) => target.lengthAndBytes(value),
    read: (source) => source.lengthAndBytes(),
    toJson: (value) => Buffer.from(value.buffer, value.byteOffset, value.length).toString(encoding),
    fromJson: (json, what) => bytesOf(json, what, encoding),
    schema,
  }
}

/** Bytes, base64 in JSON. */
export const bytes = bytesIn('base64', { type: 'string', contentEncoding: 'base64' })

/** The id of a message, hexadecimal in JSON. */
export const messageId = bytesIn('hex', { type: 'string', description: 'hexadecimal' })

const digits: JsonSchema = { type: 'string', description: 'a 64-bit number in decimal digits' }

/** A number of 64 bits. */
export const long: WireType<bigint> = {
  write: (target, value) => target.long(value),
  read: (source) => source.long(),
  toJson: String,
  fromJson: pointerOf,
  schema: digits,
}

/** A safe integer that Avro writes as a long: a time. */
export const time: WireType<number> = {
  write: (target, value) => target.long(value),
  read: (source) => Number(source.long()),
  toJson: String,
  fromJson: (json, what) => Number(pointerOf(json, what)),
  schema: digits,
}

const intMax = 2 ** 31 - 1

/** A number of 32 bits. Avro writes a greater one as the greatest; JSON keeps it. */
export const int: WireType<number> = {
  write: (target, value) => target.long(Math.min(value, intMax)),
  read: (source) => {
    const value = source.number()
    if ((value | 0) !== value) throw source.failure('a number has more than 32 bits')
    return value
  },
  toJson: (value) => value,
  fromJson: (json, what) => Number(pointerOf(json, what)),
  schema: { type: 'integer' },
}

/** True or false; absent in JSON means true. */
export const trueByDefault: WireType<boolean> = {
  write: (target, value) => target.boolean(value),
  read: (source) => source.boolean(),
  toJson: (value) => value,
  fromJson: (json, what) => {
    if (json === undefined || json === null || typeof json === 'boolean') return json ?? true
    throw invalidArgument(`${what} must be a boolean`)
  },
  schema: { type: 'boolean', default: true },
}

/** Text; in JSON also a number or a boolean. */
export const text: WireType<string> = {
  write: (target, value) => target.lengthAndBytes(Buffer.from(value)),
  read: (source) => source.lengthAndBytes().toString('utf8'),
  toJson: (value) => value,
  fromJson: (json, what) => {
    if (['string', 'number', 'boolean'].includes(typeof json)) return String(json)
    throw invalidArgument(`${what} must be a string`)
  },
  schema: { type: 'string' },
}

/** An array. */
export function list<R, W>(item: WireType<R, W>): WireType<R[], readonly W[]> {
  return {
    write: (target, values) => {
      if (values.length > 0) target.long(values.length)
      for (const each of values) item.write(target, each)
      target.long(0)
    },
    read: (source) => source.items(() => item.read(source)),
    toJson: (values) => values.map((each) => item.toJson(each)),
    fromJson: (json, what) => {
      if (!Array.isArray(json)) throw invalidArgument(`${what} must be an array`)
      return json.map((each) => item.fromJson(each, `each of ${what}`))
    },
    schema: { type: 'array', items: item.schema },
  }
}

/** An object with any names. */
export function map<T>(
  item: WireType<T>,
): WireType<Record<string, T>, Readonly<Record<string, T>>> {
  return {
    write: (target, values) => {
      const entries = Object.entries(values)
      if (entries.length > 0) target.long(entries.length)
      for (const [name, value] of entries) {
        text.write(target, name)
        item.write(target, value)
      }
      target.long(0)
    },
    read: (source) => {
      return Object.fromEntries(source.items(() => [text.read(source), item.read(source)] as const))
    },
    toJson: (values) => values,
    fromJson: (json, what) => {
      const entries = Object.entries(checkFields(json, what))
      return Object.fromEntries(entries.map(([name, each]) => [name, item.fromJson(each, name)]))
    },
    schema: { type: 'object', additionalProperties: item.schema },
  }
}

/** The union of a type and null, in this order. `name` is that of the type in Avro. */
export function optional<R, W>(
  name: 'bytes' | 'int' | 'long',
  type: WireType<R, W>,
): WireType<R | undefined, W | undefined> {
  return {
    write: (target, value) => {
      target.long(value === undefined ? 1 : 0)
      if (value !== undefined) type.write(target, value)
    },
    read: (source) => (branchOf(source, 2) === 0 ? type.read(source) : undefined),
    toJson: (value) => (value === undefined ? null : type.toJson(value)),
    fromJson: (json, what) => {
      const own = unwrapped(json, name)
      return own === undefined || own === null ? undefined : type.fromJson(own, what)
    },
    schema: { anyOf: [type.schema, { type: 'null' }] },
  }
}

/** The number of a union's branch, below `count`. */
export function branchOf(source: AvroReader, count: number): number {
  const branch = source.number()
  if (branch < 0 || branch >= count) throw source.failure('an unknown branch')
  return branch
}

/** The value of `{ [name]: value }`; another value unchanged. */
export function unwrapped(json: unknown, name: string): unknown {
  if (typeof json !== 'object' || json === null) return json
  const names = Object.keys(json)
  return names.length === 1 && names[0] === name ? (json as Fields)[name] : json
}

type Types = Readonly<Record<string, WireType<unknown, never>>>
type ReadOf<T> = T extends WireType<infer R, never> ? R : never
type WrittenOf<T> = T extends WireType<unknown, infer W> ? W : never

/** An object with these members. `what` names the object in messages. */
export function record<T extends Types>(
  what: string,
  types: T,
): WireType<
  { readonly [K in keyof T]: ReadOf<T[K]> },
  { readonly [K in keyof T]: WrittenOf<T[K]> }
> {
  type Read = { readonly [K in keyof T]: ReadOf<T[K]> }
  const members = Object.entries(types) as [string, WireType<unknown>][]
  const each = (
    of: (name: string, type: WireType<unknown>) => unknown,
  ): Record<string, unknown> => {
    const object: Record<string, unknown> = {}
    for (const [name, type] of members) object[name] = of(name, type)
    return object
  }
  const read = each((_, type) => {
    const { schema } = type
    return { schema, read: (json: unknown, name: string) => type.fromJson(json, name) }
  })
  const declared = declareOptions(what, read as Record<string, Option<unknown, unknown>>)
  return {
    write: (target, value) => {
      for (const [name, type] of members) type.write(target, value[name])
    },
    read: (source) => each((_, type) => type.read(source)) as Read,
    toJson: (value) => each((name, type) => type.toJson(value[name])),
    fromJson: (json, place) => {
      // Not `declared.read`, whose copies cost as much as the rest: a poll has thousands of these.
      const given = declared.checkNames(checkFields(json, place))
      return each((name, type) => type.fromJson(given[name], name)) as Read
    },
    schema: declared.schema,
  }
}
