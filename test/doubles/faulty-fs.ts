/**
 * A wrapper around a file system that makes chosen calls fail.
 *
 * The wrapper counts every call that can fail. It makes one call fail, or all calls from one on,
 * with the error that a real failure would give. A failed call does not reach the wrapped file
 * system, with three exceptions: a failed `close` still closes, and the fault says what a failed
 * write and a failed sync do. A test can repeat a scenario with `failAt` 1, 2, 3 and so on until
 * `failures` stays 0. Then every call of the scenario has failed once.
 */
import { fileError, syntheticError } from '../../src/storage/fs/errors.js'
import { checkMethods, checkObject } from '../../src/base/arguments.js'
import type {
  DirectoryLock,
  File,
  FileStat,
  FileSystem,
  OpenMode,
} from '../../src/storage/fs/types.js'

/** A call that can fail. */
export interface FaultyOperation {
  /** What the operation does. */
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
  /**
   * The path as the caller gave it; for calls on a file, the path with which the file was opened.
   */
  readonly path: string
}

/** Which calls fail, and how. */
export interface Fault {
  /** Number of the call that fails; the first is 1. */
  readonly failAt: number
  /** Whether all later calls fail too. Default false. */
  readonly persistent?: boolean | undefined
  /** Code of the error, such as `'ENOSPC'`. */
  readonly errno: 'EIO' | 'ENOSPC' | 'EACCES' | 'EMFILE'
  /** Restricts both counting and failing to these calls. Default all. */
  readonly only?: ((operation: FaultyOperation) => boolean) | undefined
  /**
   * What a failed sync does to the unsynced bytes of its file. `keep`, the default: nothing.
   * `revert`: they are lost, and the file reads as the disk holds it. `clean`: the file reads as
   * before, but no later sync stores them. `revert` and `clean` need a file system with
   * `dropUnsynced`.
   */
  readonly syncFailure?: 'keep' | 'revert' | 'clean' | undefined
  /** Whether the first half of a failing write still reaches the file. Default false. */
  readonly partialWrite?: boolean | undefined
}

/** A {@link FileSystem} that can lose unsynced bytes on demand, such as `SimulatedDisk`. */
export interface UnsyncedDroppingFileSystem extends FileSystem {
  /** Forgets writes that were not synced, as a loss of power does. */
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
  /** False: a worker thread would open a file system of its own, without the faults. */
  readonly shareable = false
  /** The fault in effect; change it with {@link arm} and {@link disarm}. */
  fault: Fault | undefined
  /** Calls counted since the fault was armed. */
  callCount: number
  /** Calls that were made to fail since the fault was armed. */
  failures: number
  /** Every call that can fail, if the option `log` is set; else empty. */
  readonly log: FaultyOperation[]
  private readonly inner: FileSystem
  private readonly logging: boolean

  /**
   * Passes calls on to `inner`.
   *
   * @param options.log whether to keep {@link log}; default false
   */
  constructor(inner: FileSystem, fault?: Fault, options: { readonly log?: boolean } = {}) {
    checkMethods(inner, 'the file system inside', ['openSync', 'statSync'])
    checkObject(options, 'the options of a faulty file system')
    this.fault = fault
    this.callCount = 0
    this.failures = 0
    this.log = []
    this.inner = inner
    this.logging = options.log ?? false
  }

  /** Sets another fault, and counts from 0 again. */
  arm(fault: Fault): void {
    this.fault = fault
    this.callCount = 0
    this.failures = 0
  }

  /** Ends the fault. The counts keep their values. */
  disarm(): void {
    this.fault = undefined
  }

  runIdentity(): Buffer | undefined {
    return this.inner.runIdentity()
  }

  /** As the file system below. */
  join(directory: string, name: string): string {
    return this.inner.join(directory, name)
  }

  /** As the file system below, unless a fault is due. */
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

  identitySync(path: string): string | undefined {
    this.check('stat', path)
    return this.inner.identitySync?.(path)
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

  /** Returns this file system: binding to a lock does not change which calls fail. */
  boundTo(): this {
    return this
  }

  /** @internal Counts a call. Returns the error that the call must throw, if any. */
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

  /** @internal Applies the `syncFailure` of the fault to a file. */
  dropUnsynced(path: string): void {
    const mode = this.fault?.syncFailure ?? 'keep'
    if (mode === 'keep') return
    if (!('dropUnsynced' in this.inner)) throw new TypeError('syncFailure needs a SimulatedDisk')
    const inner = this.inner as UnsyncedDroppingFileSystem
    inner.dropUnsynced(path, mode === 'revert' ? 'reverted' : 'clean')
  }
}
