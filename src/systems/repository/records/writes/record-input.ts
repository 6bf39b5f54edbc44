/**
 * Input of a write, fixed at the call, so that later changes by the caller have no effect: checked
 * and encoded, or copied if hooks may still change it.
 */
import { checkArray, checkObject, checkText, readArguments } from '../../../../api/index.js'
import { invalidRecord } from '../../errors.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordType } from '../../schema/record-type.js'
import { leafOf } from '../../schema/rule-checks.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { isBytes, isTime } from '../../value-kinds.js'
import { encodeField } from '../field-values.js'
import type { Metadata } from '../metadata.js'
import { readInput, type RecordInput, type RecordTypeLike } from '../record.js'

/** A field to set. */
export interface FieldChange {
  readonly field: FieldType
  /** The encoded value. */
  readonly bytes: Buffer
}

/** Changes of the metadata of a field. */
export interface MetadataChange {
  readonly changes: Metadata | undefined
  readonly deletes: readonly string[] | undefined
}

/** Checked input of a write; its maps are by the number of the field type. */
export interface PreparedInput {
  /** The named record type; undefined if none is named. */
  readonly type: RecordType | undefined
  readonly sets: Map<number, FieldChange>
  readonly deletes: Map<number, FieldType>
  readonly metadata: Map<number, MetadataChange>
  readonly attributes: Readonly<Record<string, string>> | undefined
}

/**
 * Checks and encodes input. The input is not read again afterwards. `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD`, `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function prepareInput(input: RecordInput, schema: SchemaCache): PreparedInput {
  const { type, fields, fieldsToDelete, attributes, ...given } = readInput(input)
  return readArguments(() => {
    const sets = new Map<number, FieldChange>()
    for (const [name, value] of Object.entries(fields)) {
      const field = schema.field(name)
      sets.set(field.ordinal, { field, bytes: encodeField(field, value, schema) })
    }
    const deletes = new Map<number, FieldType>()
    for (const name of fieldsToDelete) {
      const field = schema.field(name)
      deletes.set(field.ordinal, field)
      sets.delete(field.ordinal)
    }
    const metadata = metadataOf(given.metadata, given.metadataToDelete, schema)
    return { type: typeOf(type, schema), sets, deletes, metadata, attributes }
  })
}

function typeOf(type: RecordTypeLike | undefined, schema: SchemaCache): RecordType | undefined {
  if (type === undefined) return undefined
  if (typeof type === 'string') return schema.recordType(type)
  const { name, version } = checkObject(type, 'a type')
  return schema.recordType(name, version)
}

function metadataOf(
  changes: Readonly<Record<string, Metadata>>,
  deletes: Readonly<Record<string, readonly string[]>>,
  schema: SchemaCache,
): Map<number, MetadataChange> {
  const found = new Map<number, MetadataChange>()
  for (const name of new Set([...Object.keys(changes), ...Object.keys(deletes)])) {
    const field = schema.field(name)
    if (field.scope === 'VERSIONED_MUTABLE' || leafOf(field).base === 'BLOB') {
      throw invalidRecord(`${name} cannot have metadata: it is mutable, or holds blobs`)
    }
    const own = changes[name] as Metadata | undefined
    const gone = deletes[name] as readonly string[] | undefined
    const keys = gone && checkArray(gone, 'keys of metadata')
    found.set(field.ordinal, {
      changes: own && (copyValue(checkObject(own, 'metadata'), 0) as Metadata),
      deletes: keys?.map((key) => checkText(key, 'a key of metadata')),
    })
  }
  return found
}

/** Greater than the nesting of any field value. */
const depthMax = 200

/**
 * Copies input with the mutable values of its fields. Links and ids are immutable. Objects of other
 * classes are not copied; only the value types of the caller know them.
 */
export function copyInput(input: RecordInput): RecordInput {
  const parts = readInput(input)
  return readArguments(() => copyValue(parts, 0) as RecordInput)
}

/** Copies a value of a field: bytes, times, lists and plain objects, at any depth. */
function copyValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) throw invalidRecord(`values nest ${depthMax} deep at most`)
  if (isBytes(value)) return Buffer.from(value)
  if (isTime(value)) return new Date(value.getTime())
  if (Array.isArray(value)) return value.map((each) => copyValue(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value).map(([name, each]) => [name, copyValue(each, depth + 1)])
  return Object.fromEntries(entries)
}
