/** The value types without argument: text, numbers, times, bytes. */
import { isText, shown } from '../../../api/index.js'
import type { ByteReader } from '../../bytes/byte-reader.js'
import type { ByteWriter } from '../../bytes/byte-writer.js'
import { invalidRecord } from '../errors.js'
import { isBytes, isTime } from '../value-kinds.js'
import { compareDecimals, decimalOrder, isDecimal } from './decimal.js'
import type { ValueType, ValueTypeFactory } from './value-type.js'

/** Definition of a simple type; its only encoding is number 1. */
interface SimpleType<T> {
  readonly name: string
  /** Description of a valid value in messages. */
  readonly wanted: string
  /** The value to store, or undefined if it does not fit. */
  accept(value: unknown): T | undefined
  write(writer: ByteWriter, value: T): void
  read(reader: ByteReader): T
  toJson(value: T): unknown
  /** Reads JSON forms that `accept` does not take. */
  fromJson?(json: unknown): T | undefined
  compare?(a: T, b: T): number
  orderedBytes?(value: T): Buffer
}

const encoding = 1

function simple<T>(type: SimpleType<T>): ValueTypeFactory {
  const accept = (value: unknown): T => {
    const accepted = type.accept(value)
    if (accepted !== undefined) return accepted
    throw invalidRecord(`a value of ${type.name} is ${type.wanted}, got ${shown(value)}`)
  }
  const made: ValueType = {
    name: type.name,
    base: type.name,
    write: (writer, value) => {
      const accepted = accept(value)
      writer.byte(encoding)
      type.write(writer, accepted)
    },
    read: (reader) => {
      checkEncoding(reader, encoding)
      return type.read(reader)
    },
    toJson: (value) => type.toJson(accept(value)),
    fromJson: (json) => type.fromJson?.(json) ?? accept(json),
    ...(type.compare === undefined
      ? {}
      : { compare: (a: unknown, b: unknown) => type.compare!(accept(a), accept(b)) }),
    ...(type.orderedBytes === undefined
      ? {}
      : { orderedBytes: (value: unknown) => type.orderedBytes!(accept(value)) }),
  }
  return () => made
}

/** Reads the number of an encoding. `ERR_CORRUPTION` if it is 0 or greater than `newest`. */
export function checkEncoding(reader: ByteReader, newest: number): number {
  const found = reader.byte()
  if (found >= 1 && found <= newest) return found
  throw reader.failure(`there is no encoding ${found}`)
}

function order<T extends string | number | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const string = simple<string>({
  name: 'STRING',
  wanted: 'a text without lone surrogates',
  accept: (value) => (isText(value) ? value : undefined),
  write: (writer, value) => writer.text(value),
  read: (reader) => reader.text(),
  toJson: (value) => value,
  compare: (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  orderedBytes: (value) => Buffer.from(value),
})

const int32Max = 2 ** 31

const integer = simple<number>({
  name: 'INTEGER',
  wanted: 'a whole number of 32 bits',
  accept: (value) =>
    Number.isInteger(value) && (value as number) >= -int32Max && (value as number) < int32Max
      ? (value as number) + 0
      : undefined,
  write: (writer, value) => writer.int32(value),
  read: (reader) => reader.int32(),
  toJson: (value) => value,
  fromJson: (json) => numberOfText(json, /^-?[0-9]{1,10}$/),
  compare: order,
  orderedBytes: (value) => {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE((value ^ 0x8000_0000) >>> 0)
    return bytes
  },
})

/** A number given as text in JSON; undefined leaves the decision to `accept`. */
function numberOfText(json: unknown, pattern: RegExp): number | undefined {
  const isText = typeof json === 'string' && pattern.test(json)
  const value = isText ? Number(json) : NaN
  return Number.isInteger(value) && value >= -int32Max && value < int32Max ? value : undefined
}

function longOrder(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigUInt64BE(BigInt.asUintN(64, value) ^ (1n << 63n))
  return bytes
}

const long = simple<bigint>({
  name: 'LONG',
  wanted: 'a bigint of 64 bits, or a safe integer',
  accept: (value) => {
    const whole = Number.isSafeInteger(value) ? BigInt(value as number) : value
    return typeof whole === 'bigint' && BigInt.asIntN(64, whole) === whole ? whole : undefined
  },
  write: (writer, value) => writer.int64(value),
  read: (reader) => reader.int64(),
  // Numbers that other programs would round are written as text.
  toJson: (value) =>
    Number.isSafeInteger(Number(value)) && BigInt(Number(value)) === value
      ? Number(value)
      : String(value),
  fromJson: (json) => {
    if (typeof json !== 'string' || !/^-?[0-9]{1,19}$/.test(json)) return undefined
    const value = BigInt(json)
    return BigInt.asIntN(64, value) === value ? value : undefined
  },
  compare: order,
  orderedBytes: longOrder,
})

const specialNumbers: Readonly<Record<string, number>> = {
  NaN: NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  '-0': -0,
}

const double = simple<number>({
  name: 'DOUBLE',
  wanted: 'a number',
  accept: (value) => (typeof value === 'number' ? value : undefined),
  write: (writer, value) => writer.double(value),
  read: (reader) => reader.double(),
  toJson: (value) =>
    Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : Object.is(value, -0)
        ? '-0'
        : `${value}`,
  fromJson: (json) => {
    if (typeof json !== 'string') return undefined
    if (Object.hasOwn(specialNumbers, json)) return specialNumbers[json]
    const isNumber = /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(json)
    return isNumber && Number.isFinite(Number(json)) ? Number(json) : undefined
  },
  compare: (a, b) => Buffer.compare(doubleOrder(a), doubleOrder(b)),
  orderedBytes: doubleOrder,
})

/** NaN sorts after all other numbers, -0 before 0. */
function doubleOrder(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleBE(Number.isNaN(value) ? NaN : value)
  const isNegative = bytes[0] >= 0x80
  for (let i = 0; i < 8; i++) {
    if (isNegative) bytes[i] = 0xff - bytes[i]
    else if (i === 0) bytes[i] |= 0x80
  }
  return bytes
}

const decimal = simple<string>({
  name: 'DECIMAL',
  wanted: "a decimal as text, such as '12.50'",
  accept: (value) => (isDecimal(value) ? value : undefined),
  write: (writer, value) => writer.text(value),
  read: (reader) => reader.text(),
  toJson: (value) => value,
  fromJson: (json) =>
    typeof json === 'number' && isDecimal(String(json)) ? String(json) : undefined,
  compare: compareDecimals,
  orderedBytes: decimalOrder,
})

const booleanTexts: Readonly<Record<string, boolean>> = {
  true: true,
  t: true,
  false: false,
  f: false,
}

const boolean = simple<boolean>({
  name: 'BOOLEAN',
  wanted: 'true or false',
  accept: (value) => (typeof value === 'boolean' ? value : undefined),
  write: (writer, value) => writer.byte(value ? 1 : 0),
  read: (reader) => {
    const byte = reader.byte()
    if (byte > 1) throw reader.failure(`${byte} is no boolean`)
    return byte === 1
  },
  toJson: (value) => value,
  fromJson: (json) =>
    typeof json === 'string' && Object.hasOwn(booleanTexts, json) ? booleanTexts[json] : undefined,
  compare: (a, b) => Number(a) - Number(b),
  orderedBytes: (value) => Buffer.of(value ? 1 : 0),
})

const dayMilliseconds = 86_400_000
const millisecondsMax = 8.64e15

/** Days since 1970-01-01; undefined for a text that is no date. */
function dayOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return undefined
  const time = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text) return undefined
  return time / dayMilliseconds
}

const date = simple<string>({
  name: 'DATE',
  wanted: "a day as text, such as '2024-02-29'",
  accept: (value) => (dayOf(value) === undefined ? undefined : (value as string)),
  write: (writer, value) => writer.int32(dayOf(value)!),
  read: (reader) => {
    const day = reader.int32()
    const time = new Date(day * dayMilliseconds)
    const text = Number.isNaN(time.getTime()) ? '' : time.toISOString()
    if (text.length !== 24) throw reader.failure(`${day} is no day`)
    return text.slice(0, 10)
  },
  toJson: (value) => value,
  compare: order,
  orderedBytes: (value) => Buffer.from(value),
})

const datetime = simple<Date>({
  name: 'DATETIME',
  wanted: 'a Date',
  accept: (value) => (isTime(value) ? new Date(Date.prototype.getTime.call(value)) : undefined),
  write: (writer, value) => writer.int64(BigInt(value.getTime())),
  read: (reader) => {
    const time = Number(reader.int64())
    if (Math.abs(time) > millisecondsMax) throw reader.failure(`${time} is no time`)
    return new Date(time)
  },
  toJson: (value) => value.toISOString(),
  fromJson: (json) => {
    const isTime =
      typeof json === 'string' && /^[+-]?\d{4,6}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(json)
    const time = isTime ? Date.parse(json) : NaN
    return Number.isNaN(time) ? undefined : new Date(time)
  },
  compare: (a, b) => a.getTime() - b.getTime(),
  orderedBytes: (value) => longOrder(BigInt(value.getTime())),
})

const uri = simple<string>({
  name: 'URI',
  wanted: 'a URI or a relative reference as text',
  accept: (value) =>
    typeof value === 'string' && /^[\x21-\x7e]*$/.test(value) && !/[<>"{}|\\^`]/.test(value)
      ? value
      : undefined,
  write: (writer, value) => writer.text(value),
  read: (reader) => reader.text(),
  toJson: (value) => value,
})

const bytearray = simple<Buffer>({
  name: 'BYTEARRAY',
  wanted: 'bytes',
  accept: (value) => (isBytes(value) ? Buffer.from(value) : undefined),
  write: (writer, value) => writer.bytes(value),
  read: (reader) => Buffer.from(reader.bytes()),
  toJson: (value) => value.toString('base64'),
  fromJson: (json) =>
    typeof json === 'string' && json.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(json)
      ? Buffer.from(json, 'base64')
      : undefined,
  compare: (a, b) => Buffer.compare(a, b),
  orderedBytes: (value) => value,
})

/** The simple types by name. */
export const simpleTypes: Readonly<Record<string, ValueTypeFactory>> = {
  STRING: string,
  INTEGER: integer,
  LONG: long,
  DOUBLE: double,
  DECIMAL: decimal,
  BOOLEAN: boolean,
  DATE: date,
  DATETIME: datetime,
  URI: uri,
  BYTEARRAY: bytearray,
}
