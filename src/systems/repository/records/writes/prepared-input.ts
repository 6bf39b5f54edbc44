/** Input of a write, checked and encoded: fields to set, fields to remove, and metadata. */
import {
  checkArray,
  checkObject,
  checkText,
  OptionNames,
  readArguments,
} from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import { invalidRecord } from '../../errors.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordType } from '../../schema/record-type.js'
import { leafOf } from '../../schema/rule-checks.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import type { Metadata } from '../metadata.js'
import type { RecordInput, RecordTypeLike } from '../record.js'
import { copyAttributes, copyMetadata } from './submission.js'

const names = new OptionNames<RecordInput>('a record', {
  id: true,
  version: true,
  type: true,
  fields: true,
  fieldsToDelete: true,
  metadata: true,
  metadataToDelete: true,
  attributes: true,
})

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
  readonly type: { readonly recordType: RecordType; readonly isPinned: boolean } | undefined
  readonly sets: Map<number, FieldChange>
  readonly deletes: Map<number, FieldType>
  readonly metadata: Map<number, MetadataChange>
  readonly attributes: Readonly<Record<string, string>> | undefined
}

/** Encodes a value. `ERR_INVALID_RECORD`. */
export function encodeField(field: FieldType, value: unknown, schema: SchemaCache): Buffer {
  if (value === undefined || value === null) throw invalidRecord(`${field.name} has no value`)
  const writer = new ByteWriter(64)
  try {
    field.type.write(writer, value, { schema, holders: [] })
  } catch (error) {
    if (error instanceof RangeError) throw invalidRecord(`${field.name}: ${error.message}`)
    throw error
  }
  return writer.finish()
}

/** Decodes a value. */
export function decodeField(field: FieldType, bytes: Buffer, schema: SchemaCache): unknown {
  return field.type.read(new ByteReader(bytes, field.name), schema)
}

/**
 * Checks and encodes input. The input is not read again afterwards. `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD`, `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function prepareInput(input: RecordInput, schema: SchemaCache): PreparedInput {
  return readArguments(() => prepared(checkObject(input, 'a record'), schema))
}

function prepared(input: RecordInput, schema: SchemaCache): PreparedInput {
  // A draft has getters for its parts, which are not own properties.
  if (Object.getPrototypeOf(input) === Object.prototype) names.check(input)
  const sets = new Map<number, FieldChange>()
  for (const [name, value] of Object.entries(objectOf(input.fields, 'fields'))) {
    const field = schema.field(name)
    sets.set(field.ordinal, { field, bytes: encodeField(field, value, schema) })
  }
  const deletes = new Map<number, FieldType>()
  for (const name of checkArray(input.fieldsToDelete ?? [], 'fieldsToDelete')) {
    const field = schema.field(name)
    deletes.set(field.ordinal, field)
    sets.delete(field.ordinal)
  }
  const metadata = metadataOf(input, schema)
  const attributes = copyAttributes(input.attributes)
  return { type: typeOf(input.type, schema), sets, deletes, metadata, attributes }
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : (checkObject(value, what) as Readonly<Record<string, unknown>>)
}

function typeOf(type: RecordTypeLike | undefined, schema: SchemaCache): PreparedInput['type'] {
  if (type === undefined) return undefined
  const { name, version } =
    typeof type === 'string' ? { name: type, version: undefined } : checkObject(type, 'a type')
  return { recordType: schema.recordType(name, version), isPinned: version !== undefined }
}

function keysOf(keys: readonly string[]): readonly string[] {
  return checkArray(keys, 'keys of metadata').map((key) => checkText(key, 'a key of metadata'))
}

function metadataOf(input: RecordInput, schema: SchemaCache): Map<number, MetadataChange> {
  const changes = objectOf(input.metadata, 'metadata')
  const deletes = objectOf(input.metadataToDelete, 'metadataToDelete')
  const found = new Map<number, MetadataChange>()
  for (const name of new Set([...Object.keys(changes), ...Object.keys(deletes)])) {
    const field = schema.field(name)
    if (field.scope === 'VERSIONED_MUTABLE' || leafOf(field).base === 'BLOB') {
      throw invalidRecord(`${name} cannot have metadata: it is mutable, or holds blobs`)
    }
    const own = changes[name] as Metadata | undefined
    const gone = deletes[name] as readonly string[] | undefined
    found.set(field.ordinal, {
      changes: own === undefined ? undefined : copyMetadata(own),
      deletes: gone === undefined ? undefined : keysOf(gone),
    })
  }
  return found
}
