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
import { checkBytes } from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import { decodeValue, encodingOf } from '../../api/results/encodings.js'
import { descendingPart, keyParts, type KeyPart } from '../keys/key-parts.js'
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

const descending = Object.fromEntries(
  Object.entries(keyParts).map(([name, part]) => [name, descendingPart(part as KeyPart<unknown>)]),
)
const scratch = Buffer.allocUnsafe(3 * rowBytesMax + 16)
const lengthBytes = 2
const storedLengthBytes = 4

/** The entries of a row with these values. `ERR_INVALID_ARGUMENT` for a value that does not fit. */
export function entriesOf(plan: IndexPlan, row: Buffer, values: RowValues): Entry[] {
  let keys: Buffer[] | undefined
  for (const part of plan.parts) {
    const found = partsOf(plan, part, values)
    if (found.length === 0) return []
    const before: Buffer[] | undefined = keys
    keys =
      before === undefined
        ? found
        : before.flatMap((start) => found.map((bytes) => Buffer.concat([start, bytes])))
  }
  const value = entryValue(plan, row, values)
  return keys!.map((bytes) => {
    const key = plan.unique ? bytes : Buffer.concat([bytes, row])
    if (key.length <= rowBytesMax) return { key, value, row }
    throw new CellarError(
      ErrorCode.tooLarge,
      `an entry of the index '${plan.name}' has ${key.length} bytes, of at most ${rowBytesMax}`,
    )
  })
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
  const stored = plan.stored.map((column) => values.get(column)?.value)
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

/** The distinct values of one part, as bytes of keys. */
function partsOf(plan: IndexPlan, part: PlannedPart, values: RowValues): Buffer[] {
  if (part.kind === 'column') {
    const cell = values.get(part.column)
    return cell === undefined ? [] : encoded(plan, part, cell.value)
  }
  const found = new Map<string, Buffer>()
  for (const { family, qualifier, value } of values.values()) {
    if (family !== part.family) continue
    const source = part.kind === 'values' ? value : qualifier
    for (const bytes of encoded(plan, part, source)) found.set(bytes.toString('latin1'), bytes)
  }
  return [...found.values()]
}

/** The values in the stored bytes of one column. */
function encoded(plan: IndexPlan, part: PlannedPart, stored: Buffer): Buffer[] {
  const where = `the value for the part '${part.name}' of the index '${plan.name}'`
  const kind = part.descending ? descending[part.as] : keyParts[part.as]
  const write = (value: unknown): Buffer => {
    return Buffer.from(scratch.subarray(0, kind.write(scratch, 0, value, where, false)))
  }
  if (part.encoding === 'bytes') return [write(checkBytes(stored, where))]
  const decoded: unknown = decodeValue(encodingOf(part.encoding), stored, where)
  if (part.encoding !== 'json') return [write(decoded)]
  const inner = memberAt(decoded, part.path)
  if (inner === undefined || inner === null) return []
  const elements: readonly unknown[] = part.each && Array.isArray(inner) ? inner : [inner]
  const distinct = new Map<string, Buffer>()
  for (const element of elements) {
    if (element === undefined || element === null) continue
    const bytes = write(part.as === 'date' ? new Date(element as string) : element)
    distinct.set(bytes.toString('latin1'), bytes)
  }
  return [...distinct.values()]
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}
