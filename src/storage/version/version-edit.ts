/**
 * A version edit: the step from one version to the next, and its form on disk (FORMAT.md).
 *
 * The form is JSON, because edits are small and rare, and people need to read them. The reader is
 * strict: an unknown field, a missing field or a value out of range is an error.
 */

import { isUtf8 } from 'node:buffer'
import { InvariantError } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import {
  decodeNamespace,
  decodeTable,
  encodeTable,
  type NamespaceDefinition,
  type TableDefinition,
} from './catalog.js'
import { decodeFileMetadata, encodeFileMetadata, type FileMetadata } from './file-metadata.js'
import {
  readArray,
  readCount,
  readName,
  readObject,
  refuseUnknownFields,
  type JsonObject,
} from './json-fields.js'

/** A file and its store. */
export interface StoreFile {
  readonly storeId: number
  readonly file: FileMetadata
}

/** A file that is removed from a store. */
export interface StoreFileNumber {
  readonly storeId: number
  readonly fileNumber: number
}

/** The flushed sequence of a store. */
export interface StoreSequence {
  readonly storeId: number
  /** Every mutation of the store up to and including this sequence is in SSTables. */
  readonly sequence: number
}

/**
 * The changes from one version to the next. Absent fields change nothing. The parts take effect in
 * this order: files removed; tables dropped, altered, created; namespaces dropped, put; files
 * added; numbers.
 */
export interface VersionEdit {
  /** New tables with all their families. */
  readonly tablesCreated?: readonly TableDefinition[]
  /** Identifiers of tables to drop, with all their stores and files. */
  readonly tablesDropped?: readonly number[]
  /**
   * Complete new definitions. A store that the definition no longer names is dropped with its
   * files.
   */
  readonly tablesAltered?: readonly TableDefinition[]
  /** Namespaces to create, or to replace by name. */
  readonly namespacesPut?: readonly NamespaceDefinition[]
  /** Names of namespaces to drop. */
  readonly namespacesDropped?: readonly string[]
  /** New files, and files that the same edit removes and that move to another level. */
  readonly filesAdded?: readonly StoreFile[]
  readonly filesRemoved?: readonly StoreFileNumber[]
  /** May not decrease. */
  readonly flushedSequences?: readonly StoreSequence[]
  /** Greater than every file number allocated so far. The version set overwrites this field. */
  readonly nextFileNumber?: number
  /** Greater than every identifier allocated so far. The version set overwrites this field. */
  readonly nextId?: number
  /** Log segments with a smaller number are not needed any more. Must not decrease. */
  readonly logFileNumberFloor?: number
  /** A sequence that was in use when the edit was made. Must not decrease. */
  readonly lastSequence?: number
  /**
   * A timestamp that the engine's clock has assigned. A value below the known one changes nothing.
   */
  readonly lastServerTimestamp?: number
}

/** An edit as a manifest stores it. */
export interface ManifestEdit extends VersionEdit {
  /** True for the first edit of a manifest, which holds the complete state. */
  readonly snapshot?: boolean
}

/** Version of the edit's form. On disk: never change; zero is invalid. */
export const editFormat = 1

const editFields: ReadonlySet<string> = new Set([
  'format',
  'snapshot',
  'tablesCreated',
  'tablesDropped',
  'tablesAltered',
  'namespacesDropped',
  'namespacesPut',
  'filesAdded',
  'filesRemoved',
  'flushedSequences',
  'nextFileNumber',
  'nextId',
  'logFileNumberFloor',
  'lastSequence',
  'lastServerTimestamp',
])
const fileNumberFields: ReadonlySet<string> = new Set(['storeId', 'fileNumber'])
const sequenceFields: ReadonlySet<string> = new Set(['storeId', 'sequence'])

/** Encodes an edit as JSON in UTF-8. */
export function encodeEdit(edit: ManifestEdit): Buffer {
  const object = {
    format: editFormat,
    snapshot: edit.snapshot === true ? true : undefined,
    tablesCreated: edit.tablesCreated?.map(encodeTable),
    tablesDropped: edit.tablesDropped,
    tablesAltered: edit.tablesAltered?.map(encodeTable),
    namespacesDropped: edit.namespacesDropped,
    namespacesPut: edit.namespacesPut?.map(({ name, properties }) => ({ name, properties })),
    filesAdded: edit.filesAdded?.map(({ storeId, file }) => encodeFileMetadata(storeId, file)),
    filesRemoved: edit.filesRemoved?.map(({ storeId, fileNumber }) => ({ storeId, fileNumber })),
    flushedSequences: edit.flushedSequences?.map(({ storeId, sequence }) => ({
      storeId,
      sequence,
    })),
    nextFileNumber: edit.nextFileNumber,
    nextId: edit.nextId,
    logFileNumberFloor: edit.logFileNumberFloor,
    lastSequence: edit.lastSequence,
    lastServerTimestamp: edit.lastServerTimestamp,
  }
  return Buffer.from(JSON.stringify(object), 'utf8')
}

/**
 * Decodes the edit in `payload[start, end)`. The result shares no memory with the payload. Throws
 * an `InvariantError` if the edit is malformed, and `ERR_FORMAT_VERSION` if a newer version wrote
 * it.
 */
export function decodeEdit(payload: Buffer, start: number, end: number): ManifestEdit {
  const object = readObject(parseJson(payload.subarray(start, end)), 'the edit')
  const format = readCount(object, 'format', 1)
  if (format > editFormat) {
    const message = `the version edit has format ${format}, this version reads up to ${editFormat}`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
  refuseUnknownFields(object, editFields, 'the edit')
  if (object.snapshot !== undefined && object.snapshot !== true) {
    throw new InvariantError('snapshot is not true')
  }
  return {
    ...(object.snapshot === true ? { snapshot: true } : {}),
    ...readList(object, 'tablesCreated', decodeTable),
    ...readList(object, 'tablesDropped', decodeTableId),
    ...readList(object, 'tablesAltered', decodeTable),
    ...readList(object, 'namespacesDropped', decodeNamespaceName),
    ...readList(object, 'namespacesPut', decodeNamespace),
    ...readList(object, 'filesAdded', decodeFileMetadata),
    ...readList(object, 'filesRemoved', decodeFileNumber),
    ...readList(object, 'flushedSequences', decodeSequence),
    ...readOptionalCount(object, 'nextFileNumber', 1),
    ...readOptionalCount(object, 'nextId', 1),
    ...readOptionalCount(object, 'logFileNumberFloor', 0),
    ...readOptionalCount(object, 'lastSequence', 0),
    ...readOptionalCount(object, 'lastServerTimestamp', 0),
  }
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new InvariantError('the edit is not UTF-8')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new InvariantError('the edit is not JSON')
  }
}

function readList<Field extends string, T>(
  object: JsonObject,
  field: Field,
  decode: (value: unknown) => T,
): Partial<Record<Field, T[]>> {
  if (object[field] === undefined) return {}
  const list = readArray(object[field], field).map((value) => decode(value))
  return { [field]: list } as Partial<Record<Field, T[]>>
}

function readOptionalCount<Field extends string>(
  object: JsonObject,
  field: Field,
  minimum: number,
): Partial<Record<Field, number>> {
  if (object[field] === undefined) return {}
  return { [field]: readCount(object, field, minimum) } as Partial<Record<Field, number>>
}

function decodeTableId(value: unknown): number {
  return readCount({ tablesDropped: value }, 'tablesDropped', 1)
}

function decodeNamespaceName(value: unknown): string {
  return readName({ namespacesDropped: value }, 'namespacesDropped')
}

function decodeFileNumber(value: unknown): StoreFileNumber {
  const object = readObject(value, 'a removed file')
  refuseUnknownFields(object, fileNumberFields, 'a removed file')
  return {
    storeId: readCount(object, 'storeId', 1),
    fileNumber: readCount(object, 'fileNumber', 1),
  }
}

function decodeSequence(value: unknown): StoreSequence {
  const object = readObject(value, 'a flushed sequence')
  refuseUnknownFields(object, sequenceFields, 'a flushed sequence')
  return { storeId: readCount(object, 'storeId', 1), sequence: readCount(object, 'sequence') }
}
