/** Parses the forms in which callers name columns, and remembers what was parsed. */
import {
  checkBytesLike,
  isBytes,
  isText,
  loneSurrogate,
  readArguments,
} from '../../base/arguments.js'
import { emptyBytes, equalBytes, toBytes } from '../../base/bytes.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import { declareOptions, unchecked, required, type OptionsOf } from '../../base/options.js'
import { writeEscaped } from './cell-key.js'

/** Bytes as callers give them: a string is encoded as UTF-8. */
export type BytesLike = string | Uint8Array

/**
 * A column or a whole family: `'family:qualifier'` (split at the first colon), `'family'` for all
 * its columns, or the parts. `'family:'` is the column with the empty qualifier.
 */
export type ColumnName = string | Uint8Array | ColumnParts

/** The declaration of {@link ColumnParts}. */
const partOptions = declareOptions('a column', {
  /** Name of the family. */
  family: required(unchecked<BytesLike>()),
  /** The column's name within its family. */
  qualifier: unchecked<BytesLike>(),
})

/** A column by its parts; without `qualifier` the whole family. */
export interface ColumnParts extends OptionsOf<typeof partOptions> {}

/** The check of the names of an object with parts. */
interface PartNames {
  check(column: ColumnParts): unknown
}

/** A column or, without qualifier, a whole family. */
export interface ParsedColumn {
  readonly family: string
  /** The qualifier as keys hold it; undefined = the whole family. */
  readonly escapedQualifier: Buffer | undefined
}

/**
 * Entries that the cache of parsed names holds before it is cleared. Programs use few names, so
 * this only limits programs that generate names.
 */
const parsedMax = 4096
const parsed = new Map<string, ParsedColumn>()

/**
 * Columns parsed from parts, by a hash of the qualifier. Only qualifiers without the byte 0 are
 * here, which keys hold as they are.
 */
const parsedParts = Array<ParsedColumn | undefined>(256).fill(undefined)

/** Longer qualifiers are parsed each time. */
const remembersBytesMax = 64

const colon = 0x3a

/** Escapes a qualifier for the key encoding. */
export function escapeQualifier(qualifier: Uint8Array): Buffer {
  if (qualifier.length === 0) return emptyBytes
  const target = Buffer.allocUnsafe(2 * qualifier.length)
  return Buffer.from(target.subarray(0, writeEscaped(target, 0, qualifier)))
}

/**
 * Parses a column name. Throws `ERR_INVALID_ARGUMENT` if it is not one. `names` are the properties
 * that an object with parts may have.
 */
export function parseColumn(column: ColumnName, names: PartNames = partOptions): ParsedColumn {
  if (typeof column === 'string') {
    const known = parsed.get(column)
    if (known !== undefined) return known
    const result = parseString(column)
    if (parsed.size >= parsedMax) parsed.clear()
    parsed.set(column, result)
    return result
  }
  if (isBytes(column)) {
    checkBytesLike(column, 'column')
    const bytes = toBytes(column)
    const at = bytes.indexOf(colon)
    if (at < 0) return { family: bytes.toString('utf8'), escapedQualifier: undefined }
    const family = bytes.toString('utf8', 0, at)
    return { family, escapedQualifier: escapeQualifier(bytes.subarray(at + 1)) }
  }
  if (typeof column !== 'object' || column === null) {
    throw invalidArgument(`column must be a string, bytes or {family, qualifier}`)
  }
  return readArguments(() => parseParts(column, names))
}

function parseParts(column: ColumnParts, names: PartNames): ParsedColumn {
  const { family: name, qualifier } = column
  names.check(column)
  checkBytesLike(name, 'column family')
  const family = typeof name === 'string' ? name : toBytes(name).toString('utf8')
  if (qualifier === undefined || qualifier === null) {
    return { family, escapedQualifier: undefined }
  }
  checkBytesLike(qualifier, 'qualifier')
  const bytes = typeof qualifier === 'string' ? toBytes(qualifier) : qualifier
  const place = placeOf(bytes)
  if (place < 0) return { family, escapedQualifier: escapeQualifier(bytes) }
  const known = parsedParts[place]
  if (known !== undefined && known.family === family) {
    const held = known.escapedQualifier!
    if (equalBytes(bytes, 0, bytes.length, held, 0, held.length)) return known
  }
  return (parsedParts[place] = { family, escapedQualifier: escapeQualifier(bytes) })
}

/** The place of a qualifier in {@link parsedParts}; -1: it has none. */
function placeOf(qualifier: Uint8Array): number {
  const { length } = qualifier
  if (length > remembersBytesMax) return -1
  let hash = length
  for (let i = 0; i < length; i++) {
    const byte = qualifier[i]
    if (byte === 0) return -1
    hash = Math.imul(hash, 31) + byte
  }
  return (hash ^ (hash >>> 8)) & (parsedParts.length - 1)
}

function parseString(column: string): ParsedColumn {
  if (!isText(column)) throw loneSurrogate('column')
  const at = column.indexOf(':')
  if (at < 0) return { family: column, escapedQualifier: undefined }
  return {
    family: column.slice(0, at),
    escapedQualifier: escapeQualifier(Buffer.from(column.slice(at + 1), 'utf8')),
  }
}

/** As {@link parseColumn}, but a missing qualifier is an `ERR_INVALID_ARGUMENT`. */
export function parseSingleColumn(
  column: ColumnName,
  names?: PartNames,
): { family: string; escapedQualifier: Buffer } {
  const { family, escapedQualifier } = parseColumn(column, names)
  if (escapedQualifier !== undefined) return { family, escapedQualifier }
  throw noQualifier(family)
}

/** The error for the name of a family where a column is needed. */
export function noQualifier(family: string): CellarError {
  return invalidArgument(
    `column '${family}' has no qualifier; write 'family:qualifier', such as 'f:${family}', ` +
      `or '${family}:' for the empty column of a family`,
  )
}
