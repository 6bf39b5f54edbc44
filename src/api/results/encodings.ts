/**
 * Encodings turn values into bytes and bytes into values.
 *
 * A column of a typed table has an encoding (`src/comfort/typed`). Numbers, dates and booleans
 * have the bytes of HBase's `Bytes.toBytes`. A call may name one (`Result.value`).
 * {@link encodings} encodes the values of a put. Without a name, no value is decoded.
 */
import { isUtf8 } from 'node:buffer'
import { types } from 'node:util'
import {
  checkText,
  isBytes,
  isDetached,
  isText,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { isShortAscii, toBytes, viewBytes } from '../../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'

/** Turns values into bytes and back. Users may pass objects of their own with these members. */
export interface Encoding<T> {
  /** Name for messages. */
  readonly name: string
  /**
   * Returns the stored form of a value. An error becomes the cause of an `ERR_INVALID_ARGUMENT`.
   */
  encode(value: T): Uint8Array
  /** Returns the value of a stored form. May keep `bytes`. Errors as in `encode`. */
  decode(bytes: Buffer): T
}

const counterBytes = 8

/** Reads the value of `source[start, end)`. Errors as of `Encoding.decode`. */
type ReadInPlace<T> = (source: Buffer, start: number, end: number) => T

/** An encoding of this module, which also reads a value without a view of its bytes. */
class OwnEncoding<T> implements Encoding<T> {
  readonly name: string
  readonly encode: (value: T) => Uint8Array
  readonly decode: (bytes: Buffer) => T
  readonly #read: ReadInPlace<T>

  constructor(name: string, encode: (value: T) => Uint8Array, read: ReadInPlace<T>) {
    this.name = name
    this.encode = encode
    this.decode = (bytes) => read(checkStored(bytes), 0, bytes.length)
    this.#read = read
  }

  /** How values of an encoding of this module are read in place; undefined for other encodings. */
  static readOf<T>(encoding: Encoding<T>): ReadInPlace<T> | undefined {
    return #read in encoding ? (encoding.#read as unknown as ReadInPlace<T>) : undefined
  }
}

function checkStored(bytes: Buffer): Buffer {
  if (isBytes(bytes) && !isDetached(bytes)) return toBytes(bytes)
  throw invalidArgument(`an encoding decodes a Buffer, got ${shown(bytes)}`)
}

const readText: ReadInPlace<string> = (source, start, end) => {
  if (isShortAscii(source, start, end)) return source.toString('latin1', start, end)
  if (isUtf8(viewBytes(source, start, end))) return source.toString('utf8', start, end)
  throw invalidArgument("the stored bytes are not UTF-8; read them with the encoding 'bytes'")
}

const jsonEncoding = new OwnEncoding<unknown>(
  'json',
  (value) => Buffer.from(jsonText(value)),
  (source, start, end) => {
    const text = readText(source, start, end)
    return readArguments(() => JSON.parse(text) as unknown)
  },
)

function jsonText(value: unknown): string {
  const text = readArguments(() => JSON.stringify(value) as string | undefined)
  if (text === undefined) throw invalidArgument(`JSON has no form of ${shown(value)}`)
  return text
}

const utf8 = new OwnEncoding<string>(
  'utf8',
  (value) => Buffer.from(checkText(value, 'a value of the encoding utf8')),
  readText,
)

const int64 = new OwnEncoding<bigint>(
  'int64',
  (value) => {
    // Callers without types may give a number, which must be exact.
    const given: unknown = value
    const exact = typeof given === 'number' && Number.isSafeInteger(given) ? BigInt(given) : given
    if (typeof exact !== 'bigint' || BigInt.asIntN(64, exact) !== exact) {
      throw invalidArgument(`a value of the encoding int64 must have 64 bits, got ${shown(given)}`)
    }
    const bytes = Buffer.allocUnsafe(counterBytes)
    bytes.writeBigInt64BE(exact)
    return bytes
  },
  (source, start, end) => {
    if (end - start === counterBytes) return source.readBigInt64BE(start)
    throw invalidArgument(`a value of the encoding int64 has 8 bytes, found ${end - start}`)
  },
)

function integerBytes(value: number): Buffer {
  if (Number.isSafeInteger(value)) {
    const stored = Buffer.allocUnsafe(counterBytes)
    stored.writeInt32BE(Math.floor(value / 0x1_0000_0000), 0)
    stored.writeUInt32BE(value >>> 0, 4)
    return stored
  }
  throw invalidArgument(
    `it holds safe integers, got ${shown(value)}; 'double' holds fractions, 'int64' bigints`,
  )
}

const readInteger: ReadInPlace<number> = (source, start, end) => {
  if (end - start !== counterBytes) {
    throw invalidArgument(`a value has 8 bytes, found ${end - start}`)
  }
  const value = source.readInt32BE(start) * 0x1_0000_0000 + source.readUInt32BE(start + 4)
  if (Number.isSafeInteger(value)) return value
  throw invalidArgument("the stored integer is beyond 2^53; read it with the encoding 'int64'")
}

const integer = new OwnEncoding<number>('integer', integerBytes, readInteger)

const double = new OwnEncoding<number>(
  'double',
  (value) => {
    if (typeof value !== 'number') throw invalidArgument(`it holds numbers, got ${shown(value)}`)
    const stored = Buffer.allocUnsafe(8)
    stored.writeDoubleBE(value)
    return stored
  },
  (source, start, end) => {
    if (end - start === 8) return source.readDoubleBE(start)
    throw invalidArgument(`a value has 8 bytes, found ${end - start}`)
  },
)

const boolean = new OwnEncoding<boolean>(
  'boolean',
  (value) => {
    if (typeof value === 'boolean') return Buffer.of(value ? 0xff : 0)
    throw invalidArgument(`it holds true and false, got ${shown(value)}`)
  },
  (source, start, end) => {
    if (end - start === 1) return source[start] !== 0
    throw invalidArgument(`a value has 1 byte, found ${end - start}`)
  },
)

const date = new OwnEncoding<Date>(
  'date',
  (value) => {
    if (types.isDate(value) && !Number.isNaN(value.getTime())) return integerBytes(value.getTime())
    const found = types.isDate(value) ? 'an invalid one' : shown(value)
    throw invalidArgument(`it holds valid Dates, got ${found}; new Date(…) makes one`)
  },
  (source, start, end) => {
    const value = new Date(readInteger(source, start, end))
    if (!Number.isNaN(value.getTime())) return value
    throw invalidArgument("the stored integer is no time of a Date; read it with 'int64'")
  },
)

const bytes = new OwnEncoding<Uint8Array>(
  'bytes',
  (value) => {
    if (isBytes(value)) return value
    throw invalidArgument(`a value of the encoding bytes must be a Uint8Array, got ${shown(value)}`)
  },
  viewBytes,
)

/** The encodings by name. */
export interface EncodingByName {
  /** JSON text. {@link encodings}`.json<T>()` declares the type of the values. */
  readonly json: Encoding<unknown>
  /** Text as UTF-8. */
  readonly utf8: Encoding<string>
  /** Signed integers of 64 bits as bigints, big-endian: the form of counters. */
  readonly int64: Encoding<bigint>
  /** Safe integers as numbers: the bytes of `int64`, so of counters too. */
  readonly integer: Encoding<number>
  /** Numbers as IEEE 754 of 8 bytes, big-endian: every number, NaN and -0 too. */
  readonly double: Encoding<number>
  /** One byte: FF for true, 00 for false; every other byte is read as true. */
  readonly boolean: Encoding<boolean>
  /** Milliseconds since 1970 in the bytes of `int64`. */
  readonly date: Encoding<Date>
  /** Bytes as they are. */
  readonly bytes: Encoding<Uint8Array>
}

/** The name of an encoding. */
export type EncodingName = keyof EncodingByName

/** An encoding by its name, or one of your own. */
export type EncodingOption = EncodingName | Encoding<unknown>

/** The type of the values of an encoding. */
export type ValueOf<E> = E extends EncodingName
  ? EncodingByName[E] extends Encoding<infer T>
    ? T
    : never
  : E extends Encoding<infer T>
    ? T
    : never

/** The encodings of the package, for encoding single values and for naming types. */
export const encodings = {
  /** Text. */
  utf8: utf8 as Encoding<string>,
  /** Whole numbers of 8 bytes, as counters have them; bigints when read. */
  int64: int64 as Encoding<bigint>,
  /** Safe integers, in the bytes of `int64`. */
  integer: integer as Encoding<number>,
  /** Numbers with fractions. */
  double: double as Encoding<number>,
  /** True and false. */
  boolean: boolean as Encoding<boolean>,
  /** Dates. */
  date: date as Encoding<Date>,
  /** Buffers as they are. */
  bytes: bytes as Encoding<Uint8Array>,
  /** JSON with values of type `T`. The type is not checked when values are read. */
  json: <T = unknown>(): Encoding<T> => jsonEncoding as Encoding<T>,
} as const

const byName: EncodingByName = {
  json: jsonEncoding,
  utf8,
  int64,
  integer,
  double,
  boolean,
  date,
  bytes,
}

const ofNames: ReadonlyMap<string, unknown> = new Map(Object.entries(byName))

/** Names of other languages for the encodings, in small letters. */
const otherNames: ReadonlyMap<string, EncodingName> = new Map([
  ['string', 'utf8'],
  ['text', 'utf8'],
  ['utf-8', 'utf8'],
  ['number', 'double'],
  ['float', 'double'],
  ['int', 'integer'],
  ['bigint', 'int64'],
  ['long', 'int64'],
  ['bool', 'boolean'],
  ['buffer', 'bytes'],
  ['binary', 'bytes'],
  ['object', 'json'],
  ['array', 'json'],
  ['datetime', 'date'],
  ['timestamp', 'date'],
])

/** The encoding that an option names. Throws `ERR_INVALID_ARGUMENT`. */
export function encodingOf<E extends EncodingOption>(option: E): Encoding<ValueOf<E>> {
  if (typeof option === 'string') {
    const known = ofNames.get(option)
    if (known !== undefined) return known as Encoding<ValueOf<E>>
  } else if (isEncoding(option)) return option as Encoding<ValueOf<E>>
  const names = Object.keys(byName).join(', ')
  const meant = typeof option === 'string' ? otherNames.get(option.toLowerCase()) : undefined
  const hint = meant === undefined ? '' : `; did you mean '${meant}'?`
  throw invalidArgument(`an encoding is one of ${names}, or an object, got ${shown(option)}${hint}`)
}

function isEncoding(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return readArguments(() => {
    const { encode, decode } = value as Partial<Encoding<unknown>>
    return typeof encode === 'function' && typeof decode === 'function'
  })
}

/** Encodes a value; `where` names the column in messages. */
export function encodeValue<T>(encoding: Encoding<T>, value: T, where: string): Uint8Array {
  try {
    const made: unknown = encoding.encode(value)
    if (isBytes(made)) return made
    throw invalidArgument(`the encoding must make bytes, it made ${shown(made)}`)
  } catch (cause) {
    throw translated(encoding, where, cause)
  }
}

/**
 * As {@link encodeValue}, for a put: text stays a string, as the put writes its bytes at their
 * place.
 */
export function encodeForPut(
  encoding: Encoding<unknown>,
  value: unknown,
  where: string,
): string | Uint8Array {
  if (encoding === utf8 && isText(value)) return value
  if (encoding !== jsonEncoding) return encodeValue(encoding, value, where)
  try {
    return jsonText(value)
  } catch (cause) {
    throw translated(encoding, where, cause)
  }
}

/**
 * Decodes the value `source[start, end)`; `where`, and then the name if there is one, are those in
 * messages.
 */
export function decodeRange<T>(
  encoding: Encoding<T>,
  source: Buffer,
  start: number,
  end: number,
  where: string,
  name?: unknown,
): T {
  try {
    const read = OwnEncoding.readOf(encoding)
    if (read !== undefined) return read(source, start, end)
    return encoding.decode(viewBytes(source, start, end))
  } catch (cause) {
    throw translated(encoding, name === undefined ? where : `${where} ${shown(name)}`, cause)
  }
}

/** As {@link decodeRange}, of all bytes. */
export function decodeValue<T>(
  encoding: Encoding<T>,
  stored: Buffer,
  where: string,
  name?: unknown,
): T {
  return decodeRange(encoding, stored, 0, stored.length, where, name)
}

function translated(
  encoding: { readonly name: string },
  where: string,
  cause: unknown,
): CellarError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  // The name of a caller's own encoding may be anything.
  const message = readArguments(() => `${where}, encoding '${encoding.name}': ${reason}`)
  return new CellarError(ErrorCode.invalidArgument, message, { cause })
}
