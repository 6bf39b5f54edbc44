/**
 * A version edit: the step from one version to the next, and its form on disk (FORMAT.md).
 *
 * The form is JSON, because edits are small and rare, and people need to read them. The reader is
 * strict: an unknown field, a missing field or a value out of range is an error.
 */

import { isUtf8 } from 'node:buffer'
import { InvariantError } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { namespaceRecord, tableRecord } from './catalog.js'
import { storeFileField } from './file-metadata.js'
import {
  count,
  isTrue,
  listOf,
  name,
  optional,
  readObject,
  record,
  type RecordOf,
} from './json-fields.js'

/** A file that is removed from a store. */
const fileNumberFields = { storeId: count(1), fileNumber: count(1) }

/** The flushed sequence of a store. */
const sequenceFields = {
  storeId: count(1),
  /** Every mutation of the store up to and including this sequence is in SSTables. */
  sequence: count(),
}

const changes = {
  /** New tables with all their families. */
  tablesCreated: optional(listOf(tableRecord)),
  /** Identifiers of tables to drop, with all their stores and files. */
  tablesDropped: optional(listOf(count(1))),
  /**
   * Complete new definitions. A store that the definition no longer names is dropped with its
   * files.
   */
  tablesAltered: optional(listOf(tableRecord)),
  /** Names of namespaces to drop. */
  namespacesDropped: optional(listOf(name)),
  /** Namespaces to create, or to replace by name. */
  namespacesPut: optional(listOf(namespaceRecord)),
  /** New files, and files that the same edit removes and that move to another level. */
  filesAdded: optional(listOf(storeFileField)),
  filesRemoved: optional(listOf(record('a removed file', fileNumberFields))),
  /** May not decrease. */
  flushedSequences: optional(listOf(record('a flushed sequence', sequenceFields))),
  /** Greater than every file number allocated so far. The version set overwrites this field. */
  nextFileNumber: optional(count(1)),
  /** Greater than every identifier allocated so far. The version set overwrites this field. */
  nextId: optional(count(1)),
  /** Log segments with a smaller number are not needed any more. Must not decrease. */
  logFileNumberFloor: optional(count()),
  /** A sequence that was in use when the edit was made. Must not decrease. */
  lastSequence: optional(count()),
  /**
   * A timestamp that the engine's clock has assigned. A value below the known one changes nothing.
   */
  lastServerTimestamp: optional(count()),
}

/**
 * The changes from one version to the next. Absent fields change nothing. The parts take effect in
 * this order: files removed; tables dropped, altered, created; namespaces dropped, put; files
 * added; numbers.
 */
export interface VersionEdit extends RecordOf<typeof changes> {}

const editFields = {
  /** Set in the first edit of a manifest, which holds the complete state. */
  snapshot: isTrue,
  ...changes,
}

/** An edit as a manifest stores it. */
export interface ManifestEdit extends RecordOf<typeof editFields> {}

/** Version of the edit's form. On disk: never change; zero is invalid. */
export const editFormat = 1

const editRecord = record('the edit', editFields)

/** Encodes an edit as JSON in UTF-8. */
export function encodeEdit(edit: ManifestEdit): Buffer {
  const object = { format: editFormat, ...editRecord.write(edit) }
  return Buffer.from(JSON.stringify(object), 'utf8')
}

/**
 * Decodes the edit in `payload[start, end)`. The result shares no memory with the payload. Throws
 * an `InvariantError` if the edit is malformed, and `ERR_FORMAT_VERSION` if a newer version wrote
 * it.
 */
export function decodeEdit(payload: Buffer, start: number, end: number): ManifestEdit {
  const { format, ...edit } = readObject(parseJson(payload.subarray(start, end)), 'the edit')
  const found = count(1).read(format, 'format')
  if (found > editFormat) {
    const message = `the version edit has format ${found}, this version reads up to ${editFormat}`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
  return editRecord.read(edit, 'the edit')
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new InvariantError('the edit is not UTF-8')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new InvariantError('the edit is not JSON')
  }
}
