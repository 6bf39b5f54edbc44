/**
 * The parts of row keys: values as bytes whose order is the order of the values.
 *
 *   utf8, bytes   escape(bytes) 00 01     escape: each 00 becomes 00 FF
 *                 bytes                   as the last part and ascending: nothing is added
 *   integer       8 bytes big-endian, the sign bit inverted     -2^53 < n < 2^53
 *   int64         the same bytes                                -2^63 <= n < 2^63
 *   date          the same, milliseconds since 1970
 *   double        8 bytes of IEEE 754 big-endian; positive: the sign bit inverted, negative: all
 *                 bits inverted
 *   boolean       00 or 01
 *   descending    all bits of the part inverted; utf8 and bytes always with 00 01
 *
 *   { user: 'utf8', at: { descending: 'date' } } of 'ada', 1970-01-01T00:00:00.001Z:
 *   61 64 61 00 01   7F FF FF FF FF FF FF FE
 *   'ada'            at
 *
 * No part is the beginning of another one at its place, so the rows of some leading parts are the
 * rows that begin with their bytes. A key has one form: `read` refuses all others.
 *
 * Orders: text by code points, as UTF-8 (JavaScript's `<` differs above U+FFFF only); bytes
 * unsigned, a shorter prefix first; doubles from -Infinity to Infinity with -0 just before 0, then
 * NaN, as Java's `Double.compare`. -0 and 0 are two keys, all NaN are one. As an integer -0 is 0.
 */
import { isUtf8 } from 'node:buffer'
import { types } from 'node:util'
import { checkBytes, checkText, shown } from '../../base/arguments.js'
import { toBytes, type Bytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import {
  terminatorBytes,
  unescape,
  writeEscaped,
  writeTerminator,
} from '../../storage/cell/cell-key.js'
import { checkRowLength } from '../../storage/cell/limits.js'

/** A position in a row that is read. */
export interface KeyReader {
  readonly source: Buffer
  /** First byte that was not read yet. */
  at: number
}

/** One part of a key. */
export interface KeyPart<T> {
  readonly name: string
  /** Whether a beginning of a value has a meaning: text and bytes. */
  readonly hasPrefixes: boolean
  /**
   * Writes a value and returns the offset behind. `what` names the part in messages. With `isOpen`
   * text and bytes have no end of their own. Throws `ERR_INVALID_ARGUMENT`. REQUIRES room for twice
   * `rowBytesMax` and a terminator.
   */
  write(target: Bytes, offset: number, value: T, what: string, isOpen: boolean): number
  /** Reads a value; undefined if the bytes are no form of one. */
  read(reader: KeyReader, isOpen: boolean): T | undefined
}

const numberBytes = 8
const highUnit = 0x1_0000_0000

/** A part whose values are strings of bytes. */
function bytesPart<T>(
  name: string,
  toStored: (value: T, what: string) => Uint8Array,
  fromStored: (bytes: Buffer) => T | undefined,
): KeyPart<T> {
  return {
    name,
    hasPrefixes: true,
    write(target, offset, value, what, isOpen) {
      const stored = toStored(value, what)
      checkRowLength(offset + stored.length)
      if (isOpen) {
        target.set(stored, offset)
        return offset + stored.length
      }
      return writeTerminator(target, writeEscaped(target, offset, stored))
    },
    read(reader, isOpen) {
      const stored = isOpen ? reader.source.subarray(reader.at) : readTerminated(reader)
      if (isOpen) reader.at = reader.source.length
      return stored && fromStored(stored)
    },
  }
}

/** Bytes with an end of their own, as in keys: none is the beginning of another. */
export function terminated(bytes: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(2 * bytes.length + terminatorBytes)
  return out.subarray(0, writeTerminator(out, writeEscaped(out, 0, bytes)))
}

/** Reads what {@link terminated} wrote, and moves behind it; undefined for other bytes. */
export function readTerminated(reader: KeyReader): Buffer | undefined {
  const { source, at } = reader
  const end = endOfEscaped(source, at)
  if (end < 0) return undefined
  reader.at = end + terminatorBytes
  return unescape(source, at, end)
}

/** Where the terminator of escaped bytes begins; -1 if there is none, or another pair before it. */
function endOfEscaped(source: Buffer, start: number): number {
  for (let at = source.indexOf(0, start); at >= 0; at = source.indexOf(0, at + 2)) {
    if (source[at + 1] === 1) return at
    if (source[at + 1] !== 0xff) return -1
  }
  return -1
}

/** A part of eight bytes. `write` and `read` find the place checked. */
function numberPart<T>(
  name: string,
  write: (target: Bytes, offset: number, value: T, what: string) => void,
  read: (source: Buffer, offset: number) => T | undefined,
): KeyPart<T> {
  return {
    name,
    hasPrefixes: false,
    write(target, offset, value, what) {
      write(target, offset, value, what)
      return offset + numberBytes
    },
    read(reader) {
      const { source, at } = reader
      if (source.length - at < numberBytes) return undefined
      reader.at = at + numberBytes
      return read(source, at)
    },
  }
}

function writeSafeInteger(target: Bytes, offset: number, value: number): void {
  target.writeUInt32BE((Math.floor(value / highUnit) ^ 0x8000_0000) >>> 0, offset)
  target.writeUInt32BE(value >>> 0, offset + 4)
}

function readSafeInteger(source: Buffer, offset: number): number | undefined {
  const high = source.readUInt32BE(offset) ^ 0x8000_0000
  const value = high * highUnit + source.readUInt32BE(offset + 4)
  return Number.isSafeInteger(value) ? value : undefined
}

const integer = numberPart<number>(
  'integer',
  (target, offset, value, what) => {
    if (!Number.isSafeInteger(value)) {
      const advice = "'double' holds fractions, 'int64' larger integers"
      throw invalidArgument(`${what} must be a safe integer, got ${shown(value)}; ${advice}`)
    }
    writeSafeInteger(target, offset, value)
  },
  readSafeInteger,
)

const int64 = numberPart<bigint>(
  'int64',
  (target, offset, value, what) => {
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
      throw invalidArgument(
        `${what} must be a bigint of 64 bits such as 1n, got ${shown(value)}; 'integer' holds numbers`,
      )
    }
    target.writeBigInt64BE(value, offset)
    target[offset] ^= 0x80
  },
  (source, offset) => BigInt.asIntN(64, source.readBigUInt64BE(offset) ^ (1n << 63n)),
)

const date = numberPart<Date>(
  'date',
  (target, offset, value, what) => {
    if (!types.isDate(value) || Number.isNaN(value.getTime())) {
      const found = types.isDate(value) ? 'an invalid one' : shown(value)
      throw invalidArgument(`${what} must be a valid Date, got ${found}`)
    }
    writeSafeInteger(target, offset, value.getTime())
  },
  (source, offset) => {
    const value = new Date(readSafeInteger(source, offset) ?? NaN)
    return Number.isNaN(value.getTime()) ? undefined : value
  },
)

const double = numberPart<number>(
  'double',
  (target, offset, value, what) => {
    if (typeof value !== 'number') {
      throw invalidArgument(`${what} must be a number, got ${shown(value)}`)
    }
    // There are many NaN in IEEE 754; JavaScript does not say which one it writes.
    if (Number.isNaN(value)) target.set(canonicalNaN, offset)
    else target.writeDoubleBE(value, offset)
    if (target[offset] < 0x80) target[offset] ^= 0x80
    else invert(target, offset, offset + numberBytes)
  },
  (source, offset) => {
    const bytes = Buffer.from(source.subarray(offset, offset + numberBytes))
    if (bytes[0] >= 0x80) bytes[0] ^= 0x80
    else invert(bytes, 0, numberBytes)
    const value = bytes.readDoubleBE(0)
    return Number.isNaN(value) && !bytes.equals(canonicalNaN) ? undefined : value
  },
)

const canonicalNaN = Buffer.of(0x7f, 0xf8, 0, 0, 0, 0, 0, 0)

const boolean: KeyPart<boolean> = {
  name: 'boolean',
  hasPrefixes: false,
  write(target, offset, value, what) {
    if (typeof value !== 'boolean') {
      throw invalidArgument(`${what} must be true or false, got ${shown(value)}`)
    }
    target[offset] = value ? 1 : 0
    return offset + 1
  },
  read(reader) {
    const byte = reader.source[reader.at++]
    return byte === 0 || byte === 1 ? byte === 1 : undefined
  },
}

function invert(target: Buffer, start: number, end: number): void {
  for (let i = start; i < end; i++) target[i] = ~target[i]
}

/** The same values in the opposite order; never open. */
export function descendingPart<T>(part: KeyPart<T>): KeyPart<T> {
  return {
    name: `descending ${part.name}`,
    hasPrefixes: part.hasPrefixes,
    write(target, offset, value, what) {
      const end = part.write(target, offset, value, what, false)
      invert(target, offset, end)
      return end
    },
    read(reader) {
      const inverted = Buffer.from(reader.source.subarray(reader.at))
      invert(inverted, 0, inverted.length)
      const inner: KeyReader = { source: inverted, at: 0 }
      const value = part.read(inner, false)
      reader.at += inner.at
      return value
    },
  }
}

const utf8 = bytesPart<string>(
  'utf8',
  (value, what) => toBytes(checkText(value, what)),
  (stored) => (isUtf8(stored) ? stored.toString('utf8') : undefined),
)

const bytes = bytesPart<Uint8Array>('bytes', checkBytes, (stored) => stored)

/** The ascending parts by name. */
export const keyParts = { utf8, bytes, integer, double, int64, boolean, date } as const
