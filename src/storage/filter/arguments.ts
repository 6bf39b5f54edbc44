/** Checks and converts the arguments of filters. All functions throw `ERR_INVALID_ARGUMENT`. */
import { checkArray, checkBytesLike, readArguments, shown } from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { parseSingleColumn, type BytesLike, type ColumnName } from '../cell/column-name.js'
import type { Filter } from './filter.js'

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
