/** The value types without argument: text, numbers, times, bytes. */
import { isText } from '../../../api/index.js'
import { keyParts, type KeyPart } from '../../../comfort/keys/key-parts.js'
import type { ByteReader } from '../../bytes/byte-reader.js'
import { uint32, type ByteWriter } from '../../bytes/byte-writer.js'
import { isBytes, isTime } from '../value-kinds.js'
import { valueType, type ValueKind, type ValueTypeFactory } from './value-type.js'

const decimalPattern = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/
const decimalLengthMax = 1000

/**
 * Whether a text is a decimal, which is exact and keeps its scale: digits, an optional fraction, no
 * exponent, no leading zeros.
 */
function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && value.length <= decimalLengthMax && decimalPattern.test(value)
}

/**
 * Bytes in the order of the numbers, equal for 1.0 and 1.00: sign, number of digits before the
 * point, digits. For negative numbers all bytes after the sign are inverted.
 */
function decimalOrder(text: string): Buffer {
  const [whole, fraction = ''] = text.replace('-', '').split('.')
  const significant = fraction.replace(/0+$/, '')
  const isZero = whole === '0' && significant === ''
  const digits = Buffer.from(`${whole}${significant}`, 'latin1')
  const bytes = Buffer.alloc(digits.length + 4)
  bytes[0] = 1
  bytes.writeUInt16BE(whole.length, 1)
  digits.copy(bytes, 3)
  if (text.startsWith('-') && !isZero) {
    bytes[0] = 0
    for (let i = 1; i < bytes.length; i++) bytes[i] = 0xff - bytes[i]
  }
  return bytes
}

/** The forms of a kind whose values are texts. */
const asText = {
  write: (writer: ByteWriter, value: string) => writer.text(value),
  read: (reader: ByteReader) => reader.text(),
  toJson: (value: string) => value,
}

const string: ValueKind<string> = {
  wanted: 'a text without lone surrogates',
  accept: (value) => (isText(value) ? value : undefined),
  ...asText,
  orderedBytes: (value) => Buffer.from(value),
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value
}

const integer: ValueKind<number> = {
  wanted: 'a whole number of 32 bits',
  accept: (value) => (isInt32(value) ? value + 0 : undefined),
  write: (writer, value) => writer.int32(value),
  read: (reader) => reader.int32(),
  toJson: (value) => value,
  fromJson: (json) => {
    const value = typeof json === 'string' && /^-?[0-9]{1,10}$/.test(json) ? Number(json) : NaN
    return isInt32(value) ? value : undefined
  },
  orderedBytes: (value) => uint32((value ^ 0x8000_0000) >>> 0),
}

/** The bytes of numbers as in keys, whose order is that of the numbers. */
function orderOf<T>(part: KeyPart<T>): (value: T) => Buffer {
  return (value) => {
    const bytes = Buffer.allocUnsafe(8)
    part.write(bytes, 0, value, 'a value', false)
    return bytes
  }
}

const longOrder = orderOf(keyParts.int64)

const long: ValueKind<bigint> = {
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
  orderedBytes: longOrder,
}

const specialNumbers: Readonly<Record<string, number>> = {
  NaN: NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  '-0': -0,
}

const double: ValueKind<number> = {
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
  orderedBytes: orderOf(keyParts.double),
}

const decimal: ValueKind<string> = {
  wanted: "a decimal as text, such as '12.50'",
  accept: (value) => (isDecimal(value) ? value : undefined),
  ...asText,
  fromJson: (json) =>
    typeof json === 'number' && isDecimal(String(json)) ? String(json) : undefined,
  orderedBytes: decimalOrder,
}

const booleanTexts: Readonly<Record<string, boolean>> = {
  true: true,
  t: true,
  false: false,
  f: false,
}

const boolean: ValueKind<boolean> = {
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
  orderedBytes: (value) => Buffer.of(value ? 1 : 0),
}

const dayMilliseconds = 86_400_000
const millisecondsMax = 8.64e15

/** Days since 1970-01-01; undefined for a text that is no date. */
function dayOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return undefined
  const time = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text) return undefined
  return time / dayMilliseconds
}

const date: ValueKind<string> = {
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
  orderedBytes: (value) => Buffer.from(value),
}

const datetime: ValueKind<Date> = {
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
  orderedBytes: (value) => longOrder(BigInt(value.getTime())),
}

const uri: ValueKind<string> = {
  wanted: 'a URI or a relative reference as text',
  accept: (value) =>
    typeof value === 'string' && /^[\x21-\x7e]*$/.test(value) && !/[<>"{}|\\^`]/.test(value)
      ? value
      : undefined,
  ...asText,
}

const bytearray: ValueKind<Buffer> = {
  wanted: 'bytes',
  accept: (value) => (isBytes(value) ? Buffer.from(value) : undefined),
  write: (writer, value) => writer.bytes(value),
  read: (reader) => Buffer.from(reader.bytes()),
  toJson: (value) => value.toString('base64'),
  fromJson: (json) =>
    typeof json === 'string' && json.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(json)
      ? Buffer.from(json, 'base64')
      : undefined,
  orderedBytes: (value) => value,
}

/** The simple types by name. */
export const simpleTypes: Readonly<Record<string, ValueTypeFactory>> = Object.fromEntries(
  Object.entries({
    ...{ STRING: string, INTEGER: integer, LONG: long, DOUBLE: double, DECIMAL: decimal },
    ...{ BOOLEAN: boolean, DATE: date, DATETIME: datetime, URI: uri, BYTEARRAY: bytearray },
  }).map(([name, kind]) => {
    const type = valueType(name, kind as ValueKind<unknown>)
    return [name, () => type]
  }),
)
