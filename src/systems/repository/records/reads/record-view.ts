/** Decodes stored bytes into records for callers. */
import { ByteReader } from '../../../bytes/byte-reader.js'
import { corrupt, recordNotFound } from '../../errors.js'
import type { RecordId } from '../../record-id.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { decodeMetadata, type Metadata } from '../metadata.js'
import type { RecordTypeName, StoredRecord } from '../record.js'
import {
  readHeadHeader,
  readVersionHeader,
  versionReader,
  type TypeReference,
  type VersionHeader,
} from '../record-state.js'
import type { TableContext } from '../table-context.js'

/** Numbers of the fields to return; undefined = all. */
export type WantedFields = ReadonlySet<number> | undefined

/** A version that is not the newest, and its cell; 0 = the fields without versions alone. */
export type OlderVersion =
  | { readonly version: 0 }
  | { readonly version: number; readonly bytes: Buffer }

/**
 * A record from its head: the newest version, or an older one. `ERR_RECORD_NOT_FOUND` if the record
 * was deleted.
 */
export function viewOf(
  { schema, name: table }: Pick<TableContext, 'schema' | 'name'>,
  id: RecordId,
  head: Buffer,
  wanted: WantedFields,
  older?: OlderVersion,
): StoredRecord {
  const fields: Record<string, unknown> = {}
  const metadata: Record<string, Metadata> = {}
  const reader = new ByteReader(head, id)
  const header = readHeadHeader(reader)
  if (header.isDeleted) throw recordNotFound(id)
  collect(reader, schema, wanted, fields, metadata)
  const version = older === undefined ? header.version : older.version
  let ofVersion: VersionHeader | undefined
  if (version > 0) {
    const source = older !== undefined && 'bytes' in older ? versionReader(older.bytes, id) : reader
    ofVersion = readVersionHeader(source)
    collect(source, schema, wanted, fields, metadata)
    source.finish()
  } else if (older === undefined) reader.finish()
  const versionedType = ofVersion?.versionedType
  const mutableType = ofVersion?.mutableType
  return {
    id,
    table,
    version: version === 0 ? undefined : version,
    type: typeName(schema, header.type),
    versionedType: versionedType === undefined ? undefined : typeName(schema, versionedType),
    mutableType: mutableType === undefined ? undefined : typeName(schema, mutableType),
    fields,
    metadata,
    created: header.created,
    modified: header.modified,
    revision: header.occ,
  }
}

/** The name of a version of a record type. */
export function typeName(schema: SchemaCache, { ordinal, version }: TypeReference): RecordTypeName {
  const type = schema.recordTypeAt(ordinal)
  if (type === undefined) throw corrupt(`a record has the type ${ordinal}, which does not exist`)
  return { name: type.name, version }
}

function collect(
  reader: ByteReader,
  schema: SchemaCache,
  wanted: WantedFields,
  fields: Record<string, unknown>,
  metadata: Record<string, Metadata>,
): void {
  for (let left = reader.count(); left > 0; left--) {
    const ordinal = reader.varint()
    const length = reader.varint()
    if (wanted?.has(ordinal) === false) {
      reader.skip(length)
      reader.skip(reader.varint())
      continue
    }
    const field = schema.storedFieldAt(ordinal)
    const left = reader.left - length
    fields[field.name] = field.type.read(reader, schema)
    if (reader.left !== left) throw reader.failure(`${field.name} has not ${length} bytes`)
    const metadataLength = reader.varint()
    if (metadataLength > 0) metadata[field.name] = decodeMetadata(reader.raw(metadataLength))
  }
}
