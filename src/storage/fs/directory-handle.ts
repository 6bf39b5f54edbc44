/**
 * A reference to a directory that stays the same directory, also when its path changes.
 *
 * On Linux the holder keeps a descriptor and reaches files through `/proc/self/fd`, so a moved
 * directory is followed to its new place. Without /proc, device and inode of the path are compared
 * before every use of a name in the directory. If the path leads to another directory, the use
 * fails with `ERR_DIRECTORY_MOVED`. The path can still change between the comparison and the use,
 * so only the descriptor is completely safe.
 */
import * as nodeFs from 'node:fs'
import { join, sep } from 'node:path'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { fileError, syntheticError, systemCode } from './errors.js'
import { quietly } from './quietly.js'

const { O_DIRECTORY, O_RDONLY } = nodeFs.constants

/** What a thread needs to reach a held directory. Structured-cloneable. */
export interface DirectoryBinding {
  /** The path as the opener gave it; errors show this path. */
  readonly directory: string
  /** A path that leads to the directory wherever it was moved; undefined if the system has none. */
  readonly descriptorPath: string | undefined
  /** Number of the file system. */
  readonly device: bigint
  /** Number of the directory in its file system. */
  readonly inode: bigint
}

/**
 * Maps paths of a held directory and its direct children to paths that surely reach them. Other
 * paths stay as they are.
 */
export class BoundPaths {
  private readonly binding: DirectoryBinding
  /** The directory with a trailing separator: the prefix of the paths of direct children. */
  private readonly prefix: string
  /**
   * False once the directory was released: then its descriptor number may belong to another file.
   */
  private readonly isHeld: () => boolean

  constructor(binding: DirectoryBinding, isHeld: () => boolean = () => true) {
    this.binding = binding
    this.prefix = join(binding.directory, 'x').slice(0, -1)
    this.isHeld = isHeld
  }

  /**
   * The path to pass to the system. Throws `ERR_DIRECTORY_MOVED` if the directory was replaced, and
   * `ERR_IO` once the directory was released.
   */
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
   * Opens a directory. Throws `ERR_IO`, or `ERR_READ_ONLY` without permission.
   *
   * @param useDescriptor false to compare device and inode, as on systems without /proc
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
      if (descriptor !== undefined) quietly(() => nodeFs.closeSync(descriptor))
      throw fileError('lock', directory, error)
    }
  }

  /** Device and inode: equal for all paths to the same directory of the machine. */
  get key(): string {
    return `${this.binding.device}:${this.binding.inode}`
  }

  /** The path through the descriptor where the system has one, else the path of the opener. */
  get path(): string {
    return this.binding.descriptorPath ?? this.binding.directory
  }

  /** Closes the descriptor. Calling it again does nothing. */
  closeSync(): void {
    const { descriptor } = this
    this.descriptor = undefined
    if (descriptor !== undefined) quietly(() => nodeFs.closeSync(descriptor))
  }
}

/** Returns undefined where the system cannot open directories. */
function openDirectory(directory: string): number | undefined {
  try {
    return nodeFs.openSync(directory, O_RDONLY | (O_DIRECTORY ?? 0))
  } catch (error) {
    const code = systemCode(error)
    if (code === 'EISDIR' || (process.platform === 'win32' && code === 'EPERM')) return undefined
    throw fileError('lock', directory, error)
  }
}

/**
 * The path through a descriptor, if the system has such paths and this one leads to the same
 * directory.
 */
function pathOf(descriptor: number, device: bigint, inode: bigint): string | undefined {
  const path = `/proc/self/fd/${descriptor}`
  try {
    const stat = nodeFs.statSync(`${path}/.`, { bigint: true })
    return stat.dev === device && stat.ino === inode ? path : undefined
  } catch {
    return undefined
  }
}
