/** Field indexes: their declaration, and the row that stores it. */
import {
  checked,
  choice,
  declareOptions,
  list,
  required,
  shown,
  text,
  type CellarError,
  type OptionsOf,
} from '../../../api/index.js'
import { corrupt, invalidArgument, repositoryError } from '../errors.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import { rowKinds } from '../records/ordered-row.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'

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
export interface TableIndexes {
  list: readonly FieldIndex[]
  /** Builds in progress. */
  readonly builds: Map<FieldIndex, Promise<void>>
  /** Drops in progress. */
  readonly drops: Map<FieldIndex, Promise<void>>
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
