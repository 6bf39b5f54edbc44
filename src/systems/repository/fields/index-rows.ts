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
import type { TableContext } from '../records/table-context.js'
import { indexedType, isMultiValued, type FieldIndex, type FieldOrder } from './field-index.js'

const absent = 0
const present = 1
const rowBytesMax = 32_767

/** The bytes of a value in a row. An absent value (undefined) sorts before every other value. */
export function valueBytes(field: FieldType, value: unknown, order: FieldOrder): Buffer {
  const bytes =
    value === undefined
      ? Buffer.of(absent)
      : Buffer.concat([
          Buffer.of(present),
          terminated(indexedType(field).orderedBytes!(value as never)),
        ])
  if (order === 'ASCENDING') return bytes
  return bytes.map((byte) => 0xff - byte) as Buffer
}

/** The first byte of all present values. */
export function presentByte(order: FieldOrder): number {
  return order === 'DESCENDING' ? 0xff - present : present
}

/** The prefix of the rows of an index. */
export function indexPrefix(table: Buffer, index: FieldIndex): Buffer {
  return fieldPrefix(rowKinds.field, table, index.ordinal)
}

/** The values of a record in one field of an index, as bytes of its rows. */
function partBytes(
  { field: ordinal, order }: FieldIndex['fields'][number],
  state: RecordState,
  schema: SchemaCache,
): Buffer[] {
  const field = schema.fieldAt(ordinal)!
  const cell = newestCell(state, ordinal)
  const value = cell === undefined ? undefined : decodeField(field, cell.value, schema)
  const isList = value !== undefined && isMultiValued(field)
  const elements = isList ? (value as readonly unknown[]) : [value]
  // An empty list has no element to be found, so it counts as absent.
  if (elements.length === 0) return [valueBytes(field, undefined, order)]
  const found = elements.map((element) => valueBytes(field, element, order))
  return [...new Map(found.map((bytes) => [bytes.toString('latin1'), bytes])).values()]
}

/** The rows of a record in an index. `ERR_INVALID_RECORD` if a row would be too long. */
export function indexRows(
  { key, schema }: TableContext,
  index: FieldIndex,
  id: RecordId,
  state: RecordState | undefined,
): Buffer[] {
  if (state === undefined || state.isDeleted) return []
  let rows = [indexPrefix(key, index)]
  for (const part of index.fields) {
    const values = partBytes(part, state, schema)
    rows = rows.flatMap((row) => values.map((value) => Buffer.concat([row, value])))
  }
  return rows.map((row) => {
    const whole = Buffer.concat([row, id.bytes])
    if (whole.length <= rowBytesMax) return whole
    throw invalidRecord(`the values of ${id.text} are too long for the index ${index.name}`)
  })
}
