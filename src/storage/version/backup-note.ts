/**
 * The file `.last-backup` of a database: when it was backed up, for monitors.
 *
 * Nothing depends on the file. No open reads it, a backup does not take it along, and a file that
 * is missing or damaged means that no backup is known. Its name is hidden, so versions that do not
 * know it leave it alone.
 */
import type { FileSystem } from '../fs/types.js'
import { readCheckedJsonSync, writeCheckedJsonSync } from './checked-json.js'
import { count, record, type RecordOf } from './json-fields.js'

/** Name of the file. */
export const backupNoteName = '.last-backup'

const fields = {
  /** When the backup ended, in milliseconds since the epoch. */
  milliseconds: count(),
  /** The backup has all mutations up to this sequence. */
  sequence: count(),
  /** Bytes of its files. */
  bytes: count(),
}

const noteRecord = record('the note of a backup', fields)

/** The last backup of a database. */
export interface LastBackup extends RecordOf<typeof fields> {}

export class BackupNote {
  private readonly fileSystem: FileSystem
  private readonly directory: string
  private isRead = false
  private note: LastBackup | undefined = undefined

  constructor(fileSystem: FileSystem, directory: string) {
    this.fileSystem = fileSystem
    this.directory = directory
  }

  /** The last backup; undefined if none is known. */
  get last(): LastBackup | undefined {
    if (!this.isRead) {
      this.isRead = true
      this.note = this.read()
    }
    return this.note
  }

  /** Notes a backup. Throws errors of the file system; the backup itself is complete. */
  write(note: LastBackup): void {
    this.isRead = true
    this.note = note
    writeCheckedJsonSync(this.fileSystem, this.directory, backupNoteName, noteRecord.write(note))
  }

  private read(): LastBackup | undefined {
    try {
      const path = this.fileSystem.join(this.directory, backupNoteName)
      if (this.fileSystem.statSync(path)?.kind !== 'file') return undefined
      return readCheckedJsonSync(this.fileSystem, path, 'note of a backup', (value) => {
        return noteRecord.read(value, 'the note of a backup')
      })
    } catch {
      return undefined
    }
  }
}
