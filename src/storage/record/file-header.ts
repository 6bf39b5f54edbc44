/**
 * The header of a record file (log or manifest): its fields and bytes, and its check. FORMAT.md of
 * this folder describes the layout with diagrams.
 *
 * A header is decoded whole or refused with an error; it is copied out of the buffer of its caller.
 *
 * REQUIRES loaded checksums (`loadChecksums`).
 */

import { assert } from '../../base/assert.js'
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { placeSeed, xxh64 } from '../codec/checksum.js'

/** The two kinds of record files. */
export type RecordFileKind = 'log' | 'manifest'

/** The file before this one in the chain. */
export interface RecordFilePredecessor {
  readonly fileNumber: number
  /** Final length in bytes, header included. */
  readonly length: number
  /**
   * Sequence of the file's last frame; if there is none, the `lastSequence` of its own predecessor.
   */
  readonly lastSequence: number
}

/** A record file, and how many of its bytes are durable. */
export interface DurableFile {
  readonly fileNumber: number
  /** Durable bytes from the start of the file; 0 if only the name is known to be durable. */
  readonly length: number
}

/** The facts in the header of a record file. */
export interface RecordFileHeader {
  readonly kind: RecordFileKind
  /** Identity of the database: {@link databaseIdBytes} bytes. */
  readonly databaseId: Buffer
  /** 1 to 2^53-1. Unique in its directory for ever, because it seeds every checksum of the file. */
  readonly fileNumber: number
  /** Undefined for the first file of a chain. */
  readonly predecessor: RecordFilePredecessor | undefined
  /**
   * Whether all older files of the chain were durable when this file was created. Default: false.
   */
  readonly predecessorsSynced?: boolean
  /**
   * In a manifest: the identity of the machine's run (`FileSystem.runIdentity`) when the file was
   * created. Undefined if unknown.
   */
  readonly runIdentity?: Buffer
  /** In a log segment: the durable part of the manifest when the segment was begun. */
  readonly manifest?: DurableFile
}

// On disk: never change these numbers. Zero is invalid for versions and file numbers.
/** The version of new files, and the highest version that can be read. */
export const recordFormatVersion = 2
/** Bytes of the file header. Size and places of fields stay the same in all versions from 2 on. */
export const fileHeaderBytes = 120
/** Bytes of the identity of a database. */
export const databaseIdBytes = 16
/** Longest record file, in bytes (inclusive). */
export const recordFileBytesMax = 0x8000_0000
const fileMagics: Readonly<Record<RecordFileKind, string>> = {
  log: 'CELLRLOG',
  manifest: 'CELLRMAN',
}

// Offsets in the file header.
const versionAt = 8
const fileNumberAt = 16
const databaseIdAt = 24
const predecessorAt = 40
const predecessorsSyncedAt = 64
const runIdentityAt = 72
const manifestAt = 88
const headerChecksumAt = 104
const endMagicAt = 112

/** Encodes a file header into a new buffer. */
export function encodeFileHeader(header: RecordFileHeader): Buffer {
  assert(header.databaseId.length === databaseIdBytes, 'a database identity has 16 bytes')
  const bytes = Buffer.alloc(fileHeaderBytes)
  bytes.write(fileMagics[header.kind], 0, 'latin1')
  bytes.writeUInt32LE(recordFormatVersion, versionAt)
  writeUint64LE(bytes, fileNumberAt, header.fileNumber)
  bytes.set(header.databaseId, databaseIdAt)
  if (header.predecessor !== undefined) {
    writeUint64LE(bytes, predecessorAt, header.predecessor.fileNumber)
    writeUint64LE(bytes, predecessorAt + 8, header.predecessor.length)
    writeUint64LE(bytes, predecessorAt + 16, header.predecessor.lastSequence)
  }
  writeUint64LE(bytes, predecessorsSyncedAt, header.predecessorsSynced === true ? 1 : 0)
  if (header.runIdentity !== undefined) bytes.set(header.runIdentity, runIdentityAt)
  if (header.manifest !== undefined) {
    writeUint64LE(bytes, manifestAt, header.manifest.fileNumber)
    writeUint64LE(bytes, manifestAt + 8, header.manifest.length)
  }
  bytes.writeBigUInt64LE(fileHeaderChecksum(bytes, header.fileNumber), headerChecksumAt)
  bytes.write(fileMagics[header.kind], endMagicAt, 'latin1')
  return bytes
}

/**
 * Whether the bytes in the place of a header were once a whole header, of this or another file: one
 * of the two magic numbers is there.
 */
export function hadFileHeader(source: Buffer, kind: RecordFileKind): boolean {
  const magic = fileMagics[kind]
  const end = source.toString('latin1', endMagicAt, fileHeaderBytes)
  return source.toString('latin1', 0, 8) === magic || end === magic
}

/** The file that a header should belong to. */
export interface ExpectedFile {
  readonly kind: RecordFileKind
  readonly fileNumber: number
  /** Undefined to accept any database. */
  readonly databaseId?: Buffer
}

/**
 * Decodes the header at the start of `source`; `length` bytes of `source` belong to the file. If
 * there is no whole, valid header of the expected kind and number, returns a text that describes
 * the bytes found.
 *
 * @throws CellarError `ERR_FORMAT_VERSION` if another version of Cellar wrote the file,
 * `ERR_CORRUPTION` if the file belongs to another database.
 */
export function decodeFileHeader(
  source: Buffer,
  length: number,
  path: string,
  expected: ExpectedFile,
): RecordFileHeader | string {
  if (length < fileHeaderBytes) return `only ${length} of the ${fileHeaderBytes} header bytes`
  const magic = fileMagics[expected.kind]
  if (source.toString('latin1', 0, 8) !== magic) return 'another magic number'
  const version = source.readUInt32LE(versionAt)
  // Version 1 had another header layout. No single flipped bit turns the present version into 1.
  if (version === 1) throw otherVersion(path, version)
  const fileNumber = readUint64LE(source, fileNumberAt)
  if (source.readBigUInt64LE(headerChecksumAt) !== fileHeaderChecksum(source, fileNumber)) {
    return 'a header whose checksum does not match'
  }
  if (source.toString('latin1', endMagicAt, fileHeaderBytes) !== magic) {
    return 'a header whose end does not match'
  }
  if (version > recordFormatVersion) throw otherVersion(path, version)
  if (version === 0) return 'format version 0'
  const databaseId = Buffer.from(source.subarray(databaseIdAt, databaseIdAt + databaseIdBytes))
  if (expected.databaseId !== undefined && !databaseId.equals(expected.databaseId)) {
    throw corruption('file of another database', {
      file: path,
      offset: databaseIdAt,
      expected: `database ${expected.databaseId.toString('hex')}`,
      found: `database ${databaseId.toString('hex')}`,
    })
  }
  if (fileNumber !== expected.fileNumber) return `the header of file number ${fileNumber}`
  return fieldsOf(source, expected.kind, fileNumber, databaseId)
}

function fieldsOf(
  source: Buffer,
  kind: RecordFileKind,
  fileNumber: number,
  databaseId: Buffer,
): RecordFileHeader {
  const predecessorNumber = readUint64LE(source, predecessorAt)
  const predecessor = {
    fileNumber: predecessorNumber,
    length: readUint64LE(source, predecessorAt + 8),
    lastSequence: readUint64LE(source, predecessorAt + 16),
  }
  const runIdentity = Buffer.from(source.subarray(runIdentityAt, manifestAt))
  const manifest = {
    fileNumber: readUint64LE(source, manifestAt),
    length: readUint64LE(source, manifestAt + 8),
  }
  return {
    kind,
    databaseId,
    fileNumber,
    predecessor: predecessorNumber === 0 ? undefined : predecessor,
    predecessorsSynced: readUint64LE(source, predecessorsSyncedAt) === 1,
    ...(runIdentity.some((byte) => byte !== 0) && { runIdentity }),
    ...(manifest.fileNumber !== 0 && { manifest }),
  }
}

function otherVersion(path: string, version: number): CellarError {
  const message = `${path} has format version ${version}; this version of Cellar reads version`
  return new CellarError(ErrorCode.formatVersion, `${message} ${recordFormatVersion}`)
}

function fileHeaderChecksum(bytes: Buffer, fileNumber: number): bigint {
  return xxh64(bytes.subarray(0, headerChecksumAt), placeSeed(fileNumber, 0))
}
