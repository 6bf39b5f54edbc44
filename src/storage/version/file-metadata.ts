/**
 * The manifest's description of one SSTable. It suffices to choose files for a read or a compaction
 * without opening them, and to detect a file that is missing or cut.
 *
 * The key buffers belong to the description and are never written to.
 */

import { InvariantError } from '../../base/assert.js'
import { compareBytes } from '../../base/bytes.js'
import { noDatabaseId } from '../sstable/format.js'
import {
  readArray,
  readBase64,
  readCount,
  readInt64,
  readObject,
  refuseUnknownFields,
  type JsonObject,
} from './json-fields.js'

/** One SSTable of one store. Immutable. */
export interface FileMetadata {
  /** The number in the file's name, from 1. */
  readonly fileNumber: number
  /** Exact length of the file in bytes; checked at open. */
  readonly fileBytes: number
  /**
   * Level 0: flushed files, which may overlap. Level 1 and above: files of one level do not
   * overlap.
   */
  readonly level: number
  /** Number of entries, at least 1. */
  readonly entryCount: number
  /** Entries that are delete markers of any kind. */
  readonly deleteCount: number
  /** Entries that are family delete markers. */
  readonly familyDeleteCount: number
  /** First and last key, both inclusive. */
  readonly firstKey: Buffer
  readonly lastKey: Buffer
  /** Smallest and largest sequence of an entry, both inclusive. */
  readonly minSequence: number
  readonly maxSequence: number
  /** Smallest and largest timestamp of an entry, both inclusive. */
  readonly minTimestamp: bigint
  readonly maxTimestamp: bigint
  /** Smallest timestamp of a put. The writer of the file chooses a value if the file has no put. */
  readonly earliestPutTimestamp: bigint
  /** Time at which the file was written, in milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
  /**
   * The file number to which the checksums of the file are bound; absent means `fileNumber`.
   * Present in hard links of snapshots, clones and restores, and in bulk-loaded files.
   */
  readonly writtenAs?: number
  /** Present if `BulkWriter` wrote the file: the file then carries no database identity. */
  readonly fromBulkWriter?: true
  /**
   * The sequence that all entries of the file have, not those in their keys. For
   * bulk-loaded files.
   */
  readonly sequenceAssigned?: number
  /** The value files to which cells of the file refer, ascending by number; absent means none. */
  readonly valueFiles?: readonly ValueFileUse[]
}

/** The part of a value file to which an SSTable refers. */
export interface ValueFileUse {
  readonly fileNumber: number
  /** Exact length of the value file in bytes. */
  readonly fileBytes: number
  /** Stored bytes of those values of the file to which the SSTable refers. */
  readonly bytesUsed: number
}

/** Deepest level that a file may have (inclusive). */
export const levelMax = 31

const fields: ReadonlySet<string> = new Set([
  'storeId',
  'fileNumber',
  'fileBytes',
  'level',
  'entryCount',
  'deleteCount',
  'familyDeleteCount',
  'firstKey',
  'lastKey',
  'minSequence',
  'maxSequence',
  'minTimestamp',
  'maxTimestamp',
  'earliestPutTimestamp',
  'createdMilliseconds',
  'writtenAs',
  'fromBulkWriter',
  'sequenceAssigned',
  'valueFiles',
])
const valueFileFields: ReadonlySet<string> = new Set(['fileNumber', 'fileBytes', 'bytesUsed'])

/** Encodes a file as a JSON object: keys as base64, 64-bit numbers as decimal strings. */
export function encodeFileMetadata(storeId: number, file: FileMetadata): JsonObject {
  return {
    storeId,
    fileNumber: file.fileNumber,
    fileBytes: file.fileBytes,
    level: file.level,
    entryCount: file.entryCount,
    deleteCount: file.deleteCount,
    familyDeleteCount: file.familyDeleteCount,
    firstKey: file.firstKey.toString('base64'),
    lastKey: file.lastKey.toString('base64'),
    minSequence: file.minSequence,
    maxSequence: file.maxSequence,
    minTimestamp: String(file.minTimestamp),
    maxTimestamp: String(file.maxTimestamp),
    earliestPutTimestamp: String(file.earliestPutTimestamp),
    createdMilliseconds: file.createdMilliseconds,
    ...(file.writtenAs !== undefined && { writtenAs: file.writtenAs }),
    ...(file.fromBulkWriter === true && { fromBulkWriter: true }),
    ...(file.sequenceAssigned !== undefined && { sequenceAssigned: file.sequenceAssigned }),
    ...(file.valueFiles !== undefined && {
      valueFiles: file.valueFiles.map(({ fileNumber, fileBytes, bytesUsed }) => {
        return { fileNumber, fileBytes, bytesUsed }
      }),
    }),
  }
}

/**
 * Decodes the result of {@link encodeFileMetadata}. Throws an `InvariantError` if it is malformed.
 */
export function decodeFileMetadata(value: unknown): { storeId: number; file: FileMetadata } {
  const object = readObject(value, 'an added file')
  refuseUnknownFields(object, fields, 'an added file')
  const file: FileMetadata = {
    fileNumber: readCount(object, 'fileNumber', 1),
    fileBytes: readCount(object, 'fileBytes', 1),
    level: readCount(object, 'level'),
    entryCount: readCount(object, 'entryCount', 1),
    deleteCount: readCount(object, 'deleteCount'),
    familyDeleteCount: readCount(object, 'familyDeleteCount'),
    firstKey: readBase64(object, 'firstKey'),
    lastKey: readBase64(object, 'lastKey'),
    minSequence: readCount(object, 'minSequence'),
    maxSequence: readCount(object, 'maxSequence'),
    minTimestamp: readInt64(object, 'minTimestamp'),
    maxTimestamp: readInt64(object, 'maxTimestamp'),
    earliestPutTimestamp: readInt64(object, 'earliestPutTimestamp'),
    createdMilliseconds: readCount(object, 'createdMilliseconds'),
    ...(object.writtenAs !== undefined && { writtenAs: readCount(object, 'writtenAs') }),
    ...(object.fromBulkWriter !== undefined && { fromBulkWriter: readTrue(object) }),
    ...(object.sequenceAssigned !== undefined && {
      sequenceAssigned: readCount(object, 'sequenceAssigned'),
    }),
    ...(object.valueFiles !== undefined && {
      valueFiles: readArray(object.valueFiles, 'valueFiles').map(decodeValueFileUse),
    }),
  }
  checkFileMetadata(file)
  return { storeId: readCount(object, 'storeId', 1), file }
}

function readTrue({ fromBulkWriter }: JsonObject): true {
  if (fromBulkWriter === true) return true
  throw new InvariantError('an added file: fromBulkWriter is true or absent')
}

function decodeValueFileUse(value: unknown): ValueFileUse {
  const object = readObject(value, 'a value file')
  refuseUnknownFields(object, valueFileFields, 'a value file')
  return {
    fileNumber: readCount(object, 'fileNumber', 1),
    fileBytes: readCount(object, 'fileBytes', 1),
    bytesUsed: readCount(object, 'bytesUsed', 1),
  }
}

function checkFileMetadata(file: FileMetadata): void {
  const wrong = findContradiction(file)
  if (wrong !== undefined) throw new InvariantError(`file ${file.fileNumber}: ${wrong}`)
}

function findContradiction(file: FileMetadata): string | undefined {
  if (file.level > levelMax) return `level ${file.level} is deeper than ${levelMax}`
  if (file.deleteCount > file.entryCount) return 'more deletes than entries'
  if (file.familyDeleteCount > file.entryCount) return 'more family deletes than entries'
  if (file.minSequence > file.maxSequence) return 'the sequence range is reversed'
  const { sequenceAssigned } = file
  if (sequenceAssigned !== undefined) {
    const same = file.minSequence === sequenceAssigned && file.maxSequence === sequenceAssigned
    if (!same) return 'the sequence range is not the assigned sequence'
  }
  if (file.minTimestamp > file.maxTimestamp) return 'the timestamp range is reversed'
  if (compareFileKeys(file.firstKey, file.lastKey) > 0) return 'the key range is reversed'
  const { valueFiles = [] } = file
  for (const [i, { fileNumber, fileBytes, bytesUsed }] of valueFiles.entries()) {
    if (bytesUsed > fileBytes) return `more than all of value file ${fileNumber} is used`
    if (i > 0 && valueFiles[i - 1].fileNumber >= fileNumber) return 'value files out of order'
  }
  return undefined
}

/** Compares two keys in the order of the store: negative, zero or positive. */
export function compareFileKeys(a: Buffer, b: Buffer): number {
  return compareBytes(a, 0, a.length, b, 0, b.length)
}

/** The file number to which the checksums of a file are bound. */
export function checksumNumberOf(file: {
  readonly fileNumber: number
  readonly writtenAs?: number | undefined
}): number {
  return file.writtenAs ?? file.fileNumber
}

/** The database identity in a file of the database `databaseId`; bulk-loaded files carry none. */
export function identityOf(
  file: { readonly fromBulkWriter?: true | undefined },
  databaseId: Buffer,
): Buffer {
  return file.fromBulkWriter === true ? noDatabaseId : databaseId
}

/** Whether two descriptions can be of the same file. The level may differ, as after a move. */
export function describesSameFile(a: FileMetadata, b: FileMetadata): boolean {
  return (
    a.fileNumber === b.fileNumber &&
    a.fileBytes === b.fileBytes &&
    a.entryCount === b.entryCount &&
    a.minSequence === b.minSequence &&
    a.maxSequence === b.maxSequence &&
    compareFileKeys(a.firstKey, b.firstKey) === 0 &&
    compareFileKeys(a.lastKey, b.lastKey) === 0
  )
}
