/**
 * A file system that fails on demand, around another one.
 *
 * It counts every call that can fail and makes one of them, or all from one on, fail with an error
 * that goes through the same mapping as a real one. A failed call does not reach the file system
 * underneath, but for `close`, which gives the file back before it fails, and for what a fault says
 * of writes and syncs. A test that repeats a scenario with `failAt` 1, 2, 3, ... until `failures`
 * stays 0 has failed every call of it.
 */
import { fileError, syntheticError } from './errors.js'
import type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './types.js'

/** A call that can fail. */
export interface FaultyOperation {
  readonly kind:
    | 'open'
    | 'list'
    | 'stat'
    | 'makeDirectory'
    | 'rename'
    | 'link'
    | 'unlink'
    | 'syncDirectory'
    | 'lock'
    | 'read'
    | 'write'
    | 'sync'
    | 'size'
    | 'truncate'
    | 'close'
  /** The path as the caller gave it; of a file, as it was opened. */
  readonly path: string
}

/** Which calls fail, and how. */
export interface Fault {
  /** Number of the call that fails; the first is 1. */
  readonly failAt: number
  /** Whether all later calls fail too. Default false. */
  readonly persistent?: boolean
  readonly errno: 'EIO' | 'ENOSPC' | 'EACCES' | 'EMFILE'
  /** Restricts both counting and failing to these calls. Default all. */
  readonly only?: (operation: FaultyOperation) => boolean
  /**
   * What a failed sync does to the un-synced bytes of its file. `keep`, the default: nothing.
   * `revert`: they are gone and the file reads as the disk holds it. `clean`: the file reads as
   * before, but no later sync stores them. The last two need a file system with `dropUnsynced`.
   */
  readonly syncFailure?: 'keep' | 'revert' | 'clean'
  /** Whether the first half of a failing write still reaches the file. Default false. */
  readonly partialWrite?: boolean
}

/** A {@link FileSystem} whose un-synced bytes can be forgotten, such as `MemoryFileSystem`. */
export interface UnsyncedDroppingFileSystem extends FileSystem {
  dropUnsynced(path: string, pages: 'reverted' | 'clean'): void
}

class FaultyFile implements File {
  readonly path: string
  private readonly owner: FaultyFileSystem
  private readonly inner: File
  private closed: boolean

  constructor(owner: FaultyFileSystem, path: string, inner: File) {
    this.path = path
    this.owner = owner
    this.inner = inner
    this.closed = false
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    this.owner.check('read', this.path)
    return this.inner.readSync(target, targetStart, length, position)
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    this.owner.check('read', this.path)
    return this.inner.read(target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    const failure = this.owner.count('write', this.path)
    if (failure !== undefined) {
      const half = start + Math.floor((end - start) / 2)
      if (this.owner.fault?.partialWrite) this.inner.writeSync(source, start, half, position)
      throw failure
    }
    this.inner.writeSync(source, start, end, position)
  }

  syncSync(): void {
    this.checkSync()
    this.inner.syncSync()
  }

  async sync(): Promise<void> {
    this.checkSync()
    await this.inner.sync()
  }

  sizeSync(): number {
    this.owner.check('size', this.path)
    return this.inner.sizeSync()
  }

  truncateSync(length: number): void {
    this.owner.check('truncate', this.path)
    this.inner.truncateSync(length)
  }

  closeSync(): void {
    if (this.closed) return
    this.closed = true
    this.inner.closeSync()
    this.owner.check('close', this.path)
  }

  private checkSync(): void {
    const failure = this.owner.count('sync', this.path)
    if (failure === undefined) return
    this.owner.dropUnsynced(this.path)
    throw failure
  }
}

/** A {@link FileSystem} that fails on demand. */
export class FaultyFileSystem implements FileSystem {
  /** False: a worker's own file system would not know of the faults. */
  readonly shareable = false
  /** The fault that is armed; change it with {@link arm} and {@link disarm}. */
  fault: Fault | undefined
  /** Calls counted since the fault was armed. */
  callCount: number
  /** Calls that were made to fail since the fault was armed. */
  failures: number
  /** Every call that can fail, if the option asks for it; else it stays empty. */
  readonly log: FaultyOperation[]
  private readonly inner: FileSystem
  private readonly logging: boolean

  /** @param options.log whether to keep {@link log}; default false */
  constructor(inner: FileSystem, fault?: Fault, options: { readonly log?: boolean } = {}) {
    this.fault = fault
    this.callCount = 0
    this.failures = 0
    this.log = []
    this.inner = inner
    this.logging = options.log ?? false
  }

  /** Starts counting from 0 with another fault. */
  arm(fault: Fault): void {
    this.fault = fault
    this.callCount = 0
    this.failures = 0
  }

  /** Lets all later calls through; the counts stay and go on. */
  disarm(): void {
    this.fault = undefined
  }

  runIdentity(): Buffer | undefined {
    return this.inner.runIdentity()
  }

  join(directory: string, name: string): string {
    return this.inner.join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    this.check('open', path)
    return new FaultyFile(this, path, this.inner.openSync(path, mode))
  }

  listSync(directory: string): string[] {
    this.check('list', directory)
    return this.inner.listSync(directory)
  }

  statSync(path: string): FileStat | undefined {
    this.check('stat', path)
    return this.inner.statSync(path)
  }

  makeDirectorySync(path: string): void {
    this.check('makeDirectory', path)
    this.inner.makeDirectorySync(path)
  }

  renameSync(from: string, to: string): void {
    this.check('rename', from)
    this.inner.renameSync(from, to)
  }

  linkSync(from: string, to: string): void {
    this.check('link', from)
    this.inner.linkSync(from, to)
  }

  unlinkSync(path: string): void {
    this.check('unlink', path)
    this.inner.unlinkSync(path)
  }

  async unlink(path: string): Promise<void> {
    this.check('unlink', path)
    await this.inner.unlink(path)
  }

  syncDirectorySync(directory: string): void {
    this.check('syncDirectory', directory)
    this.inner.syncDirectorySync(directory)
  }

  async syncDirectory(directory: string): Promise<void> {
    this.check('syncDirectory', directory)
    await this.inner.syncDirectory(directory)
  }

  async lock(directory: string): Promise<DirectoryLock> {
    this.check('lock', directory)
    return this.inner.lock(directory)
  }

  /** This one: a lock does not change which calls fail. */
  boundTo(): this {
    return this
  }

  /** @internal Counts a call; returns the error that it must end with, if any. */
  count(kind: FaultyOperation['kind'], path: string): Error | undefined {
    const operation: FaultyOperation = { kind, path }
    if (this.logging) this.log.push(operation)
    const { fault } = this
    if (fault?.only !== undefined && !fault.only(operation)) return undefined
    this.callCount++
    if (fault === undefined || this.callCount < fault.failAt) return undefined
    if (this.callCount > fault.failAt && !fault.persistent) return undefined
    this.failures++
    return fileError(kind, path, syntheticError(fault.errno))
  }

  /** @internal Counts a call and throws if it must fail. */
  check(kind: FaultyOperation['kind'], path: string): void {
    const failure = this.count(kind, path)
    if (failure !== undefined) throw failure
  }

  /** @internal Does to a file what the armed fault says of failed syncs. */
  dropUnsynced(path: string): void {
    const mode = this.fault?.syncFailure ?? 'keep'
    if (mode === 'keep') return
    if (!('dropUnsynced' in this.inner)) throw new TypeError('syncFailure needs a MemoryFileSystem')
    const inner = this.inner as UnsyncedDroppingFileSystem
    inner.dropUnsynced(path, mode === 'revert' ? 'reverted' : 'clean')
  }
}
