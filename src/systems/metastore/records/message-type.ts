/**
 * Message types: tables of the fields of protobuf messages (proto2). One table per message drives
 * its binary form, its text form and its checks.
 *
 * A message is a plain object. An absent optional field is an absent property, as distinct from an
 * empty value; a repeated field is an array. `int32` and `uint32` are numbers, `int64` and `uint64`
 * are bigints, bytes are `Uint8Array`s, enumeration values are their names. Unknown fields are kept
 * in `unknownFields` and written back.
 */
import {
  checkBytesLike,
  invalidArgument as invalidRecord,
  isBytes,
  isText,
} from '../../../api/index.js'

export { invalidRecord }

/** A view of bytes, or the UTF-8 form of a string. */
export function toBuffer(value: string | Uint8Array): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  checkBytesLike(value, 'a record')
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/** The integer types with their least and greatest value. */
const limits = {
  int32: [-0x8000_0000, 0x7fff_ffff],
  uint32: [0, 0xffff_ffff],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
} as const

/** The integer types. */
export type IntegerType = keyof typeof limits

/** The scalar types in use. */
export type ScalarType = IntegerType | 'string' | 'bytes'

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
  return { name, fields: sorted, byNumber: new Map(sorted.map((each) => [each.number, each])) }
}

const fieldOf =
  (label: FieldType['label']) =>
  (number: number, name: string, type: FieldType['type']): FieldType => ({
    name,
    number,
    label,
    type,
  })

/** A field that every message must have. */
export const required = fieldOf('required')
/** A field that may be absent. */
export const optional = fieldOf('optional')
/** A field with any number of values. */
export const repeated = fieldOf('repeated')

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

/** Whether an integer is in the range of its type. */
export function isInside(type: IntegerType, value: number | bigint): boolean {
  return value >= limits[type][0] && value <= limits[type][1]
}

const noValues: readonly unknown[] = []

/**
 * Checks the required fields of a decoded message and its nested messages. `ERR_INVALID_ARGUMENT`.
 */
export function checkRequired(type: AnyMessageType, message: MessageFields): void {
  for (const field of type.fields) {
    const value = message[field.name]
    if (value === undefined && field.label === 'required') throw lacks(type, field)
    if (value === undefined || !isMessage(field.type)) continue
    const nested =
      field.label === 'repeated' ? (value as MessageFields[]) : [value as MessageFields]
    for (const each of nested) checkRequired(field.type, each)
  }
}

/** Adds a decoded value to its message; a singular field keeps the last value. */
export function addValue(message: MessageFields, field: FieldType, value: unknown): void {
  if (field.label !== 'repeated') message[field.name] = value
  else if (message[field.name] === undefined) message[field.name] = [value]
  else (message[field.name] as unknown[]).push(value)
}

/** The checked values of a field to write. `ERR_INVALID_ARGUMENT` names the field. */
export function valuesToWrite(
  type: AnyMessageType,
  field: FieldType,
  message: MessageFields,
): readonly unknown[] {
  const value = message[field.name]
  if (value === undefined) {
    if (field.label === 'required') throw lacks(type, field)
    return noValues
  }
  const values: unknown = field.label === 'repeated' ? value : [value]
  if (!Array.isArray(values)) throw invalidRecord(`${type.name}.${field.name} is not an array`)
  if (areValid(field.type, values)) return values
  const expected = typeof field.type === 'string' ? field.type : 'right'
  throw invalidRecord(`${type.name}.${field.name} is not a valid ${expected} value`)
}

function lacks(type: AnyMessageType, field: FieldType): Error {
  return invalidRecord(`${type.name} lacks the required field ${field.name}`)
}

function areValid(type: FieldType['type'], values: readonly unknown[]): boolean {
  for (const value of values) if (!isValid(type, value)) return false
  return true
}

function isValid(type: FieldType['type'], value: unknown): boolean {
  if (type === 'string') return isText(value)
  if (type === 'bytes') return isBytes(value)
  if (isMessage(type)) return typeof value === 'object' && value !== null
  if (isEnum(type)) return typeof value === 'string' && type.numbers.has(value)
  const isInteger = typeof limits[type][0] === 'bigint' ? isBigint(value) : Number.isInteger(value)
  return isInteger && isInside(type, value as number | bigint)
}

function isBigint(value: unknown): boolean {
  return typeof value === 'bigint'
}
