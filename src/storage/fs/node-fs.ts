/**
 * The file system of the machine, through `node:fs`.
 *
 * Files are made with mode 0600 and directories with 0700. A symbolic link, pipe or device in place
 * of a file is never opened. Open files: node-file.ts.
 */
import type { Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from '../../base/assert.js'
import { checkObject, checkText, readArguments } from '../../base/arguments.js'
import { fileError, syntheticError, systemCode } from './errors.js'
import { BoundPaths, type DirectoryBinding } from './directory-handle.js'
import { lockDirectory, NodeDirectoryLock } from './lock.js'
import { attempt, NodeFile, settled, type SystemCalls } from './node-file.js'
import { quietly } from './quietly.js'
import type { DeviceSpace, DirectoryLock, File, FileStat, FileSystem, OpenMode } from './types.js'

/**
 * Not imported: of an imported module webpack keeps only the functions that it finds called by
 * name. It loses those of {@link SystemCalls} if another module of the program imports `node:fs`.
 */
const nodeFs = process.getBuiltinModule('node:fs')

const fileMode = 0o600
const directoryMode = 0o700

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = nodeFs.constants
// Windows has neither flag. Without O_NONBLOCK, opening a pipe would wait for its other end.
const guardFlags = (nodeFs.constants.O_NOFOLLOW ?? 0) | (nodeFs.constants.O_NONBLOCK ?? 0)

const openFlags: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY | guardFlags,
  create: O_RDWR | O_CREAT | O_EXCL | guardFlags,
  write: O_RDWR | guardFlags,
}

/** Whether the error means that the system cannot open, or cannot sync, any directory. */
function refusesDirectories(error: unknown, step: 'open' | 'sync'): boolean {
  const code = systemCode(error)
  if (step === 'open') {
    return code === 'EISDIR' || (process.platform === 'win32' && code === 'EPERM')
  }
  return code === 'EINVAL' || code === 'EISDIR' || code === 'EPERM' || code === 'ENOTSUP'
}

/** The {@link FileSystem} of the machine. */
export class NodeFileSystem implements FileSystem {
  readonly shareable = true
  readonly binding: DirectoryBinding | undefined
  private readonly system: SystemCalls
  private readonly paths: BoundPaths | undefined

  /**
   * A file system over `node:fs`.
   *
   * @param system for tests: replacements of functions of `node:fs`
   * @param binding a directory that is held; see `boundTo`
   * @param isHeld whether it still is held
   */
  constructor(system: SystemCalls = nodeFs, binding?: DirectoryBinding, isHeld?: () => boolean) {
    if (binding !== undefined) {
      const { directory } = readArguments(() => ({ ...checkObject(binding, 'the binding') }))
      checkText(directory, 'the directory of a binding')
    }
    this.system = system
    this.binding = binding
    this.paths = binding === undefined ? undefined : new BoundPaths(binding, isHeld)
  }

  /** The boot id of Linux; undefined on other systems. */
  runIdentity(): Buffer | undefined {
    let text: string
    try {
      text = nodeFs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')
    } catch {
      return undefined
    }
    const identity = Buffer.from(text.replace(/[^0-9a-f]/g, ''), 'hex')
    return identity.length === 16 ? identity : undefined
  }

  join(directory: string, name: string): string {
    return join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    const operation = mode === 'create' ? 'create' : 'open'
    const descriptor = attempt(operation, path, () =>
      this.system.openSync(this.at(path), openFlags[mode], fileMode),
    )
    try {
      const stat = this.system.fstatSync(descriptor)
      if (stat.isDirectory()) throw syntheticError('EISDIR')
      if (!stat.isFile()) throw new Error('not a regular file')
    } catch (error) {
      quietly(() => this.system.closeSync(descriptor))
      throw fileError(operation, path, error)
    }
    return new NodeFile(this.system, path, descriptor)
  }

  listSync(directory: string): string[] {
    return attempt('list', directory, () => nodeFs.readdirSync(this.at(directory)))
  }

  statSync(path: string): FileStat | undefined {
    let stat: Stats | undefined
    try {
      stat = nodeFs.lstatSync(this.at(path), { throwIfNoEntry: false })
    } catch (error) {
      // ENOTDIR: the parent of the path is a file, so nothing is there.
      if (systemCode(error) !== 'ENOTDIR') throw fileError('stat', path, error)
    }
    if (stat === undefined) return undefined
    if (stat.isDirectory()) return { kind: 'directory', size: 0 }
    return { kind: stat.isFile() ? 'file' : 'other', size: stat.size }
  }

  identitySync(path: string): string | undefined {
    return attempt('stat', path, () => {
      const options = { bigint: true, throwIfNoEntry: false } as const
      const stat = nodeFs.lstatSync(this.at(path), options)
      // Some systems have no numbers of files.
      if (stat?.isFile() !== true || stat.ino === 0n) return undefined
      return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`
    })
  }

  spaceSync(path: string): DeviceSpace | undefined {
    try {
      const { bavail, blocks, bsize } = nodeFs.statfsSync(this.at(path))
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    } catch {
      return undefined
    }
  }

  makeDirectorySync(path: string): void {
    attempt('makeDirectory', path, () => this.makeDirectoryAt(path))
  }

  /**
   * Node's recursive form is not used: it tells a read-only file system as ENOENT, and never
   * returns where a directory that exists refuses a name by ENOENT, as below `/proc`.
   */
  private makeDirectoryAt(path: string): void {
    const isThere = (place: string): boolean =>
      nodeFs.statSync(this.at(place), { throwIfNoEntry: false })?.isDirectory() === true
    try {
      nodeFs.mkdirSync(this.at(path), { mode: directoryMode })
    } catch (error) {
      if (isThere(path)) return
      const parent = dirname(path)
      if (systemCode(error) !== 'ENOENT' || parent === path || isThere(parent)) throw error
      this.makeDirectoryAt(parent)
      this.makeDirectoryAt(path)
    }
  }

  renameSync(from: string, to: string): void {
    attempt('rename', from, () => nodeFs.renameSync(this.at(from), this.at(to)))
  }

  linkSync(from: string, to: string): void {
    attempt('link', from, () => nodeFs.linkSync(this.at(from), this.at(to)))
  }

  unlinkSync(path: string): void {
    attempt('unlink', path, () => nodeFs.unlinkSync(this.at(path)))
  }

  async unlink(path: string): Promise<void> {
    try {
      await nodeFs.promises.unlink(this.at(path))
    } catch (error) {
      throw fileError('unlink', path, error)
    }
  }

  /**
   * As {@link FileSystem.syncDirectorySync}; does nothing where the system cannot sync directories.
   */
  syncDirectorySync(directory: string): void {
    const descriptor = this.openDirectory(directory)
    if (descriptor === undefined) return
    try {
      this.system.fsyncSync(descriptor)
    } catch (error) {
      if (!refusesDirectories(error, 'sync')) throw fileError('syncDirectory', directory, error)
    } finally {
      quietly(() => this.system.closeSync(descriptor))
    }
  }

  async syncDirectory(directory: string): Promise<void> {
    const descriptor = this.openDirectory(directory)
    if (descriptor === undefined) return
    try {
      await settled((done) => this.system.fsync(descriptor, done))
    } catch (error) {
      if (!refusesDirectories(error, 'sync')) throw fileError('syncDirectory', directory, error)
    } finally {
      quietly(() => this.system.closeSync(descriptor))
    }
  }

  /** Returns undefined where the system cannot open directories. */
  private openDirectory(directory: string): number | undefined {
    try {
      return this.system.openSync(this.at(directory), O_RDONLY)
    } catch (error) {
      if (refusesDirectories(error, 'open')) return undefined
      throw fileError('syncDirectory', directory, error)
    }
  }

  lock(directory: string): Promise<DirectoryLock> {
    return lockDirectory(directory)
  }

  boundTo(lock: DirectoryLock): NodeFileSystem {
    assert(lock instanceof NodeDirectoryLock, 'the lock is of another file system')
    return new NodeFileSystem(this.system, lock.binding, () => lock.isHeld)
  }

  /** The path to pass to the system. */
  private at(path: string): string {
    return this.paths === undefined ? path : this.paths.at(path)
  }
}
