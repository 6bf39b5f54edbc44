/**
 * What the manifest knows about one SSTable: enough to choose files for a read or a compaction
 * without opening them, and to notice that a file is missing or cut.
 *
 * The key buffers belong to the metadata object and are never written to.
 */

import { InvariantError } from '../base/assert.js'
import { compareBytes } from '../base/bytes.js'
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
  /** 0: flushed, files may overlap. 1 and deeper: files of one level do not overlap. */
  readonly level: number
  /** Entries, at least 1. */
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
  /** Smallest timestamp of a put; the writer of the file decides what it is if there is none. */
  readonly earliestPutTimestamp: bigint
  /** When the file was written, milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
  /**
   * The number that the file was written under, to which its checksums are bound; absent means
   * `fileNumber`. Files that are linked or taken in from outside have one.
   */
  readonly writtenAs?: number
  /** `BulkWriter` wrote the file, which therefore carries the identity of no database. */
  readonly fromBulkWriter?: true
  /** The sequence that all entries of the file count as, whatever their keys hold. */
  readonly sequenceAssigned?: number
  /** The value files that cells of the file refer to, ascending; absent means none. */
  readonly valueFiles?: readonly ValueFileUse[]
}

/** What an SSTable holds of a value file. */
export interface ValueFileUse {
  readonly fileNumber: number
  /** Exact length of the value file. */
  readonly fileBytes: number
  /** Stored bytes of the values in it that the SSTable refers to. */
  readonly bytesUsed: number
}

/** Deepest level that a file may have. */
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

/** The file as a JSON object: keys as base64, 64-bit numbers as decimal strings. */
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

/** The opposite of {@link encodeFileMetadata}. Throws an `InvariantError` on anything malformed. */
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

/** Compares two keys in the order of the store. */
export function compareFileKeys(a: Buffer, b: Buffer): number {
  return compareBytes(a, 0, a.length, b, 0, b.length)
}

/** The number that the checksums of a file are bound to. */
export function checksumNumberOf(file: {
  readonly fileNumber: number
  readonly writtenAs?: number | undefined
}): number {
  return file.writtenAs ?? file.fileNumber
}

/** The identity that a file of the database `databaseId` carries. */
export function identityOf(
  file: { readonly fromBulkWriter?: true | undefined },
  databaseId: Buffer,
): Buffer {
  return file.fromBulkWriter === true ? noDatabaseId : databaseId
}

/** Whether two descriptions can be of the same file; the level may differ, as after a move. */
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
