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
  bytes,
  count,
  int64,
  isTrue,
  listOf,
  optional,
  record,
  type RecordField,
  type RecordOf,
} from './json-fields.js'

const valueFileFields = {
  fileNumber: count(1),
  /** Exact length of the value file in bytes. */
  fileBytes: count(1),
  /** Stored bytes of those values of the file to which the SSTable refers. */
  bytesUsed: count(1),
}

/** The part of a value file to which an SSTable refers. */
export interface ValueFileUse extends RecordOf<typeof valueFileFields> {}

const fileFields = {
  /** The number in the file's name, from 1. */
  fileNumber: count(1),
  /** Exact length of the file in bytes; checked at open. */
  fileBytes: count(1),
  /**
   * Level 0: flushed files, which may overlap. Level 1 and above: files of one level do not
   * overlap.
   */
  level: count(),
  /** Number of entries, at least 1. */
  entryCount: count(1),
  /** Entries that are delete markers of any kind. */
  deleteCount: count(),
  /** Entries that are family delete markers. */
  familyDeleteCount: count(),
  /** First and last key, both inclusive. */
  firstKey: bytes,
  lastKey: bytes,
  /** Smallest and largest sequence of an entry, both inclusive. */
  minSequence: count(),
  maxSequence: count(),
  /** Smallest and largest timestamp of an entry, both inclusive. */
  minTimestamp: int64,
  maxTimestamp: int64,
  /** Smallest timestamp of a put. The writer of the file chooses a value if the file has no put. */
  earliestPutTimestamp: int64,
  /** Time at which the file was written, in milliseconds since the Unix epoch. */
  createdMilliseconds: count(),
  /**
   * The file number to which the checksums of the file are bound; absent means `fileNumber`.
   * Present in hard links of snapshots, clones and restores, and in bulk-loaded files.
   */
  writtenAs: optional(count()),
  /** Present if `BulkWriter` wrote the file: the file then carries no database identity. */
  fromBulkWriter: isTrue,
  /**
   * The sequence that all entries of the file have, not those in their keys. For
   * bulk-loaded files.
   */
  sequenceAssigned: optional(count()),
  /** The value files to which cells of the file refer, ascending by number; absent means none. */
  valueFiles: optional(listOf(record('a value file', valueFileFields))),
}

/** One SSTable of one store. Immutable. */
export interface FileMetadata extends RecordOf<typeof fileFields> {}

/** A file and its store. */
export interface StoreFile {
  readonly storeId: number
  readonly file: FileMetadata
}

const storeFileRecord = record('an added file', { storeId: count(1), ...fileFields })

/** A file and its store in the manifest, as one object. */
export const storeFileField: RecordField<StoreFile> = {
  read(value, name) {
    const { storeId, ...file } = storeFileRecord.read(value, name)
    const wrong = findContradiction(file)
    if (wrong !== undefined) throw new InvariantError(`file ${file.fileNumber}: ${wrong}`)
    return { storeId, file }
  },
  write: ({ storeId, file }) => storeFileRecord.write({ storeId, ...file }),
}

/** Deepest level that a file may have (inclusive). */
export const levelMax = 31

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
