/** Field indexes: their declaration, and the row that stores it. */
import {
  checked,
  choice,
  declareOptions,
  list,
  required,
  shown,
  text,
  type OptionsOf,
} from '../../../api/index.js'
import { corrupt, invalidArgument } from '../errors.js'
import { rowKinds, terminated } from '../records/ordered-row.js'
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

/** A field of a {@link FieldIndex}. */
export interface IndexPart {
  /** Number of the field type; a rename does not change it. */
  readonly ordinal: number
  readonly isDescending: boolean
}

/** An index in memory, shared by all writers of its table. */
export interface FieldIndex {
  readonly name: string
  readonly ordinal: number
  readonly parts: readonly IndexPart[]
  state: FieldIndexState
  /** Bytes of the last id that the build has processed; empty at its start. */
  position: Buffer
  built: number
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

/** The name and the parts of an index. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`. */
export function partsOf(
  input: FieldIndexInput,
  schema: SchemaCache,
): Pick<FieldIndex, 'name' | 'parts'> {
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
  const parts = fields.map(({ order }, at): IndexPart => {
    return { ordinal: types[at].ordinal, isDescending: order === 'DESCENDING' }
  })
  return { name, parts }
}

/** The prefix of the rows that declare the indexes of a record table. */
export function definitionPrefix(table: Buffer): Buffer {
  return Buffer.concat([Buffer.of(rowKinds.definition), terminated(table)])
}

interface StoredIndex {
  readonly ordinal: number
  readonly fields: readonly { readonly field: number; readonly order: FieldOrder }[]
  readonly state: FieldIndexState
  readonly position: string
  readonly built: number
}

/** The cell of a declaration. */
export function encodeIndex(index: FieldIndex): string {
  const stored: StoredIndex = {
    ordinal: index.ordinal,
    fields: index.parts.map(({ ordinal, isDescending }) => {
      return { field: ordinal, order: isDescending ? 'DESCENDING' : 'ASCENDING' }
    }),
    state: index.state,
    position: index.position.toString('hex'),
    built: index.built,
  }
  return JSON.stringify(stored)
}

/** The index of a declaration. `ERR_CORRUPTION`. */
export function decodeIndex(name: string, text: string): FieldIndex {
  try {
    const { ordinal, fields, state, position, built } = JSON.parse(text) as StoredIndex
    const parts = fields.map(({ field, order }) => {
      return { ordinal: field, isDescending: order === 'DESCENDING' }
    })
    return { name, ordinal, parts, state, position: Buffer.from(position, 'hex'), built }
  } catch (error) {
    throw corrupt(`the declaration of the index ${name} cannot be read: ${String(error)}`)
  }
}

/** The description of an index for callers. */
export function infoOf(index: FieldIndex, schema: SchemaCache): FieldIndexInfo {
  return {
    name: index.name,
    fields: index.parts.map(({ ordinal, isDescending }) => ({
      field: schema.fieldAt(ordinal)?.name ?? '',
      order: isDescending ? 'DESCENDING' : 'ASCENDING',
    })),
    state: index.state,
    built: index.built,
  }
}
