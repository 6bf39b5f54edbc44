/**
 * The file `RESERVE`: space that the database holds so that a full disk can still be tidied up. An
 * open, a clean close, and every change that gives space back may use it when the disk is full.
 *
 * Nothing depends on its content or on its length, so a crash at any step leaves nothing to repair:
 * the file is shorter or not there, and is made whole again when there is room.
 *
 * Failure behaviour: nothing is thrown. Without the file a full disk is met as if there were none.
 */
import type { File, FileSystem } from '../fs/types.js'
import { reserveName } from './file-names.js'

/** The reserve is at least so long. An open on a full disk takes 4 KiB of it for good. */
export const reserveBytesMin = 128 * 1024
const stepBytes = 64 * 1024

/** What a change of the catalog or a close writes at most, apart from the names in it. */
export const changeBytes = 32 * 1024

/** See the file header. */
export class SpaceReserve {
  private readonly fileSystem: FileSystem
  private readonly directory: string
  private readonly path: string
  private file: File | undefined = undefined
  /** Bytes that the file holds. */
  private length = 0
  private closed = false

  /** Opens the reserve, if there is one; {@link restore} makes it. */
  constructor(fileSystem: FileSystem, directory: string) {
    this.fileSystem = fileSystem
    this.directory = directory
    this.path = fileSystem.join(directory, reserveName)
    try {
      if (fileSystem.statSync(this.path)?.kind !== 'file') return
      this.file = fileSystem.openSync(this.path, 'write')
      this.length = this.file.sizeSync()
    } catch {
      this.closeSync()
    }
  }

  /** Sees to it that `bytes` can be written; gives up the reserve if there is no other room. */
  makeRoom(bytes: number): void {
    const { file, length } = this
    if (file === undefined || length === 0) return
    if (this.write(file, length + bytes)) this.cut(file, length)
    else this.cut(file, 0)
  }

  /** Makes the reserve as long as it should be beside a manifest of so many bytes, or can be. */
  restore(manifestBytes: number): void {
    if (this.closed) return
    const steps = Math.ceil(manifestBytes / stepBytes)
    const wanted = reserveBytesMin + steps * stepBytes
    if (this.length >= wanted) return
    try {
      const isNew = this.file === undefined
      this.file ??= this.fileSystem.openSync(this.path, 'create')
      this.write(this.file, wanted)
      this.length = this.file.sizeSync()
      // What is only in memory has no place on some disks.
      this.file.syncSync()
      if (isNew) this.fileSystem.syncDirectorySync(this.directory)
    } catch {
      // The next one to restore it tries again.
    }
  }

  /** Closes the file. What is called later does nothing. */
  closeSync(): void {
    this.closed = true
    const { file } = this
    this.file = undefined
    this.length = 0
    try {
      file?.closeSync()
    } catch {
      // Nothing was to become durable.
    }
  }

  /** Writes up to an end; false if there was no room, and what there was is then used. */
  private write(file: File, end: number): boolean {
    try {
      for (let at = this.length; at < end; at += stepBytes) {
        file.writeSync(noise(), 0, Math.min(stepBytes, end - at), at)
      }
      return true
    } catch {
      return false
    }
  }

  private cut(file: File, length: number): void {
    try {
      file.truncateSync(length)
      this.length = length
    } catch {
      // It stays longer than it should be.
    }
  }
}

let noiseBytes: Buffer | undefined

/** Bytes that a file system can neither leave out nor compress. */
function noise(): Buffer {
  if (noiseBytes !== undefined) return noiseBytes
  const bytes = Buffer.allocUnsafeSlow(stepBytes)
  let state = 0x2545f491
  for (let i = 0; i < stepBytes; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[i] = state
  }
  noiseBytes = bytes
  return bytes
}
