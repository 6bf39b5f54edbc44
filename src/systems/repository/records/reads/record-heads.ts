/**
 * Reads the stored forms of one record, its head and its versions, and decodes them into records
 * for callers.
 */
import { shown, type Get, type Result } from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { corrupt, invalidArgument, recordNotFound } from '../../errors.js'
import type { RecordId } from '../../record-id.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  isDeletedHead,
  readHeadHeader,
  readVersionHeader,
  versionColumn,
  versionOfColumn,
  versionReader,
  type HeadHeader,
  type RecordState,
  type TypeReference,
  type VersionHeader,
  type VersionState,
} from '../record-state.js'
import type { TableContext } from '../table-context.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { decodeMetadata, type Metadata } from '../metadata.js'
import type { RecordTypeName, StoredRecord } from '../record.js'

const headColumns = [headColumn]

/** A get of the newest version, or of one version. */
export function getOf(id: RecordId, version?: number): Get {
  const columns = version === undefined ? headColumns : [headColumn, versionColumn(version)]
  return { row: id.bytes, columns }
}

/** A stored head, as bytes and decoded; undefined without a row. */
export interface StoredHead {
  readonly id: RecordId
  readonly bytes: Buffer | undefined
  readonly state: RecordState | undefined
}

/** The head of a record that exists. */
export interface LiveHead extends StoredHead {
  readonly bytes: Buffer
  readonly state: RecordState
}

/** The head of a record, possibly of a deleted one. */
export async function readHead(context: TableContext, id: RecordId): Promise<StoredHead> {
  context.checkOpen()
  const row = await context.table.get(getOf(id))
  const bytes = row.value(headColumn)
  return { id, bytes, state: bytes === undefined ? undefined : decodeHead(bytes, id) }
}

/** The head of a record that exists. `ERR_RECORD_NOT_FOUND`. */
export async function readLive(context: TableContext, id: RecordId): Promise<LiveHead> {
  context.checkOpen()
  const row = await context.table.get(getOf(id))
  const bytes = row.value(headColumn)
  if (bytes === undefined || isDeletedHead(bytes, id)) throw recordNotFound(id)
  return { id, bytes, state: decodeHead(bytes, id) }
}

/** Whether a record exists and is not deleted. */
export async function exists(context: TableContext, id: RecordId): Promise<boolean> {
  const { state } = await readHead(context, id)
  return state !== undefined && !state.isDeleted
}

/** Number of versions in one read. */
export const versionsAtOnce = 1000

/** The versions from `first` to `last`, ascending, in parts for one read each. */
export function* versionParts(first: number, last: number): Generator<number[], void> {
  for (let start = first; start <= last; start += versionsAtOnce) {
    const length = Math.min(versionsAtOnce, last - start + 1)
    yield Array.from({ length }, (_, index) => start + index)
  }
}

/** The states of versions that are not the newest; versions that do not exist are left out. */
export async function versionStates(
  { table }: TableContext,
  id: RecordId,
  versions: readonly number[],
): Promise<Map<number, VersionState>> {
  if (versions.length === 0) return new Map()
  const row = await table.get({ row: id.bytes, columns: versions.map(versionColumn) })
  const cells = row.cells()
  return new Map(
    cells.map(({ qualifier, value }) => [versionOfColumn(qualifier)!, decodeVersion(value, id)]),
  )
}

/**
 * The state of one version of a record; undefined if there is no such version. `ERR_CORRUPTION` if
 * its cell is missing.
 */
export async function versionState(
  context: TableContext,
  { id, state }: LiveHead,
  version: number,
): Promise<VersionState | undefined> {
  if (version === state.version) return state.latest
  if (version <= 0 || version < state.first || version > state.version) return undefined
  const found = (await versionStates(context, id, [version])).get(version)
  if (found === undefined) throw lacksVersion(id, version)
  return found
}

/** Makes an `ERR_CORRUPTION`: the head of a record has a version whose cell is missing. */
export function lacksVersion({ text }: RecordId, version: number): Error {
  return corrupt(`the record ${text} lacks its version ${version}`)
}

/** The header in the head of a record. `ERR_CORRUPTION`. */
export function headerIn(id: RecordId, head: Buffer): HeadHeader {
  return readHeadHeader(new ByteReader(head, id))
}

/** The header of a record that exists. `ERR_RECORD_NOT_FOUND`. */
export function headerOf(id: RecordId, row: Result): HeadHeader {
  const head = row.value(headColumn)
  const header = head === undefined ? undefined : headerIn(id, head)
  if (header === undefined || header.isDeleted) throw recordNotFound(id)
  return header
}

/** The version that was the newest at a time; undefined if the record had no version then. */
export async function versionAt(
  context: TableContext,
  id: RecordId,
  time: number,
): Promise<number | undefined> {
  context.checkOpen()
  if (typeof time !== 'number' || Number.isNaN(time)) {
    throw invalidArgument(`a time in milliseconds is wanted, got ${shown(time)}`)
  }
  const header = headerOf(id, await context.table.get(getOf(id)))
  let low = header.first
  let high = header.version
  let found: number | undefined
  while (low <= high && low > 0) {
    const middle = Math.floor((low + high) / 2)
    const row = await context.table.get(getOf(id, middle))
    const { first, version } = headerOf(id, row)
    if (middle < first || middle > version) {
      // Versions were dropped meanwhile, or the record was deleted and created again.
      ;[low, high, found] = [first, version, undefined]
      continue
    }
    const bytes = row.value(middle === version ? headColumn : versionColumn(middle))
    if (bytes === undefined) throw lacksVersion(id, middle)
    const state = middle === version ? decodeHead(bytes, id).latest! : decodeVersion(bytes, id)
    if (state.created > time) high = middle - 1
    else {
      found = middle
      low = middle + 1
    }
  }
  return found
}

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
