/**
 * The values of declared indexes: those that a row has for the parts, and those in the entries.
 *
 *   value  rowLength(2) [row: only if unique] stored*
 *   stored length + 1 (4), value; a length of 0 stands for no value
 *
 * An entry is one cell, in a table of the index alone. The parts of its key are those of
 * keys/key-parts.ts, all of them with an end of their own.
 */
import { isUtf8 } from 'node:buffer'
import { isShortAscii, viewBytes } from '../../base/bytes.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import { decodeValue, encodingOf } from '../../api/results/encodings.js'
import type { KeyPart, KeyReader } from '../keys/key-parts.js'
import type { KeyPartName } from '../keys/row-key.js'
import type { Entry } from './entries.js'
import type { RowValues } from './row-values.js'

/** The family of the entries in the table of an index. */
export const entryFamily = 'e'
/** The only column of an entry. */
export const entryColumn = 'e:'
/** The family of the position of the build, and its column. */
export const buildFamily = 'b'
/** The column of the position of the build. */
export const positionColumn = 'b:position'

/** The names of the encodings that stored values of an index part may have. */
export const storedEncodings = [
  'utf8',
  'bytes',
  'int64',
  'json',
  'integer',
  'double',
  'boolean',
  'date',
] as const

/** An encoding that stored values of an index part may have. */
export type StoredEncoding = (typeof storedEncodings)[number]

/** Where the values of one part of an index come from. */
export interface PartSource {
  readonly name: string
  readonly kind: 'column' | 'values' | 'qualifiers'
  readonly family: string
  /** Of a column: its name in the values of a row. */
  readonly column: string
  readonly encoding: StoredEncoding
  readonly path: readonly string[]
  readonly each: boolean
  readonly as: KeyPartName
  readonly descending: boolean
  /** Names a value of the part in messages. */
  readonly what: string
  readonly reader: KeyPart<unknown>
}

/** What the value of an entry depends on. */
interface ValueForm {
  readonly unique: boolean
  /** Columns whose values the entry holds. */
  readonly stored: readonly string[]
}

interface NamedForm extends ValueForm {
  readonly name: string
}

const lengthBytes = 2
const storedLengthBytes = 4

/** The error of an entry that is too long. */
export function entryTooLarge(name: string, bytes: number): CellarError {
  return new CellarError(
    ErrorCode.tooLarge,
    `an entry of the index '${name}' has ${bytes} bytes, of at most ${rowBytesMax}`,
  )
}

/** Reads an entry from its row and value in the table of the index. `ERR_CORRUPTION`. */
export function readEntry(form: NamedForm, key: Buffer, value: Buffer): Entry {
  const length = value.length < lengthBytes ? 0 : value.readUInt16BE(0)
  const lengthMax = form.unique ? value.length - lengthBytes : key.length
  if (length === 0 || length > lengthMax) throw damagedEntry(form, key, 'no row')
  const row = form.unique
    ? viewBytes(value, lengthBytes, lengthBytes + length)
    : viewBytes(key, key.length - length, key.length)
  return { key, value, row }
}

function damagedEntry({ name }: NamedForm, key: Buffer, what: string): CellarError {
  const place = `the entry 0x${key.toString('hex')} of the index '${name}'`
  return new CellarError(ErrorCode.corruption, `${place} is damaged: it has ${what}; rebuild it`)
}

/** The values of the stored columns in an entry. `ERR_CORRUPTION`. */
export function storedValues(form: NamedForm, { key, value }: Entry): Record<string, Buffer> {
  const found: Record<string, Buffer> = {}
  let at = lengthBytes + (form.unique ? value.readUInt16BE(0) : 0)
  for (const column of form.stored) {
    const start = at + storedLengthBytes
    const length = start > value.length ? Infinity : value.readUInt32BE(at) - 1
    if (start + length > value.length) throw damagedEntry(form, key, `no column '${column}'`)
    at = start
    if (length < 0) continue
    found[column] = value.subarray(at, at + length)
    at += length
  }
  return found
}

/** The parts of a key by name. */
export function partsOfKey(parts: readonly PartSource[], key: Buffer): Record<string, unknown> {
  const at: KeyReader = { source: key, at: 0 }
  const values: Record<string, unknown> = {}
  for (const { name, reader } of parts) values[name] = reader.read(at, false)
  return values
}

/** What an entry holds: the length of its row, and the stored columns. */
export function entryValue(form: ValueForm, row: Buffer, values: RowValues): Buffer {
  if (!form.unique && form.stored.length === 0) return lengthOnly(row.length)
  const stored = form.stored.map((column) => values.value(column))
  let bytes = lengthBytes + (form.unique ? row.length : 0)
  for (const each of stored) bytes += storedLengthBytes + (each?.length ?? 0)
  const value = Buffer.allocUnsafe(bytes)
  let at = value.writeUInt16BE(row.length, 0)
  if (form.unique) at += row.copy(value, at)
  for (const each of stored) {
    at = value.writeUInt32BE(each === undefined ? 0 : each.length + 1, at)
    if (each !== undefined) at += each.copy(value, at)
  }
  return value
}

/** The values of entries that hold nothing but the length of their row. */
const lengthValues: Buffer[] = []
/** Rows up to this length have a value in {@link lengthValues}. */
const lengthValuesMax = 256

function lengthOnly(rowLength: number): Buffer {
  const known = lengthValues[rowLength] as Buffer | undefined
  if (known !== undefined) return known
  const value = Buffer.allocUnsafeSlow(lengthBytes)
  value.writeUInt16BE(rowLength, 0)
  if (rowLength <= lengthValuesMax) lengthValues[rowLength] = value
  return value
}

/** The values of one part. `ERR_INVALID_ARGUMENT` for a value that does not fit. */
export function partValues(part: PartSource, values: RowValues): readonly unknown[] {
  if (part.kind === 'column') {
    const stored = values.value(part.column)
    return stored === undefined ? [] : decoded(part, stored)
  }
  const found: unknown[] = []
  for (const { family, qualifier, value } of values.cells()) {
    if (family !== part.family) continue
    found.push(...decoded(part, part.kind === 'values' ? value : qualifier))
  }
  return found
}

/** The values in the stored bytes of one column. */
function decoded(part: PartSource, stored: Buffer): readonly unknown[] {
  // In keys text has the bytes of its UTF-8.
  if (part.encoding === 'bytes' || (part.encoding === 'utf8' && isText(stored))) return [stored]
  const value: unknown = decodeValue(encodingOf(part.encoding), stored, part.what)
  if (part.encoding !== 'json') return [value]
  const inner = memberAt(value, part.path)
  const elements: readonly unknown[] = part.each && Array.isArray(inner) ? inner : [inner]
  const found = elements.filter((element) => element !== undefined && element !== null)
  return part.as === 'date' ? found.map((element) => new Date(element as string)) : found
}

function isText(stored: Buffer): boolean {
  return isShortAscii(stored, 0, stored.length) || isUtf8(stored)
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}
