/**
 * Field indexes: their declarations, and their rows (src/systems/repository/FORMAT.md). A record
 * has one row in an index; with a list among the fields, one row for each distinct element. The
 * rows are written in the batches that write records, so an index never differs from its records,
 * even after a crash.
 */
import {
  checked,
  choice,
  declareOptions,
  list,
  required,
  shown,
  text,
  type AtomicMutation,
  type OptionsOf,
  type CellarError,
} from '../../../api/index.js'
import { corrupt, invalidArgument, invalidRecord, repositoryError } from '../errors.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import { fieldPrefix, indexRemoval, indexRow, rowKinds } from '../records/ordered-row.js'
import type { FieldType } from '../schema/types.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { newestCell, sameBytes, type RecordState } from '../records/record-state.js'
import type { CommitPart, TableChange } from '../records/writes/commit.js'
import {
  entriesOf,
  entryChanges,
  writeBytes,
  type Entry,
  type EntryForm,
  type EntryPart,
} from '../../../comfort/indexes/entries.js'
import { RecordId } from '../record-id.js'
import { decodeField } from '../records/field-values.js'
import type { TableContext } from '../records/table-context.js'

/** Direction of a field in an index. */
export type FieldOrder = 'ASCENDING' | 'DESCENDING'

const fieldOptions = declareOptions('a field of an index', {
  /** Qualified name of the field, `{namespace}local`. */
  field: required(text(undefined)),
  /** Default 'ASCENDING'. */
  order: choice<FieldOrder>(['ASCENDING', 'DESCENDING'], 'ASCENDING'),
})

/** A field of an index, and its direction. */
export interface IndexedField extends OptionsOf<typeof fieldOptions> {}

/** Fields as callers give them: names, or names with directions. */
export const indexedFields = list(
  required(
    checked((each: string | IndexedField) => {
      return fieldOptions.read(typeof each === 'string' ? { field: each } : each)
    }),
  ),
)

const indexOptions = declareOptions('a field index', {
  /** Letters, digits, `_` and `-`. */
  name: required(checked(checkIndexName)),
  /** Names, or names with directions, the most significant first. */
  fields: required(indexedFields),
})

/** Declaration of a new index. */
export interface FieldIndexInput extends OptionsOf<typeof indexOptions> {}

/**
 * `BUILDING`: writes maintain it, and older records are being added. `ACTIVE`: queries may use it.
 * `DROPPING`: its rows are being removed.
 */
export type FieldIndexState = 'BUILDING' | 'ACTIVE' | 'DROPPING'

/** An index as callers see it. */
export interface FieldIndexInfo {
  /** Unique in the record table. */
  readonly name: string
  /** The fields of the index, the most significant first. */
  readonly fields: readonly Required<IndexedField>[]
  /** Queries may use the index once it is `ACTIVE`. */
  readonly state: FieldIndexState
  /** Number of records that the build has processed. */
  readonly built: number
}

/** The part of an index that is stored as JSON in the row of its declaration. */
type StoredIndex = Omit<FieldIndex, 'name' | 'isMaintained'>

/** An index in memory. */
export interface FieldIndex {
  readonly name: string
  readonly ordinal: number
  /** The numbers of the field types, which a rename does not change, with their directions. */
  readonly fields: readonly { readonly field: number; readonly order: FieldOrder }[]
  state: FieldIndexState
  /**
   * Whether commits write its rows: from the time at which its declaration is stored, to that at
   * which its drop is. So no open finds rows without an index, or an index without rows.
   */
  isMaintained: boolean
  /** The last row that the build has processed, in hexadecimal; empty at its start. */
  position: string
  built: number
}

/** The indexes of one record table; all managers of a database share one object. */
export class TableIndexes {
  list: readonly FieldIndex[] = []
  readonly builds = new Map<FieldIndex, Promise<void>>()
  readonly drops = new Map<FieldIndex, Promise<void>>()
  /** The read of the declarations; undefined before the first one, or if it failed. */
  loading: Promise<void> | undefined
}

const fieldsMax = 16

/** The type of the indexed values: of a list, the type of its elements. */
export function indexedType({ type }: FieldType): FieldType['type'] {
  return type.base === 'LIST' ? type.element! : type
}

/** Whether a record has one row for each element of the field. */
export function isMultiValued({ type }: FieldType): boolean {
  return type.base === 'LIST'
}

/** Checks the name of an index. `ERR_INVALID_ARGUMENT`. */
export function checkIndexName(name: string): string {
  if (typeof name === 'string' && /^[\w-]{1,100}$/.test(name)) return name
  throw invalidArgument(`the name of an index has letters, digits, _ and -; got ${shown(name)}`)
}

/** The name and the fields of an index. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`. */
export function readIndexInput(
  input: FieldIndexInput,
  schema: SchemaCache,
): Pick<FieldIndex, 'name' | 'fields'> {
  const { name, fields } = indexOptions.read(input)
  if (fields.length === 0 || fields.length > fieldsMax) {
    throw invalidArgument(`an index has 1 to ${fieldsMax} fields`)
  }
  const types = fields.map(({ field }) => schema.field(field))
  for (const field of types) {
    if (indexedType(field).orderedBytes !== undefined) continue
    throw invalidArgument(`values of ${field.valueType} have no order`)
  }
  if (new Set(types).size < types.length) {
    throw invalidArgument('an index has each of its fields once')
  }
  if (types.filter(isMultiValued).length > 1) throw invalidArgument('an index has one list at most')
  return { name, fields: fields.map(({ order }, at) => ({ field: types[at].ordinal, order })) }
}

/** The prefix of the rows that declare the indexes of a record table. */
export function definitionPrefix(table: Buffer): Buffer {
  return Buffer.concat([Buffer.of(rowKinds.definition), terminated(table)])
}

/** The index of a declaration. `ERR_CORRUPTION`. */
export function decodeIndex(name: string, text: string): FieldIndex {
  try {
    const stored = JSON.parse(text) as StoredIndex
    return { name, ...stored, isMaintained: stored.state !== 'DROPPING' }
  } catch (error) {
    throw corrupt(`the declaration of the index ${name} cannot be read: ${String(error)}`)
  }
}

/** The JSON of an index in the row of its declaration. */
export function encodeIndex({ ordinal, fields, state, position, built }: FieldIndex): Buffer {
  const stored: StoredIndex = { ordinal, fields, state, position, built }
  return Buffer.from(JSON.stringify(stored))
}

/** The description of an index for callers. */
export function infoOf(
  { name, fields, state, built }: FieldIndex,
  schema: SchemaCache,
): FieldIndexInfo {
  const named = fields.map(({ field, order }) => {
    return { field: schema.fieldAt(field)?.name ?? '', order }
  })
  return { name, fields: named, state, built }
}

/** Makes an `ERR_FIELD_INDEX_NOT_FOUND`. */
export function indexNotFound(message: string): CellarError {
  return repositoryError('fieldIndexNotFound', message)
}

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

/** The state whose values are in indexes: that of a record that is not deleted. */
function indexedState(state: RecordState | undefined): RecordState | undefined {
  return state?.isDeleted === true ? undefined : state
}

/** The indexes by repository `/` table; all managers of a database share one object. */
export class FieldIndexes {
  readonly #tables = new Map<string, TableIndexes>()

  of(keyText: string): TableIndexes {
    const indexes = this.#tables.get(keyText) ?? new TableIndexes()
    this.#tables.set(keyText, indexes)
    return indexes
  }

  /** Ends the builds of a dropped record table, and forgets its indexes. */
  async forget(keyText: string): Promise<void> {
    const { list, builds } = this.of(keyText)
    this.#tables.delete(keyText)
    for (const index of list) index.state = 'DROPPING'
    await Promise.allSettled(builds.values())
  }

  readonly part: CommitPart = (changes) => {
    const mutations: AtomicMutation[] = []
    for (const changed of changes) {
      for (const index of this.of(changed.context.keyText).list) {
        if (index.isMaintained) addRows(index, changed, mutations)
      }
    }
    return mutations.length === 0 ? undefined : Promise.resolve({ checks: [], mutations })
  }
}

function addRows(
  index: FieldIndex,
  { context, change }: TableChange,
  mutations: AtomicMutation[],
): void {
  const { id, before, after } = change
  // A drop that fails leaves a build that is not at its end.
  const isBuilding = index.state !== 'ACTIVE'
  const isSame =
    before !== undefined &&
    before.isDeleted === after.isDeleted &&
    index.fields.every(({ field }) => {
      return sameBytes(newestCell(before, field)?.value, newestCell(after, field)?.value)
    })
  if (isSame && !isBuilding) return
  const [old, now] = [indexedState(before), indexedState(after)]
  const { entries, removed, written } = entryChanges(formOf(context, index), id.bytes, old, now)
  for (const { key, value } of isBuilding ? entries : written) {
    mutations.push(indexRow(context, key, value))
  }
  for (const key of removed) mutations.push(indexRemoval(context, key))
}
