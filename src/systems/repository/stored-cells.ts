/** Reads JSON from the tables of the repository. What no writer has written is `ERR_CORRUPTION`. */
import { isUtf8 } from 'node:buffer'
import type { Result } from '../../api/index.js'
import { corrupt } from './errors.js'

/** The JSON in a cell of a row; undefined without the cell. `ERR_CORRUPTION` names the place. */
export function storedJson<T>(
  row: Result,
  column: string,
  what: string,
  isOne: (value: unknown) => value is T,
): T | undefined {
  const bytes = row.value(column)
  if (bytes === undefined) return undefined
  return jsonOf(bytes, placeOf(row, column, what), isOne)
}

/** The JSON in stored bytes. `ERR_CORRUPTION` names the place. */
export function jsonOf<T>(bytes: Buffer, place: string, isOne: (value: unknown) => value is T): T {
  // Decoding would replace other bytes, and return a text that nobody has written.
  if (!isUtf8(bytes)) throw damaged(place)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw damaged(place)
  }
  if (isOne(value)) return value
  throw damaged(place)
}

/** A cell of a row, for messages. */
export function placeOf({ row }: Result, column: string, what: string): string {
  return `${what} (row ${JSON.stringify(row!.toString('latin1'))}, column ${column})`
}

/** Makes an `ERR_CORRUPTION` for a place of {@link placeOf}. */
export function damaged(place: string): Error {
  return corrupt(`${place} is damaged`)
}

/** Whether a value is an object with members of these types, as `typeof` names them. */
export function hasMembers(value: unknown, types: Readonly<Record<string, string>>): boolean {
  if (typeof value !== 'object' || value === null) return false
  const members = value as Readonly<Record<string, unknown>>
  return Object.entries(types).every(([name, type]) => {
    const member = members[name]
    if (type === 'array') return Array.isArray(member)
    return typeof member === type && member !== null
  })
}

/** Whether a value is an array of texts. */
export function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
