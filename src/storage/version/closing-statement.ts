/**
 * The statement of a clean close: the state in which the next open must find log and manifest
 * (FORMAT.md).
 *
 * The last step of a clean close writes the statement as a whole. The statement names the
 * manifest. The next open begins a new manifest before it changes anything else, which voids the
 * statement. So a crash after that is not judged by it.
 */

import { corruption } from '../../base/errors.js'
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'
import { xxh64 } from '../codec/checksum.js'
import type { FileSystem } from '../fs/types.js'
import { readWholeFileSync, writeWholeFileSync } from '../fs/whole-file.js'
import { databaseIdBytes } from '../record/file-header.js'
import { formatFileName } from './file-names.js'

/** Name of the file of the statement. */
export const closingStatementName = 'CLOSED'

const magic = 'CELLRCLO'
const statementVersion = 1
const databaseIdAt = 16
const manifestAt = 32
const segmentAt = 56
const checksumAt = 80
const statementBytes = 88

/** The last segment of the log. */
export interface ClosedSegment {
  readonly fileNumber: number
  /** Length in bytes. */
  readonly length: number
  /** Sequence of its last frame. */
  readonly lastSequence: number
}

/** The state of log and manifest after a clean close. */
export interface ClosingStatement {
  readonly databaseId: Buffer
  readonly manifestNumber: number
  /** Length in bytes. */
  readonly manifestLength: number
  /** XXH64 of the whole manifest. */
  readonly manifestChecksum: bigint
  readonly segment: ClosedSegment
}

/** Writes the statement. REQUIRES that manifest and log are closed and durable. */
export function writeClosingStatementSync(
  fileSystem: FileSystem,
  directory: string,
  databaseId: Buffer,
  manifestNumber: number,
  segment: ClosedSegment,
): void {
  const manifest = readManifestBytes(fileSystem, directory, manifestNumber)
  const bytes = Buffer.alloc(statementBytes)
  bytes.write(magic, 0, 'latin1')
  bytes.writeUInt32LE(statementVersion, 8)
  bytes.set(databaseId, databaseIdAt)
  writeUint64LE(bytes, manifestAt, manifestNumber)
  writeUint64LE(bytes, manifestAt + 8, manifest.length)
  bytes.writeBigUInt64LE(xxh64(manifest, 0n), manifestAt + 16)
  writeUint64LE(bytes, segmentAt, segment.fileNumber)
  writeUint64LE(bytes, segmentAt + 8, segment.length)
  writeUint64LE(bytes, segmentAt + 16, segment.lastSequence)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, checksumAt), 0n), checksumAt)
  writeWholeFileSync(fileSystem, directory, closingStatementName, bytes)
}

/**
 * Reads the statement. A close writes it as a whole or not at all, so a statement that does not
 * verify is damaged.
 *
 * @throws CellarError `ERR_CORRUPTION`, and errors of the file system.
 */
export function readClosingStatementSync(
  fileSystem: FileSystem,
  directory: string,
): ClosingStatement {
  const path = fileSystem.join(directory, closingStatementName)
  const bytes = readWholeFileSync(fileSystem, path)
  const refuse = (offset: number, expected: string, found: string): never => {
    throw corruption('damaged closing statement', { file: path, offset, expected, found })
  }
  if (bytes.length !== statementBytes) {
    refuse(Math.min(bytes.length, statementBytes), `${statementBytes} bytes`, `${bytes.length}`)
  }
  if (bytes.readBigUInt64LE(checksumAt) !== xxh64(bytes.subarray(0, checksumAt), 0n)) {
    refuse(0, 'bytes that match their checksum', 'others')
  }
  const version = bytes.readUInt32LE(8)
  if (bytes.toString('latin1', 0, 8) !== magic || version !== statementVersion) {
    refuse(0, `${magic} version ${statementVersion}`, `version ${version}`)
  }
  return {
    databaseId: bytes.subarray(databaseIdAt, databaseIdAt + databaseIdBytes),
    manifestNumber: readUint64LE(bytes, manifestAt),
    manifestLength: readUint64LE(bytes, manifestAt + 8),
    manifestChecksum: bytes.readBigUInt64LE(manifestAt + 16),
    segment: {
      fileNumber: readUint64LE(bytes, segmentAt),
      length: readUint64LE(bytes, segmentAt + 8),
      lastSequence: readUint64LE(bytes, segmentAt + 16),
    },
  }
}

/**
 * Whether the statement is about the newest manifest of the directory. That manifest must then be
 * exactly as stated. A statement about an older manifest is void, and the result is false.
 *
 * @throws CellarError `ERR_CORRUPTION` that names the manifest.
 */
export function checkManifestAsClosed(
  fileSystem: FileSystem,
  directory: string,
  statement: ClosingStatement,
  manifestNumber: number,
  databaseId: Buffer,
): boolean {
  if (statement.manifestNumber < manifestNumber) return false
  const said = 'as the statement of the last close says'
  const file = fileSystem.join(directory, formatFileName('manifest', statement.manifestNumber))
  const refuse = (offset: number, expected: string, found: string): never => {
    throw corruption('damaged manifest', { file, offset, expected: `${expected}, ${said}`, found })
  }
  if (!statement.databaseId.equals(databaseId)) {
    const found = `database ${databaseId.toString('hex')}`
    refuse(24, `database ${statement.databaseId.toString('hex')}`, found)
  }
  if (statement.manifestNumber > manifestNumber) refuse(0, 'a manifest', 'no such file')
  const bytes = readManifestBytes(fileSystem, directory, manifestNumber)
  const { manifestLength } = statement
  if (bytes.length !== manifestLength) {
    const offset = Math.min(bytes.length, manifestLength)
    refuse(offset, `${manifestLength} bytes`, `${bytes.length} bytes`)
  }
  if (xxh64(bytes, 0n) !== statement.manifestChecksum) {
    refuse(0, 'bytes that match their checksum', 'others')
  }
  return true
}

function readManifestBytes(fileSystem: FileSystem, directory: string, fileNumber: number): Buffer {
  return readWholeFileSync(
    fileSystem,
    fileSystem.join(directory, formatFileName('manifest', fileNumber)),
  )
}
