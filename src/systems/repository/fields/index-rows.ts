/**
 * Rows of field indexes, in the order of the values (src/systems/repository/FORMAT.md). A record
 * has one row in an index; with a list among the fields, one row for each distinct element.
 */
import {
  entriesOf,
  entryChanges,
  writeBytes,
  type Entry,
  type EntryChanges,
  type EntryForm,
  type EntryPart,
} from '../../../comfort/indexes/entries.js'
import { invalidRecord } from '../errors.js'
import { RecordId } from '../record-id.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import { fieldPrefix, rowKinds } from '../records/ordered-row.js'
import { decodeField } from '../records/field-values.js'
import { newestCell, type RecordState } from '../records/record-state.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { TableContext } from '../records/table-context.js'
import { indexedType, isMultiValued, type FieldIndex, type FieldOrder } from './field-index.js'

const absent = 0
const present = 1

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
  const field = schema.storedFieldAt(ordinal)
  const cell = newestCell(state, ordinal)
  const value = cell === undefined ? undefined : decodeField(field, cell.value, schema)
  const isList = value !== undefined && isMultiValued(field)
  const elements = isList ? (value as readonly unknown[]) : [value]
  // An empty list has no element to be found, so it counts as absent.
  if (elements.length === 0) return [valueBytes(field, undefined, order)]
  return elements.map((element) => valueBytes(field, element, order))
}

function formOf({ key, schema }: TableContext, index: FieldIndex): EntryForm<RecordState> {
  const prefix = [indexPrefix(key, index)]
  const fields = index.fields.map((field): EntryPart<RecordState> => {
    return { values: (state) => partBytes(field, state, schema), write: writeBytes }
  })
  return {
    parts: [{ values: () => prefix, write: writeBytes }, ...fields],
    unique: false,
    valueOf: (row) => row,
    tooLong: (row) => {
      const { text } = RecordId.fromBytes(row)
      return invalidRecord(`the values of ${text} are too long for the index ${index.name}`)
    },
  }
}

/** The rows of a record in an index. `ERR_INVALID_RECORD` if a row would be too long. */
export function indexRows(
  context: TableContext,
  index: FieldIndex,
  id: RecordId,
  state: RecordState | undefined,
): Entry[] {
  const shown = indexedState(state)
  return shown === undefined ? [] : entriesOf(formOf(context, index), id.bytes, shown)
}

/** What a change of a record does to its rows in an index. Errors as of {@link indexRows}. */
export function indexRowChanges(
  context: TableContext,
  index: FieldIndex,
  id: RecordId,
  before: RecordState | undefined,
  after: RecordState,
): EntryChanges {
  const form = formOf(context, index)
  return entryChanges(form, id.bytes, indexedState(before), indexedState(after))
}

/** The state whose values are in indexes: that of a record that is not deleted. */
function indexedState(state: RecordState | undefined): RecordState | undefined {
  return state?.isDeleted === true ? undefined : state
}
