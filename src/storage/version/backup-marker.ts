/**
 * The file `BACKUP`: it says that a directory is a backup, of which database, and of which files
 * its copies are.
 *
 * It is written before any other file of the backup, so a directory with it and without a manifest
 * is a backup that was interrupted. The copies are a memory of what need not be copied again; what
 * belongs to the backup stands in its manifest.
 */
import { InvariantError } from '../../base/assert.js'
import type { FileSystem } from '../fs/types.js'
import { databaseIdBytes } from '../record/file-header.js'
import { readCheckedJsonSync, writeCheckedJsonSync } from './checked-json.js'
import { backupMarkerName } from './file-names.js'
import { count, name, readObject, record } from './json-fields.js'

const markerVersion = 1
const markerRecord = record('the marker', {
  version: count(1),
  /** In hexadecimal digits. */
  databaseId: name,
  copies: { read: readObject },
})

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
  writeCheckedJsonSync(fileSystem, directory, backupMarkerName, {
    version: markerVersion,
    databaseId: databaseId.toString('hex'),
    copies: Object.fromEntries(copies),
  })
}

/** Reads the marker; undefined if there is none. `ERR_CORRUPTION` if it is damaged. */
export function readBackupMarkerSync(
  fileSystem: FileSystem,
  directory: string,
): BackupMarker | undefined {
  const path = fileSystem.join(directory, backupMarkerName)
  if (fileSystem.statSync(path)?.kind !== 'file') return undefined
  return readCheckedJsonSync(fileSystem, path, 'marker of a backup', decode)
}

function decode(value: unknown): BackupMarker {
  const { version, databaseId, copies } = markerRecord.read(value, 'the marker')
  const identity = Buffer.from(databaseId, 'hex')
  if (version !== markerVersion || identity.length !== databaseIdBytes) {
    throw new InvariantError(`the marker is not one of version ${markerVersion}`)
  }
  const entries = Object.entries(copies)
  return { databaseId: identity, copies: new Map(entries.map(([name, id]) => [name, String(id)])) }
}
