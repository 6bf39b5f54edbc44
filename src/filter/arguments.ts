/** Checks and converts the arguments of filters. All functions throw `ERR_INVALID_ARGUMENT`. */
import { toBytes } from '../base/bytes.js'
import { invalidArgument } from '../base/errors.js'
import { parseSingleColumn, type BytesLike, type ColumnName } from '../cell/column-name.js'
import type { Filter } from './filter.js'

/** A column as filters compare it. */
export interface EscapedColumn {
  readonly family: string
  /** Escaped, without terminator. */
  readonly qualifier: Buffer
}

/** Copies bytes, so that the caller may reuse theirs. */
export function copyBytes(value: BytesLike, what: string): Buffer {
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  if (value instanceof Uint8Array) return Buffer.from(toBytes(value))
  throw invalidArgument(`${what} must be a string or a Uint8Array, got ${describe(value)}`)
}

/** Parses a column, which must have a qualifier (an empty one is `'family:'`). */
export function parseFilterColumn(column: ColumnName): EscapedColumn {
  const { family, escapedQualifier } = parseSingleColumn(column)
  return { family, qualifier: escapedQualifier }
}

/** Checks a count: an integer >= 0. */
export function checkFilterCount(value: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw invalidArgument(`${what} must be an integer >= 0, got ${describe(value)}`)
}

/** Checks an optional boolean. */
export function checkFlag(value: boolean | undefined, what: string, missing: boolean): boolean {
  if (value === undefined) return missing
  if (typeof value === 'boolean') return value
  throw invalidArgument(`${what} must be true or false, got ${describe(value)}`)
}

/** Checks that a value is an array. */
export function checkList<T>(value: readonly T[], what: string): readonly T[] {
  if (Array.isArray(value)) return value as readonly T[]
  throw invalidArgument(`${what} must be an array, got ${describe(value)}`)
}

/** Checks that a value is an object of options. */
export function checkOptions<T extends object>(value: T, what: string): T {
  if (typeof value === 'object' && value !== null) return value
  throw invalidArgument(`${what} must be an object, got ${describe(value)}`)
}

/** Checks that a value is a filter. */
export function checkInnerFilter(value: Filter): Filter {
  const given: unknown = value
  if (typeof given === 'object' && given !== null && 'filterCell' in given) return value
  throw invalidArgument(`filter must be a Filter object, got ${describe(given)}`)
}

/** A value as error messages show it. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value
}
