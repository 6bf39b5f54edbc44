/**
 * The file `RESERVE`: space that a database holds in advance, so that a full disk can still be
 * cleaned up. An open, a clean close and every change that frees space may use the reserve when the
 * disk is full.
 *
 * Nothing depends on the content or length of the file. A crash at any step leaves it shorter or
 * missing, and the next {@link SpaceReserve.restore} makes it complete.
 *
 * Nothing is thrown. Without the file a full disk has the effects that it would have without a
 * reserve.
 */
import { systemRandomBytes } from '../../base/random-bytes.js'
import { quietly } from '../fs/quietly.js'
import type { File, FileSystem } from '../fs/types.js'
import { reserveName } from './file-names.js'

/** Smallest length of the reserve in bytes. An open on a full disk uses 4 KiB of it for good. */
export const reserveBytesMin = 128 * 1024
const stepBytes = 64 * 1024

/**
 * Largest number of bytes that a change of the catalog or a close writes, without the names in it.
 */
export const changeBytes = 32 * 1024

export class SpaceReserve {
  private readonly fileSystem: FileSystem
  private readonly path: string
  private file: File | undefined = undefined
  /** Length of the file in bytes. */
  private length = 0
  private closed = false

  /** Opens the reserve if it exists; {@link restore} creates it. */
  constructor(fileSystem: FileSystem, directory: string) {
    this.fileSystem = fileSystem
    this.path = fileSystem.join(directory, reserveName)
    try {
      if (fileSystem.statSync(this.path)?.kind !== 'file') return
      this.file = fileSystem.openSync(this.path, 'write')
      this.length = this.file.sizeSync()
    } catch {
      this.closeSync()
    }
  }

  /** Ensures space for `bytes` bytes. Empties the reserve if the disk has no other space. */
  makeRoom(bytes: number): void {
    const { file, length } = this
    if (file === undefined || length === 0) return
    if (this.write(file, length + bytes)) this.cut(file, length)
    else this.cut(file, 0)
  }

  /**
   * Extends the reserve to its full length for a manifest of `manifestBytes`, or as far as space
   * allows.
   */
  restore(manifestBytes: number): void {
    if (this.closed) return
    const steps = Math.ceil(manifestBytes / stepBytes)
    const wanted = reserveBytesMin + steps * stepBytes
    if (this.length >= wanted) return
    // After a failure the next call tries again.
    quietly(() => {
      this.file ??= this.fileSystem.openSync(this.path, 'create')
      this.write(this.file, wanted)
      this.length = this.file.sizeSync()
      // Some file systems allocate space only when a sync writes the bytes to the disk.
      this.file.syncSync()
    })
  }

  /** Closes the file. Later calls of any method do nothing. */
  closeSync(): void {
    this.closed = true
    const { file } = this
    this.file = undefined
    this.length = 0
    // The file holds no data that must be durable.
    quietly(() => file?.closeSync())
  }

  /**
   * Fills the file up to `end`. Returns false if the disk is full; the file then has all the space
   * left.
   */
  private write(file: File, end: number): boolean {
    if (this.length >= end) return true
    // Bytes that a file system can neither store as a hole nor compress.
    const noise = systemRandomBytes(stepBytes)
    try {
      for (let at = this.length; at < end; at += stepBytes) {
        file.writeSync(noise, 0, Math.min(stepBytes, end - at), at)
      }
      return true
    } catch {
      return false
    }
  }

  private cut(file: File, length: number): void {
    // After a failure the file stays longer than needed.
    quietly(() => {
      file.truncateSync(length)
      this.length = length
    })
  }
}
