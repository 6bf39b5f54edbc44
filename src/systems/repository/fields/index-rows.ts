/**
 * Rows of field indexes, in the order of the values (src/systems/repository/FORMAT.md). A record
 * has one row in an index; with a list among the fields, one row for each distinct element.
 */
import { invalidRecord } from '../errors.js'
import type { RecordId } from '../record-id.js'
import { fieldPrefix, rowKinds, terminated } from '../records/ordered-row.js'
import { decodeField } from '../records/field-values.js'
import { newestCell, type RecordState } from '../records/record-state.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { indexedType, isMultiValued, type FieldIndex, type IndexPart } from './field-index.js'

const absent = 0
const present = 1
const rowBytesMax = 32_767

/** The bytes of a value in a row. An absent value (undefined) sorts before every other value. */
export function valueBytes(field: FieldType, value: unknown, isDescending: boolean): Buffer {
  const bytes =
    value === undefined
      ? Buffer.of(absent)
      : Buffer.concat([
          Buffer.of(present),
          terminated(indexedType(field).orderedBytes!(value as never)),
        ])
  if (isDescending) for (let at = 0; at < bytes.length; at++) bytes[at] = 0xff - bytes[at]
  return bytes
}

/** The first byte of all present values. */
export function presentByte(isDescending: boolean): number {
  return isDescending ? 0xff - present : present
}

/** The prefix of the rows of an index. */
export function indexPrefix(table: Buffer, index: FieldIndex): Buffer {
  return fieldPrefix(rowKinds.field, table, index.ordinal)
}

function partBytes(part: IndexPart, state: RecordState, schema: SchemaCache): Buffer[] {
  const field = schema.fieldAt(part.ordinal)!
  const cell = newestCell(state, part.ordinal)
  const value = cell === undefined ? undefined : decodeField(field, cell.value, schema)
  if (value === undefined || !isMultiValued(field)) {
    return [valueBytes(field, value, part.isDescending)]
  }
  const elements = value as readonly unknown[]
  // An empty list has no element to be found, so it counts as absent.
  if (elements.length === 0) return [valueBytes(field, undefined, part.isDescending)]
  const found = new Map<string, Buffer>()
  for (const element of elements) {
    const bytes = valueBytes(field, element, part.isDescending)
    found.set(bytes.toString('latin1'), bytes)
  }
  return [...found.values()]
}

/** The rows of a record in an index. `ERR_INVALID_RECORD` if a row would be too long. */
export function indexRows(
  table: Buffer,
  index: FieldIndex,
  id: RecordId,
  state: RecordState | undefined,
  schema: SchemaCache,
): Buffer[] {
  if (state === undefined || state.isDeleted) return []
  let rows = [indexPrefix(table, index)]
  for (const part of index.parts) {
    const values = partBytes(part, state, schema)
    rows = rows.flatMap((row) => values.map((value) => Buffer.concat([row, value])))
  }
  return rows.map((row) => {
    const whole = Buffer.concat([row, id.bytes])
    if (whole.length <= rowBytesMax) return whole
    throw invalidRecord(`the values of ${id.text} are too long for the index ${index.name}`)
  })
}
