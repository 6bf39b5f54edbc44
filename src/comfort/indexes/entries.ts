/**
 * Entries of an index: one cell each, in a table of the index alone.
 *
 *   row    part* row of the data      not unique: entries of equal parts sort by the row
 *          part*                      unique
 *   part   as in keys/key-parts.ts, all of them with an end of their own
 *   value  rowLength(2) [row: only if unique] stored*
 *   stored length + 1 (4), value; a length of 0 stands for no value
 *
 * A row has the entries of all combinations of the values of its parts; none if a part has none.
 */
import { isUtf8 } from 'node:buffer'
import { copyBytes, equalBytes } from '../../base/bytes.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import { decodeValue, encodingOf } from '../../api/results/encodings.js'
import type { IndexPlan, PlannedPart } from './declaration.js'
import type { RowValues } from './row-values.js'

/** The family of the entries in the table of an index. */
export const entryFamily = 'e'
/** The only column of an entry. */
export const entryColumn = 'e:'
/** The family of the position of the build, and its column. */
export const buildFamily = 'b'
/** The column of the position of the build. */
export const positionColumn = 'b:position'

/** An entry of an index. */
export interface Entry {
  /** The row in the table of the index. */
  readonly key: Buffer
  readonly value: Buffer
  /** The row of the data. */
  readonly row: Buffer
}

const scratch = Buffer.allocUnsafe(3 * rowBytesMax + 16)
const lengthBytes = 2
const storedLengthBytes = 4

/** The entries of a row with these values. `ERR_INVALID_ARGUMENT` for a value that does not fit. */
export function entriesOf(plan: IndexPlan, row: Buffer, values: RowValues): Entry[] {
  const entries: Entry[] = []
  let value: Buffer | undefined
  eachKey(plan, row, values, (length) => {
    const key = Buffer.from(scratch.subarray(0, length))
    entries.push({ key, value: (value ??= entryValue(plan, row, values)), row })
    return true
  })
  return entries.length < 2 ? entries : [...byKey(entries).values()]
}

/** The entries by their keys as text. */
export function byKey(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.key.toString('latin1'), entry]))
}

/** Whether a row with these values has an entry with the key. */
export function hasEntry(plan: IndexPlan, key: Buffer, row: Buffer, values: RowValues): boolean {
  let isFound = false
  eachKey(plan, row, values, (length) => {
    isFound = equalBytes(scratch, 0, length, key, 0, key.length)
    return !isFound
  })
  return isFound
}

/**
 * Writes the keys of a row's entries to `scratch`, one after the other, and calls `visit` with the
 * length of each until that returns false. A key may come twice.
 */
function eachKey(
  plan: IndexPlan,
  row: Buffer,
  values: RowValues,
  visit: (length: number) => boolean,
): boolean {
  const { parts } = plan
  const found: (readonly unknown[])[] = []
  for (const part of parts) {
    const ofPart = partValues(part, values)
    if (ofPart.length === 0) return true
    found.push(ofPart)
  }
  const write = (place: number, start: number): boolean => {
    if (place === parts.length) {
      const end = plan.unique ? start : start + row.length
      if (end > rowBytesMax) throw entryTooLarge(plan, end)
      if (!plan.unique) copyBytes(row, 0, row.length, scratch, start)
      return visit(end)
    }
    const part = parts[place]
    for (const value of found[place]) {
      const end = part.writer.write(scratch, start, value, part.what, false)
      if (end > rowBytesMax) throw entryTooLarge(plan, end)
      if (!write(place + 1, end)) return false
    }
    return true
  }
  return write(0, 0)
}

function entryTooLarge(plan: IndexPlan, bytes: number): CellarError {
  return new CellarError(
    ErrorCode.tooLarge,
    `an entry of the index '${plan.name}' has ${bytes} bytes, of at most ${rowBytesMax}`,
  )
}

/** Reads an entry from its row and value in the table of the index. */
export function readEntry(plan: IndexPlan, key: Buffer, value: Buffer): Entry {
  const length = value.readUInt16BE(0)
  const row = plan.unique
    ? value.subarray(lengthBytes, lengthBytes + length)
    : key.subarray(key.length - length)
  return { key, value, row }
}

/** The values of the stored columns in an entry. */
export function storedValues(plan: IndexPlan, { value }: Entry): Record<string, Buffer> {
  const found: Record<string, Buffer> = {}
  let at = lengthBytes + (plan.unique ? value.readUInt16BE(0) : 0)
  for (const column of plan.stored) {
    const length = value.readUInt32BE(at) - 1
    at += storedLengthBytes
    if (length < 0) continue
    found[column] = value.subarray(at, at + length)
    at += length
  }
  return found
}

function entryValue(plan: IndexPlan, row: Buffer, values: RowValues): Buffer {
  const stored = plan.stored.map((column) => values.value(column))
  let bytes = lengthBytes + (plan.unique ? row.length : 0)
  for (const each of stored) bytes += storedLengthBytes + (each?.length ?? 0)
  const value = Buffer.allocUnsafe(bytes)
  let at = value.writeUInt16BE(row.length, 0)
  if (plan.unique) at += row.copy(value, at)
  for (const each of stored) {
    at = value.writeUInt32BE(each === undefined ? 0 : each.length + 1, at)
    if (each !== undefined) at += each.copy(value, at)
  }
  return value
}

/** The values of one part. */
function partValues(part: PlannedPart, values: RowValues): readonly unknown[] {
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
function decoded(part: PlannedPart, stored: Buffer): readonly unknown[] {
  // In keys text has the bytes of its UTF-8.
  if (part.encoding === 'bytes' || (part.encoding === 'utf8' && isUtf8(stored))) return [stored]
  const value: unknown = decodeValue(encodingOf(part.encoding), stored, part.what)
  if (part.encoding !== 'json') return [value]
  const inner = memberAt(value, part.path)
  const elements: readonly unknown[] = part.each && Array.isArray(inner) ? inner : [inner]
  const found = elements.filter((element) => element !== undefined && element !== null)
  return part.as === 'date' ? found.map((element) => new Date(element as string)) : found
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}
