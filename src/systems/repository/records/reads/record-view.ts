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
  type FieldCells,
  type HeadHeader,
  type RecordState,
  type TypeReference,
  type VersionHeader,
  type VersionState,
} from '../record-state.js'

/** Numbers of the fields to return; undefined = all. */
export type WantedFields = ReadonlySet<number> | undefined

/** Decodes the records of one table. */
export class RecordViews {
  readonly #schema: SchemaCache
  readonly #table: string

  constructor(schema: SchemaCache, table: string) {
    this.#schema = schema
    this.#table = table
  }

  /** The newest version, from a head. `ERR_RECORD_NOT_FOUND` if the record was deleted. */
  newest(id: RecordId, head: Buffer, wanted: WantedFields): StoredRecord {
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    const reader = new ByteReader(head, 'a record')
    const header = readHeadHeader(reader)
    if (header.isDeleted) throw recordNotFound(id)
    this.#collect(reader, wanted, fields, metadata)
    let version: VersionHeader | undefined
    if (header.version > 0) {
      version = readVersionHeader(reader)
      this.#collect(reader, wanted, fields, metadata)
    }
    reader.finish()
    return this.#record(id, header, header.version, version, fields, metadata)
  }

  /** An older version, from the head and the cell of the version. */
  older(
    id: RecordId,
    head: Buffer,
    version: number,
    stored: Buffer,
    wanted: WantedFields,
  ): StoredRecord {
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    const reader = new ByteReader(head, 'a record')
    const header = readHeadHeader(reader)
    this.#collect(reader, wanted, fields, metadata)
    const ofVersion = versionReader(stored)
    const versionHeader = readVersionHeader(ofVersion)
    this.#collect(ofVersion, wanted, fields, metadata)
    ofVersion.finish()
    return this.#record(id, header, version, versionHeader, fields, metadata)
  }

  /** A record of a decoded state, which need not be stored. */
  ofState(
    id: RecordId,
    state: RecordState,
    version: number,
    ofVersion: VersionState | undefined,
    wanted: WantedFields,
  ): StoredRecord {
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    this.#collectCells(state.fields, wanted, fields, metadata)
    if (ofVersion !== undefined) this.#collectCells(ofVersion.fields, wanted, fields, metadata)
    return this.#record(id, state, version, ofVersion, fields, metadata)
  }

  /** Decodes the value of a stored field. */
  valueOf(ordinal: number, value: Buffer): unknown {
    const field = this.#schema.fieldAt(ordinal)
    if (field === undefined) throw unknownField(ordinal)
    const reader = new ByteReader(value, field.name)
    const decoded = field.type.read(reader, this.#schema)
    reader.finish()
    return decoded
  }

  /** The name of a version of a record type. */
  typeName({ ordinal, version }: TypeReference): RecordTypeName {
    const type = this.#schema.recordTypeAt(ordinal)
    if (type === undefined) throw corrupt(`a record has the type ${ordinal}, which does not exist`)
    return { name: type.name, version }
  }

  #record(
    id: RecordId,
    header: HeadHeader,
    version: number,
    ofVersion: VersionHeader | undefined,
    fields: Record<string, unknown>,
    metadata: Record<string, Metadata>,
  ): StoredRecord {
    const versionedType = ofVersion?.versionedType
    const mutableType = ofVersion?.mutableType
    return {
      id,
      table: this.#table,
      version: version === 0 ? undefined : version,
      type: this.typeName(header.type),
      versionedType: versionedType === undefined ? undefined : this.typeName(versionedType),
      mutableType: mutableType === undefined ? undefined : this.typeName(mutableType),
      fields,
      metadata,
      created: header.created,
      modified: header.modified,
      revision: header.occ,
    }
  }

  #collect(
    reader: ByteReader,
    wanted: WantedFields,
    fields: Record<string, unknown>,
    metadata: Record<string, Metadata>,
  ): void {
    const schema = this.#schema
    for (let left = reader.count(); left > 0; left--) {
      const ordinal = reader.varint()
      const length = reader.varint()
      if (wanted?.has(ordinal) === false) {
        reader.skip(length)
        reader.skip(reader.varint())
        continue
      }
      const field = schema.fieldAt(ordinal)
      if (field === undefined) throw unknownField(ordinal)
      fields[field.name] = field.type.read(reader, schema)
      const metadataLength = reader.varint()
      if (metadataLength > 0) metadata[field.name] = decodeMetadata(reader.raw(metadataLength))
    }
  }

  #collectCells(
    cells: FieldCells,
    wanted: WantedFields,
    fields: Record<string, unknown>,
    metadata: Record<string, Metadata>,
  ): void {
    for (const [ordinal, cell] of cells) {
      if (wanted?.has(ordinal) === false) continue
      const { name } = this.#schema.fieldAt(ordinal)!
      fields[name] = this.valueOf(ordinal, cell.value)
      if (cell.metadata !== undefined) metadata[name] = decodeMetadata(cell.metadata)
    }
  }
}

function unknownField(ordinal: number): Error {
  return corrupt(`a record has a field of the type ${ordinal}, which does not exist`)
}
