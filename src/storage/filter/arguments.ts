/**
 * Checks and converts the arguments of filters, and what the hooks of users' filters return. All
 * functions throw `ERR_INVALID_ARGUMENT`.
 */
import {
  checkArray,
  checkBytesLike,
  isBytes,
  isDetached,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import { parseSingleColumn, type BytesLike, type ColumnName } from '../cell/column-name.js'
import { FilterCode, type CellHint, type Filter } from './filter.js'

/** A column as filters compare it. */
export interface EscapedColumn {
  readonly family: string
  /** Escaped, without terminator. */
  readonly qualifier: Buffer
}

/** Copies bytes, so that the caller may reuse its own. */
export function copyBytes(value: BytesLike, what: string): Buffer {
  checkBytesLike(value, what)
  return Buffer.from(toBytes(value))
}

/** Parses a column, which must have a qualifier; `'family:'` has the empty one. */
export function parseFilterColumn(column: ColumnName): EscapedColumn {
  const { family, escapedQualifier } = parseSingleColumn(column)
  return { family, qualifier: escapedQualifier }
}

/** Checks a count: an integer >= 0. */
export function checkFilterCount(value: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw invalidArgument(`${what} must be an integer >= 0, got ${shown(value)}`)
}

/** Checks a list and returns a copy without missing elements. */
export function checkList<T>(value: readonly T[], what: string): T[] {
  return readArguments(() => checkArray(value, what))
}

/** Checks that a value is a filter. */
export function checkInnerFilter(value: Filter): Filter {
  return readArguments(() => {
    const given: unknown = value
    if (typeof given === 'object' && given !== null && 'filterCell' in given) return value
    throw invalidArgument(`filter must be a Filter object, got ${shown(given)}`)
  })
}

/** The error for a hook that returned something else than `wanted`. */
export function wrongAnswer(hook: string, wanted: string, given: unknown): CellarError {
  return invalidArgument(`${hook} of a filter must return ${wanted}, got ${shown(given)}`)
}

/** The value of `transformCell`, as a Buffer. */
export function checkedValue(given: Uint8Array | undefined): Buffer | undefined {
  if (given === undefined) return undefined
  if (!isBytes(given) || isDetached(given)) {
    throw wrongAnswer('transformCell', 'a Buffer or undefined', given)
  }
  if (Buffer.isBuffer(given)) return given
  return Buffer.from(given.buffer, given.byteOffset, given.byteLength)
}

/** The answer of `filterCell`. */
export function checkedCode(given: FilterCode): FilterCode {
  const isCode = given >= FilterCode.include && given <= FilterCode.seekUsingHint
  if (isCode && Number.isInteger(given)) return given
  throw wrongAnswer('filterCell', 'a FilterCode', given)
}

/** The hint of `nextCellHint`. */
export function checkedHint(given: CellHint | undefined): CellHint | undefined {
  if (given === undefined) return undefined
  if (isHint(given)) return given
  throw wrongAnswer('nextCellHint', 'a hint with a row or undefined', given)
}

function isHint(given: unknown): boolean {
  try {
    const { row, qualifier, timestampHigh, timestampLow } = given as Partial<CellHint>
    if (!isBytes(row) || (qualifier !== undefined && !isBytes(qualifier))) return false
    return isTime(timestampHigh) && isTime(timestampLow)
  } catch {
    return false
  }
}

function isTime(half: number | undefined): boolean {
  return half === undefined || Number.isInteger(half)
}
