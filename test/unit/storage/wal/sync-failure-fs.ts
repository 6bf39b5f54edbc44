/**
 * A memory file system on which one sync fails as Linux reports it: the un-synced bytes are lost,
 * and every descriptor of the file that is open then gets the error once, at its next sync.
 */

import { CellarError, ErrorCode } from '../../../../src/base/errors.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { DirectoryLock, File, FileSystem, OpenMode } from '../../../../src/storage/fs/types.js'

class SyncFailureFile implements File {
  readonly path: string
  hasError = false
  private readonly owner: SyncFailureFileSystem
  private readonly inner: File

  constructor(owner: SyncFailureFileSystem, inner: File) {
    this.path = inner.path
    this.owner = owner
    this.inner = inner
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    return this.inner.readSync(target, targetStart, length, position)
  }

  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number> {
    return this.inner.read(target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    this.inner.writeSync(source, start, end, position)
  }

  syncSync(): void {
    this.owner.beforeSync(this)
    this.inner.syncSync()
  }

  async sync(): Promise<void> {
    this.owner.beforeSync(this)
    await this.inner.sync()
  }

  sizeSync(): number {
    return this.inner.sizeSync()
  }

  truncateSync(length: number): void {
    this.inner.truncateSync(length)
  }

  closeSync(): void {
    this.inner.closeSync()
  }
}

/** Fails sync number `failAt`, the first being 1. */
export class SyncFailureFileSystem implements FileSystem {
  readonly shareable = false
  syncCount = 0
  private readonly inner: SimulatedDisk
  private readonly failAt: number
  private readonly pages: 'reverted' | 'clean'
  private readonly files: SyncFailureFile[] = []

  constructor(inner: SimulatedDisk, failAt: number, pages: 'reverted' | 'clean') {
    this.inner = inner
    this.failAt = failAt
    this.pages = pages
  }

  beforeSync(file: SyncFailureFile): void {
    if (++this.syncCount === this.failAt) {
      this.inner.dropUnsynced(file.path, this.pages)
      for (const other of this.files) if (other.path === file.path) other.hasError = true
    }
    if (!file.hasError) return
    file.hasError = false
    throw new CellarError(ErrorCode.io, `sync of ${file.path} failed`)
  }

  runIdentity(): Buffer | undefined {
    return this.inner.runIdentity()
  }

  join(directory: string, name: string): string {
    return this.inner.join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    const file = new SyncFailureFile(this, this.inner.openSync(path, mode))
    this.files.push(file)
    return file
  }

  listSync(directory: string): string[] {
    return this.inner.listSync(directory)
  }

  statSync(path: string): ReturnType<FileSystem['statSync']> {
    return this.inner.statSync(path)
  }

  makeDirectorySync(path: string): void {
    this.inner.makeDirectorySync(path)
  }

  renameSync(from: string, to: string): void {
    this.inner.renameSync(from, to)
  }

  linkSync(from: string, to: string): void {
    this.inner.linkSync(from, to)
  }

  unlinkSync(path: string): void {
    this.inner.unlinkSync(path)
  }

  unlink(path: string): Promise<void> {
    return this.inner.unlink(path)
  }

  syncDirectory(directory: string): Promise<void> {
    return this.inner.syncDirectory(directory)
  }

  syncDirectorySync(directory: string): void {
    this.inner.syncDirectorySync(directory)
  }

  lock(directory: string): Promise<DirectoryLock> {
    return this.inner.lock(directory)
  }

  boundTo(): this {
    return this
  }
}
