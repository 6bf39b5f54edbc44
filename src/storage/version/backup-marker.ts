/**
 * The file `BACKUP`: it says that a directory is a backup, of which database, and of which files
 * its copies are.
 *
 * It is written before any other file of the backup, so a directory with it and without a manifest
 * is a backup that was interrupted. The copies are a memory of what need not be copied again; what
 * belongs to the backup stands in its manifest.
 *
 * Two lines: a JSON object, and the xxh64 of its bytes in hexadecimal. Written under another name,
 * synced and renamed, so one that does not verify is damaged, never half-written.
 */
import { corruption } from '../../base/errors.js'
import { xxh64 } from '../codec/checksum.js'
import type { FileSystem } from '../fs/types.js'
import { databaseIdBytes } from '../record/format.js'
import { backupMarkerName, temporarySuffix } from './file-names.js'

const markerVersion = 1

/** See the file header. */
export interface BackupMarker {
  /** Identity of the database, 16 bytes. */
  readonly databaseId: Buffer
  /** By name in the backup: the identity that the file had of which it is a copy. */
  readonly copies: ReadonlyMap<string, string>
}

/** Replaces the marker, durably. */
export function writeBackupMarkerSync(
  fileSystem: FileSystem,
  directory: string,
  { databaseId, copies }: BackupMarker,
): void {
  const path = fileSystem.join(directory, backupMarkerName)
  const text = JSON.stringify({
    version: markerVersion,
    databaseId: databaseId.toString('hex'),
    copies: Object.fromEntries(copies),
  })
  const bytes = Buffer.from(`${text}\n${checksumOf(text)}\n`)
  const temporaryPath = path + temporarySuffix
  if (fileSystem.statSync(temporaryPath) !== undefined) fileSystem.unlinkSync(temporaryPath)
  const file = fileSystem.openSync(temporaryPath, 'create')
  try {
    file.writeSync(bytes, 0, bytes.length, 0)
    file.syncSync()
  } finally {
    file.closeSync()
  }
  fileSystem.renameSync(temporaryPath, path)
  fileSystem.syncDirectorySync(directory)
}

/** Reads the marker; undefined if there is none. `ERR_CORRUPTION` if it is damaged. */
export function readBackupMarkerSync(
  fileSystem: FileSystem,
  directory: string,
): BackupMarker | undefined {
  const path = fileSystem.join(directory, backupMarkerName)
  if (fileSystem.statSync(path)?.kind !== 'file') return undefined
  const file = fileSystem.openSync(path, 'read')
  let found: string
  try {
    const bytes = Buffer.alloc(file.sizeSync())
    found = bytes.toString('utf8', 0, file.readSync(bytes, 0, bytes.length, 0))
  } finally {
    file.closeSync()
  }
  const [text = '', checksum, rest] = found.split('\n')
  const expected = checksumOf(text)
  if (checksum !== expected || rest !== '') {
    const facts = { expected: `a line and its checksum ${expected}`, found: `${checksum}` }
    throw corruption('damaged marker of a backup', { file: path, offset: 0, ...facts })
  }
  const marker = parse(text)
  if (marker !== undefined) return marker
  const facts = { expected: `a marker of version ${markerVersion}`, found: text.slice(0, 80) }
  throw corruption('malformed marker of a backup', { file: path, offset: 0, ...facts })
}

function checksumOf(text: string): string {
  return xxh64(Buffer.from(text), 0n).toString(16).padStart(16, '0')
}

function parse(text: string): BackupMarker | undefined {
  const { version, databaseId, copies } = JSON.parse(text) as Record<string, unknown>
  if (version !== markerVersion || typeof databaseId !== 'string') return undefined
  const identity = Buffer.from(databaseId, 'hex')
  if (identity.length !== databaseIdBytes) return undefined
  const entries = Object.entries(copies as Record<string, unknown>)
  return { databaseId: identity, copies: new Map(entries.map(([name, id]) => [name, String(id)])) }
}
