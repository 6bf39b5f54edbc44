/**
 * Message types: tables of the fields of protobuf messages (proto2). One table per message drives
 * its binary form, its text form and its checks.
 *
 * A message is a plain object. An absent optional field is an absent property, as distinct from an
 * empty value; a repeated field is an array. `int32` and `uint32` are numbers, `int64` and `uint64`
 * are bigints, bytes are `Uint8Array`s, enumeration values are their names. Unknown fields are kept
 * in `unknownFields` and written back.
 */
import { CellarError, checkBytesLike, ErrorCode } from '../../../api/index.js'

/** Makes the `ERR_INVALID_ARGUMENT` for invalid bytes, text or objects. */
export function invalidRecord(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}

/** A view of bytes, or the UTF-8 form of a string. */
export function toBuffer(value: string | Uint8Array): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  checkBytesLike(value, 'a record')
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/** The scalar types in use. */
export type ScalarType = 'int32' | 'uint32' | 'int64' | 'uint64' | 'string' | 'bytes'

/** An enumeration. */
export interface EnumType {
  readonly numbers: ReadonlyMap<string, number>
  readonly names: ReadonlyMap<number, string>
}

/** One field of a message. */
export interface FieldType {
  readonly name: string
  /** The tag, 1 to 2^29-1. */
  readonly number: number
  readonly label: 'required' | 'optional' | 'repeated'
  readonly type: ScalarType | EnumType | AnyMessageType
}

/** A message type without the shape of its messages. */
export interface AnyMessageType {
  readonly name: string
  /** In ascending order of numbers, the order of both forms. */
  readonly fields: readonly FieldType[]
  readonly byNumber: ReadonlyMap<number, FieldType>
}

/** The type of messages with the shape `T`. */
export interface MessageType<T> extends AnyMessageType {
  /** Never set: binds the type to its shape. */
  readonly shape?: T
}

/**
 * A field that is not in the table. Fields of the binary form have a number and can be written in
 * both forms. Fields of the text form have a name and the canonical text after the name: a colon
 * and a value, or a message in braces. They can be written in the text form only.
 */
export type UnknownField =
  | {
      /** Number of the field in the schema of the writer. */
      readonly number: number
      /** Wire type of the value: 0, 1, 2, 3 (a group) or 5. */
      readonly wireType: number
      /** The stored value without the tag of the field. */
      readonly data: Uint8Array
    }
  | {
      /** Name of the field in the schema of the writer. */
      readonly name: string
      /** Canonical text after the name. */
      readonly text: string
    }

/** The unknown fields of a message. */
export interface WithUnknownFields {
  /** Fields that this version does not know; written back unchanged. */
  readonly unknownFields?: readonly UnknownField[]
}

/** A message of any type: properties by field name. */
export type MessageFields = Record<string, unknown> & { unknownFields?: UnknownField[] }

/** Greatest nesting depth, so that no input can exhaust the stack. */
export const nestingMax = 100

/** Makes a message type. */
export function messageType<T extends object>(
  name: string,
  fields: readonly FieldType[],
): MessageType<T> {
  const sorted = [...fields].sort((a, b) => a.number - b.number)
  return {
    name,
    fields: sorted,
    byNumber: new Map(sorted.map((field) => [field.number, field])),
  }
}

/** A field that every message must have. */
export function required(number: number, name: string, type: FieldType['type']): FieldType {
  return { name, number, label: 'required', type }
}

/** A field that may be absent. */
export function optional(number: number, name: string, type: FieldType['type']): FieldType {
  return { name, number, label: 'optional', type }
}

/** A field with any number of values. */
export function repeated(number: number, name: string, type: FieldType['type']): FieldType {
  return { name, number, label: 'repeated', type }
}

/** Makes an enumeration. */
export function enumType(numbers: Readonly<Record<string, number>>): EnumType {
  const entries = Object.entries(numbers)
  return {
    numbers: new Map(entries),
    names: new Map(entries.map(([name, number]) => [number, name])),
  }
}

/** Whether a field's type is an enumeration. */
export function isEnum(type: FieldType['type']): type is EnumType {
  return typeof type === 'object' && 'numbers' in type
}

/** Whether a field's type is a message. */
export function isMessage(type: FieldType['type']): type is AnyMessageType {
  return typeof type === 'object' && 'fields' in type
}

/**
 * Checks the required fields of a decoded message and its nested messages. `ERR_INVALID_ARGUMENT`.
 */
export function checkRequired(type: AnyMessageType, message: MessageFields): void {
  for (const field of type.fields) {
    const value = message[field.name]
    if (value === undefined) {
      if (field.label !== 'required') continue
      throw invalidRecord(`${type.name} lacks the required field ${field.name}`)
    }
    if (!isMessage(field.type)) continue
    if (field.label !== 'repeated') checkRequired(field.type, value as MessageFields)
    else for (const one of value as MessageFields[]) checkRequired(field.type, one)
  }
}

/** Adds a decoded value to its message; a singular field keeps the last value. */
export function addValue(message: MessageFields, field: FieldType, value: unknown): void {
  if (field.label !== 'repeated') message[field.name] = value
  else if (message[field.name] === undefined) message[field.name] = [value]
  else (message[field.name] as unknown[]).push(value)
}

/**
 * The checked values of a field to write: none if absent, several only if repeated.
 * `ERR_INVALID_ARGUMENT` names the field.
 */
export function valuesToWrite(
  type: AnyMessageType,
  field: FieldType,
  message: MessageFields,
): readonly unknown[] {
  const value = message[field.name]
  if (value === undefined) {
    if (field.label === 'required') {
      throw invalidRecord(`${type.name} needs the field ${field.name}`)
    }
    return noValues
  }
  if (field.label !== 'repeated') {
    checkValue(type, field, value)
    return [value]
  }
  if (!Array.isArray(value)) throw invalidRecord(`${type.name}.${field.name} is not an array`)
  for (const element of value) checkValue(type, field, element)
  return value
}

const noValues: readonly unknown[] = []

function checkValue(type: AnyMessageType, field: FieldType, value: unknown): void {
  if (isValid(field.type, value)) return
  const expected = typeof field.type === 'string' ? field.type : 'right'
  throw invalidRecord(`${type.name}.${field.name} is not a valid ${expected} value`)
}

const limits = {
  int32: [-0x8000_0000, 0x7fff_ffff],
  uint32: [0, 0xffff_ffff],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
} as const

function isValid(type: FieldType['type'], value: unknown): boolean {
  switch (type) {
    case 'int32':
    case 'uint32':
      return Number.isInteger(value) && isInside(type, value as number)
    case 'int64':
    case 'uint64':
      return typeof value === 'bigint' && isInside(type, value)
    case 'string':
      return typeof value === 'string' && !loneSurrogate.test(value)
    case 'bytes':
      return value instanceof Uint8Array
    default:
      if (isEnum(type)) return typeof value === 'string' && type.numbers.has(value)
      return typeof value === 'object' && value !== null
  }
}

/** A string with a lone surrogate has no UTF-8 form. */
const loneSurrogate = /\p{Surrogate}/u

/** Whether an integer is in the range of its type. */
export function isInside(type: keyof typeof limits, value: number | bigint): boolean {
  return value >= limits[type][0] && value <= limits[type][1]
}
