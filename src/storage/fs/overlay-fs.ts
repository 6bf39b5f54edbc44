/**
 * A directory whose files stay as they were captured, under changes that are kept in memory.
 *
 * Whoever opens a database through it runs the same steps as on the disk, a new manifest and a
 * repaired log included, and the disk sees none of them. Files that were captured open stay
 * readable when another process removes their names.
 *
 * Failure behaviour: as `types.ts` says. Changes outside of the directory, links and writes into
 * captured files are refused with `ERR_READ_ONLY`.
 * Memory: what was captured as bytes and what is written, until the lock is released.
 */
import { CellarError, ErrorCode } from '../../base/errors.js'
import { quietly } from './quietly.js'
import { ContentFile, MemoryContent, type Content } from './content.js'
import { fileError, syntheticError } from './errors.js'
import type { DeviceSpace, DirectoryLock, File, FileStat, FileSystem, OpenMode } from './types.js'

function refused(operation: string, path: string): CellarError {
  const message = `${operation} of ${path} refused: the directory is open read-only`
  return new CellarError(ErrorCode.readOnly, message)
}

/** An open file of the system below, which stands as long as it was. */
export class KeptContent implements Content {
  private readonly file: File
  private users = 1
  size: number

  /** The file belongs to the content from now on. */
  constructor(file: File) {
    this.file = file
    try {
      this.size = file.sizeSync()
    } catch (error) {
      quietly(() => file.closeSync())
      throw error
    }
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    return this.file.readSync(target, targetStart, this.within(length, position), position)
  }

  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number> {
    return this.file.read(target, targetStart, this.within(length, position), position)
  }

  writeSync(): void {
    throw refused('write', this.file.path)
  }

  truncateSync(length: number): void {
    if (length > this.size) throw refused('truncate', this.file.path)
    this.size = length
  }

  acquire(): this {
    this.users++
    return this
  }

  releaseSync(): void {
    if (--this.users === 0) quietly(() => this.file.closeSync())
  }

  private within(length: number, position: number): number {
    return Math.max(0, Math.min(length, this.size - position))
  }
}

/** See the file header. */
export class OverlayFileSystem implements FileSystem {
  /** False: a worker's own file system would not see the changes in memory. */
  readonly shareable = false
  private readonly below: FileSystem
  private readonly directory: string
  /** What the names in the directory begin with. */
  private readonly prefix: string
  private readonly contents: Map<string, Content>

  /**
   * @param contents - by name in the directory; they belong to the file system from now on. Other
   * names of the directory are not listed, but `statSync` tells what they are.
   */
  constructor(below: FileSystem, directory: string, contents: Map<string, Content>) {
    this.below = below
    this.directory = directory
    this.prefix = below.join(directory, 'x').slice(0, -1)
    this.contents = contents
  }

  runIdentity(): Buffer | undefined {
    return this.below.runIdentity()
  }

  join(directory: string, name: string): string {
    return this.below.join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    const name = this.nameOf(path)
    if (name === undefined) {
      if (mode !== 'read') throw refused('open', path)
      return this.below.openSync(path, mode)
    }
    const found = this.contents.get(name)
    if (mode !== 'create') {
      if (found === undefined) throw fileError('open', path, syntheticError('ENOENT'))
      return new ContentFile(path, found.acquire(), mode === 'write')
    }
    if (found !== undefined) throw fileError('open', path, syntheticError('EEXIST'))
    const content = new MemoryContent(Buffer.alloc(0))
    this.contents.set(name, content)
    return new ContentFile(path, content, true)
  }

  listSync(directory: string): string[] {
    if (directory !== this.directory) return this.below.listSync(directory)
    return [...this.contents.keys()]
  }

  statSync(path: string): FileStat | undefined {
    if (path === this.directory) return { kind: 'directory', size: 0 }
    const name = this.nameOf(path)
    const content = name === undefined ? undefined : this.contents.get(name)
    if (content !== undefined) return { kind: 'file', size: content.size }
    const stat = this.below.statSync(path)
    return name !== undefined && stat?.kind === 'file' ? undefined : stat
  }

  spaceSync(path: string): DeviceSpace | undefined {
    return this.below.spaceSync?.(path)
  }

  makeDirectorySync(path: string): void {
    if (path !== this.directory) throw refused('makeDirectory', path)
  }

  renameSync(from: string, to: string): void {
    const content = this.take('rename', from)
    const name = this.nameOf(to)
    if (name === undefined) throw refused('rename', to)
    this.contents.get(name)?.releaseSync()
    this.contents.set(name, content)
  }

  linkSync(_from: string, to: string): void {
    throw refused('link', to)
  }

  unlinkSync(path: string): void {
    this.take('unlink', path).releaseSync()
  }

  async unlink(path: string): Promise<void> {
    this.unlinkSync(path)
  }

  syncDirectorySync(): void {
    // Nothing of the overlay is to survive.
  }

  async syncDirectory(): Promise<void> {
    // As above.
  }

  /** Excludes no other process. Its release closes the captured files. */
  lock(): Promise<DirectoryLock> {
    return Promise.resolve({
      release: async () => {
        this.closeSync()
      },
    })
  }

  boundTo(): FileSystem {
    return this
  }

  /** Puts another content behind a name; it belongs to the file system from now on. */
  replace(name: string, content: Content): void {
    this.contents.get(name)?.releaseSync()
    this.contents.set(name, content)
  }

  /** Closes the captured files without readers. */
  closeSync(): void {
    for (const content of this.contents.values()) content.releaseSync()
    this.contents.clear()
  }

  private take(operation: string, path: string): Content {
    const name = this.nameOf(path)
    if (name === undefined) throw refused(operation, path)
    const content = this.contents.get(name)
    if (content === undefined) throw fileError(operation, path, syntheticError('ENOENT'))
    this.contents.delete(name)
    return content
  }

  private nameOf(path: string): string | undefined {
    return path.startsWith(this.prefix) ? path.slice(this.prefix.length) : undefined
  }
}
