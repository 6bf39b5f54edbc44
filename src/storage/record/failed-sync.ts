/**
 * The statement of a failed sync: which bytes of a record file may be lost although the machine
 * runs on (FORMAT.md).
 *
 * The writer makes the statement beside its file when a sync fails, as well as it can. The next
 * open then takes missing bytes for a torn tail. Without a statement it refuses them, because no
 * stop of a process loses written bytes. The statement is not synced: after a stop of the machine
 * nothing depends on it.
 */

import { readUint64LE, writeUint64LE } from '../../base/bytes.js'
import { xxh64 } from '../codec/checksum.js'
import type { FileSystem } from '../fs/types.js'
import { readWholeFileSync } from '../fs/whole-file.js'
import { databaseIdBytes } from './file-header.js'

const suffix = '.unsynced'
const magic = 'CELLRUNS'
const lengthAt = 8
const databaseIdAt = 16
const checksumAt = 32
const statementBytes = 40

/** Name or path of the statement about a record file. */
export function failedSyncName(file: string): string {
  return file + suffix
}

/** Name of the record file that a statement with this name is about; undefined for other names. */
export function fileOfFailedSync(name: string): string | undefined {
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined
}

/**
 * Says that the bytes of `path` from `syncedLength` on may be lost.
 *
 * @throws errors of the file system. A statement that was not written whole says nothing.
 */
export function writeFailedSync(
  fileSystem: FileSystem,
  path: string,
  databaseId: Buffer,
  syncedLength: number,
): void {
  const bytes = Buffer.alloc(statementBytes)
  bytes.write(magic, 0, 'latin1')
  writeUint64LE(bytes, lengthAt, syncedLength)
  bytes.set(databaseId, databaseIdAt)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, checksumAt), 0n), checksumAt)
  const file = fileSystem.openSync(failedSyncName(path), 'create')
  try {
    file.writeSync(bytes, 0, statementBytes, 0)
  } finally {
    file.closeSync()
  }
}

/**
 * The first byte of `path` that a failed sync may have lost; Infinity without a whole statement of
 * the same database.
 */
export function readFailedSync(
  fileSystem: FileSystem,
  path: string,
  databaseId: Buffer | undefined,
): number {
  const statement = failedSyncName(path)
  if (fileSystem.statSync(statement)?.kind !== 'file') return Infinity
  const bytes = readWholeFileSync(fileSystem, statement)
  if (bytes.length !== statementBytes) return Infinity
  if (bytes.readBigUInt64LE(checksumAt) !== xxh64(bytes.subarray(0, checksumAt), 0n)) {
    return Infinity
  }
  const own = bytes.subarray(databaseIdAt, databaseIdAt + databaseIdBytes)
  if (bytes.toString('latin1', 0, 8) !== magic || databaseId?.equals(own) === false) return Infinity
  return readUint64LE(bytes, lengthAt)
}
