/**
 * A version edit: one step from a version to the next, and its form on disk (FORMAT.md).
 *
 * The form is JSON, because edits are small and rare and people will have to read them. It is read
 * strictly: an unknown field, a missing one or a value out of range is an error, never a guess.
 */

import { isUtf8 } from 'node:buffer'
import { InvariantError } from '../base/assert.js'
import { CellarError, ErrorCode } from '../base/errors.js'
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

/** A file and the store that it belongs to. */
export interface StoreFile {
  readonly storeId: number
  readonly file: FileMetadata
}

/** A file that a store gives up. */
export interface StoreFileNumber {
  readonly storeId: number
  readonly fileNumber: number
}

/** How far a store has been flushed. */
export interface StoreSequence {
  readonly storeId: number
  /** Every mutation of the store with this sequence or a smaller one is in files. */
  readonly sequence: number
}

/**
 * What changes from one version to the next. Absent fields change nothing. The parts take effect in
 * this order: files removed, tables dropped, altered and created, namespaces dropped and put, files
 * added, numbers.
 */
export interface VersionEdit {
  /** New tables with all their families. */
  readonly tablesCreated?: readonly TableDefinition[]
  /** Tables that go, with all their stores and files. */
  readonly tablesDropped?: readonly number[]
  /** Complete new definitions; a store that is no longer named goes with all its files. */
  readonly tablesAltered?: readonly TableDefinition[]
  /** Namespaces, new or in place of the one of their name. */
  readonly namespacesPut?: readonly NamespaceDefinition[]
  /** Names of namespaces that go. */
  readonly namespacesDropped?: readonly string[]
  /** New files, or files removed by the same edit that come back on another level (a move). */
  readonly filesAdded?: readonly StoreFile[]
  readonly filesRemoved?: readonly StoreFileNumber[]
  /** May not decrease. */
  readonly flushedSequences?: readonly StoreSequence[]
  /** Every file number handed out so far is smaller. Set by the version set, whatever it was. */
  readonly nextFileNumber?: number
  /** Every identifier handed out so far is smaller. Set by the version set, whatever it was. */
  readonly nextId?: number
  /** Log segments with a smaller number are not needed any more. May not decrease. */
  readonly logFileNumberFloor?: number
  /** A sequence that was in use when the edit was made. May not decrease. */
  readonly lastSequence?: number
  /**
   * A timestamp that the engine's clock had assigned; smaller than the known one changes nothing.
   */
  readonly lastServerTimestamp?: number
}

/** An edit as it stands in a manifest. */
export interface ManifestEdit extends VersionEdit {
  /** True for the first edit of a manifest: it holds the complete state, on top of nothing. */
  readonly snapshot?: boolean
}

/** The number of the form described here. Never change; zero is invalid. */
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

/** The edit as UTF-8 JSON. */
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
 * Reads the edit in `payload[start, end)`. The result shares no memory with the payload. Throws an
 * `InvariantError` on anything malformed, and `ERR_FORMAT_VERSION` if a newer version wrote it.
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
