/**
 * A file system in memory. Its files end with the process, so syncs do nothing.
 *
 * Paths are POSIX paths; relative ones start at the root. There are no symbolic links, no
 * permissions and no limit of space. Only the root directory exists at first. `read`, `sync`,
 * `unlink` and `syncDirectory` settle in a later turn, as those of a disk do.
 */
import { posix } from 'node:path'
import { assert } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { ContentFile, laterTurn, MemoryContent } from './content.js'
import { fileError, syntheticError } from './errors.js'
import type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './types.js'

/** The entries of a directory by name. */
type Directory = Map<string, Node>
type Node = MemoryContent | Directory

/** Number of file systems so far: each counts as a machine that was started once. */
let runCount = 0

/** A {@link FileSystem} in memory. */
export class MemoryFileSystem implements FileSystem {
  readonly shareable = false
  private readonly root: Directory = new Map<string, Node>()
  private readonly locked = new Set<Directory>()
  private readonly run = Buffer.alloc(16)

  /** Makes an empty file system. */
  constructor() {
    this.run.writeUInt32LE(++runCount)
  }

  runIdentity(): Buffer | undefined {
    return this.run
  }

  join(directory: string, name: string): string {
    return posix.join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    const { directory, name, node, full } = this.lookUp('open', path)
    if (mode === 'create') {
      if (node !== undefined) throw fileError('create', full, syntheticError('EEXIST'))
      const content = new MemoryContent(Buffer.alloc(0))
      directory.set(name, content)
      return new ContentFile(full, content, true)
    }
    return new ContentFile(full, contentOf('open', full, node), mode === 'write')
  }

  listSync(directory: string): string[] {
    return [...this.directoryAt('list', absolute(directory)).keys()]
  }

  statSync(path: string): FileStat | undefined {
    const node = this.find(absolute(path))
    if (node === undefined) return undefined
    if (node instanceof Map) return { kind: 'directory', size: 0 }
    return { kind: 'file', size: node.size }
  }

  identitySync(path: string): string | undefined {
    const node = this.find(absolute(path))
    return node instanceof MemoryContent ? `${node.contentNumber}:${node.size}` : undefined
  }

  makeDirectorySync(path: string): void {
    const full = absolute(path)
    let directory = this.root
    for (const name of namesOf(full)) {
      const node = directory.get(name) ?? new Map<string, Node>()
      if (!(node instanceof Map)) throw fileError('makeDirectory', full, syntheticError('ENOTDIR'))
      directory.set(name, node)
      directory = node
    }
  }

  renameSync(from: string, to: string): void {
    const old = this.lookUp('rename', from)
    const target = this.lookUp('rename', to)
    const content = contentOf('rename', old.full, old.node)
    if (target.node instanceof Map) throw fileError('rename', target.full, syntheticError('EISDIR'))
    old.directory.delete(old.name)
    target.directory.set(target.name, content)
  }

  linkSync(from: string, to: string): void {
    const old = this.lookUp('link', from)
    const target = this.lookUp('link', to)
    const content = contentOf('link', old.full, old.node)
    if (target.node !== undefined) throw fileError('link', target.full, syntheticError('EEXIST'))
    target.directory.set(target.name, content)
  }

  unlinkSync(path: string): void {
    const { directory, name, node, full } = this.lookUp('unlink', path)
    contentOf('unlink', full, node)
    directory.delete(name)
  }

  async unlink(path: string): Promise<void> {
    await laterTurn()
    this.unlinkSync(path)
  }

  /** Does nothing, since nothing is to survive the process. */
  syncDirectorySync(directory: string): void {
    this.directoryAt('syncDirectory', absolute(directory))
  }

  async syncDirectory(directory: string): Promise<void> {
    this.syncDirectorySync(directory)
    await laterTurn()
  }

  async lock(directory: string): Promise<DirectoryLock> {
    const full = absolute(directory)
    const node = this.directoryAt('lock', full)
    if (this.locked.has(node)) {
      throw new CellarError(ErrorCode.locked, `${full} is held by another opener in this process`)
    }
    this.locked.add(node)
    let held = true
    return {
      release: async () => {
        if (!held) return
        held = false
        assert(this.locked.delete(node), 'a directory is locked until its lock is released')
      },
    }
  }

  boundTo(): this {
    return this
  }

  private find(full: string): Node | undefined {
    let node: Node | undefined = this.root
    for (const name of namesOf(full)) {
      if (!(node instanceof Map)) return undefined
      node = node.get(name)
    }
    return node
  }

  private directoryAt(operation: string, full: string): Directory {
    const node = this.find(full)
    if (node instanceof Map) return node
    throw fileError(operation, full, syntheticError(node === undefined ? 'ENOENT' : 'ENOTDIR'))
  }

  /** The entry at a path. Throws unless its directory exists. */
  private lookUp(operation: string, path: string): Entry {
    const full = absolute(path)
    const directory = this.directoryAt(operation, posix.dirname(full))
    const name = posix.basename(full)
    return { full, directory, name, node: name === '' ? this.root : directory.get(name) }
  }
}

interface Entry {
  readonly full: string
  readonly directory: Directory
  readonly name: string
  /** Undefined if there is no entry of that name. */
  readonly node: Node | undefined
}

/** The file of an entry. Throws if there is none, or a directory. */
function contentOf(operation: string, full: string, node: Node | undefined): MemoryContent {
  if (node instanceof MemoryContent) return node
  throw fileError(operation, full, syntheticError(node === undefined ? 'ENOENT' : 'EISDIR'))
}

function absolute(path: string): string {
  return posix.resolve('/', path)
}

function namesOf(full: string): string[] {
  return full === '/' ? [] : full.slice(1).split('/')
}
