/**
 * Field tables of protobuf messages (proto2): one table per message drives its binary form, its
 * text form and its checks.
 *
 * A message is a plain object. An optional field that is absent is an absent property, which is
 * not the same as a present empty one; a repeated field is an array. `int32` and `uint32` are
 * numbers, `int64` and `uint64` are bigints, bytes are `Uint8Array`s, enumeration values are their
 * names. Fields that the table does not know are kept in `unknownFields`, and written back.
 */
import { CellarError, checkBytesLike, ErrorCode } from '../../../api/index.js'

/** Makes the `ERR_INVALID_ARGUMENT` of bytes, text or objects that are no record. */
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

/** The scalar types that the records use. */
export type ScalarType = 'int32' | 'uint32' | 'int64' | 'uint64' | 'string' | 'bytes'

/** Numbers of an enumeration by name. */
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

/** A message of which only the table matters. */
export interface AnyMessageType {
  readonly name: string
  /** By ascending number, the order in which both forms write them. */
  readonly fields: readonly FieldType[]
  readonly byNumber: ReadonlyMap<number, FieldType>
}

/** The table of messages that have the shape `T`. */
export interface MessageType<T> extends AnyMessageType {
  /** Never set: binds the table to its shape. */
  readonly shape?: T
}

/**
 * A field that the reader's table does not have. Those of the binary form have a number and can be
 * written in both forms. Those of the text form have a name and the canonical text behind it
 * (`: 5` or ` {…}`), and can be written in the text form only.
 */
export type UnknownField =
  | {
      /** Number of the field in the schema of the writer. */
      readonly number: number
      /** How protobuf stores the value: 0, 1, 2, 3 (a group) or 5. */
      readonly wireType: number
      /** The value as it is stored, without the field's tag. */
      readonly data: Uint8Array
    }
  | {
      /** Name of the field in the schema of the writer. */
      readonly name: string
      /** Canonical text behind the name. */
      readonly text: string
    }

/** What every message may carry. */
export interface WithUnknownFields {
  /** Fields that this version does not know; written back as they were read. */
  readonly unknownFields?: readonly UnknownField[]
}

/** A message as the forms handle it: properties by field name. */
export type MessageFields = Record<string, unknown> & { unknownFields?: UnknownField[] }

/** Messages nest at most this deep, so that no input can exhaust the stack. */
export const nestingMax = 100

/** Makes the table of a message. */
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

/** A field that every message has to have. */
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
 * Checks that a message that was read, and all inside it, have their required fields.
 * `ERR_INVALID_ARGUMENT` if not.
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

/** Puts a value that was read into its message; a singular field keeps the last one. */
export function addValue(message: MessageFields, field: FieldType, value: unknown): void {
  if (field.label !== 'repeated') message[field.name] = value
  else if (message[field.name] === undefined) message[field.name] = [value]
  else (message[field.name] as unknown[]).push(value)
}

/**
 * The values of a field that is about to be written, checked: none if it is absent, several only
 * if it is repeated. `ERR_INVALID_ARGUMENT` names the field.
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

/** Such a string has no UTF-8 form. */
const loneSurrogate = /\p{Surrogate}/u

/** Whether an integer is in the range of its type. */
export function isInside(type: keyof typeof limits, value: number | bigint): boolean {
  return value >= limits[type][0] && value <= limits[type][1]
}
