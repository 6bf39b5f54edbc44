/**
 * A directory that stays the same directory for its holder, whatever happens to its path.
 *
 * On Linux the holder keeps a descriptor and reaches the files through `/proc/self/fd`: a directory
 * that was moved is followed to its new place. Elsewhere, and where /proc is absent, device and
 * inode of the path are compared before every use of a name below; a path that leads to another
 * directory meanwhile is refused with `ERR_DIRECTORY_MOVED`. Between the comparison and the use the
 * path can still change, so only the descriptor closes the gap completely.
 */
import * as nodeFs from 'node:fs'
import { join, sep } from 'node:path'
import { CellarError, ErrorCode } from '../base/errors.js'
import { fileError, syntheticError, systemCode } from './errors.js'

const { O_DIRECTORY, O_RDONLY } = nodeFs.constants

/** What a thread needs to reach a held directory. Structured-cloneable. */
export interface DirectoryBinding {
  /** The path as the holder spelled it; errors name this one. */
  readonly directory: string
  /** A path that leads to the directory wherever it is; undefined if the system has none. */
  readonly descriptorPath: string | undefined
  readonly device: bigint
  readonly inode: bigint
}

/** Leads names below a held directory to that directory. Other paths stay as they are. */
export class BoundPaths {
  private readonly binding: DirectoryBinding
  /** What paths of direct children begin with. */
  private readonly prefix: string
  /** False once the directory was given back: its descriptor may stand for something else. */
  private readonly isHeld: () => boolean

  constructor(binding: DirectoryBinding, isHeld: () => boolean = () => true) {
    this.binding = binding
    this.prefix = join(binding.directory, 'x').slice(0, -1)
    this.isHeld = isHeld
  }

  /** The path to give to the system. `ERR_DIRECTORY_MOVED`. */
  at(path: string): string {
    const { directory, descriptorPath } = this.binding
    const name = path === directory ? '.' : this.childName(path)
    if (name === undefined) return path
    if (!this.isHeld()) throw fileError('use', path, syntheticError('EBADF'))
    if (descriptorPath !== undefined) return `${descriptorPath}/${name}`
    this.check()
    return path
  }

  private childName(path: string): string | undefined {
    if (!path.startsWith(this.prefix)) return undefined
    const name = path.slice(this.prefix.length)
    return name === '' || name.includes('/') || name.includes(sep) ? undefined : name
  }

  private check(): void {
    const { directory, device, inode } = this.binding
    let stat: nodeFs.BigIntStats | undefined
    try {
      stat = nodeFs.statSync(directory, { bigint: true })
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw fileError('stat', directory, error)
    }
    if (stat?.dev === device && stat.ino === inode) return
    const found = stat === undefined ? 'is gone' : 'is another directory now'
    throw new CellarError(
      ErrorCode.directoryMoved,
      `${directory} ${found}: the directory of the open database was moved or replaced; ` +
        'close the database and open it where it is',
    )
  }
}

/** An open directory. The owner closes it. */
export class DirectoryHandle {
  readonly binding: DirectoryBinding
  private descriptor: number | undefined

  private constructor(binding: DirectoryBinding, descriptor: number | undefined) {
    this.binding = binding
    this.descriptor = descriptor
  }

  /**
   * Opens a directory; throws `ERR_IO` or `ERR_READ_ONLY`.
   *
   * @param useDescriptor false to go by device and inode, as on systems without /proc
   */
  static openSync(directory: string, useDescriptor: boolean): DirectoryHandle {
    const descriptor = openDirectory(directory)
    try {
      const stat =
        descriptor === undefined
          ? nodeFs.statSync(directory, { bigint: true })
          : nodeFs.fstatSync(descriptor, { bigint: true })
      if (!stat.isDirectory()) throw syntheticError('ENOTDIR')
      const { dev: device, ino: inode } = stat
      const descriptorPath =
        descriptor === undefined || !useDescriptor ? undefined : pathOf(descriptor, device, inode)
      return new DirectoryHandle({ directory, descriptorPath, device, inode }, descriptor)
    } catch (error) {
      if (descriptor !== undefined) nodeFs.closeSync(descriptor)
      throw fileError('lock', directory, error)
    }
  }

  /** The directory of the machine, as a name. */
  get key(): string {
    return `${this.binding.device}:${this.binding.inode}`
  }

  /** A path to the directory that is as good as the system allows. */
  get path(): string {
    return this.binding.descriptorPath ?? this.binding.directory
  }

  /** Closes the descriptor. Calling it again does nothing. */
  closeSync(): void {
    if (this.descriptor !== undefined) nodeFs.closeSync(this.descriptor)
    this.descriptor = undefined
  }
}

/** Undefined where directories cannot be opened. */
function openDirectory(directory: string): number | undefined {
  try {
    return nodeFs.openSync(directory, O_RDONLY | (O_DIRECTORY ?? 0))
  } catch (error) {
    const code = systemCode(error)
    if (code === 'EISDIR' || (process.platform === 'win32' && code === 'EPERM')) return undefined
    throw fileError('lock', directory, error)
  }
}

/** The descriptor as a path, if the system has such paths and this one leads back. */
function pathOf(descriptor: number, device: bigint, inode: bigint): string | undefined {
  const path = `/proc/self/fd/${descriptor}`
  try {
    const stat = nodeFs.statSync(`${path}/.`, { bigint: true })
    return stat.dev === device && stat.ino === inode ? path : undefined
  } catch {
    return undefined
  }
}
