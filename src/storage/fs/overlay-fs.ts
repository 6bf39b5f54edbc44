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
import { fileError, syntheticError } from './errors.js'
import type { DirectoryLock, File, FileStat, FileSystem, OpenMode } from './types.js'

/** The bytes of a name. Counts the users; the last one gives them back. */
export interface Content {
  readonly size: number
  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number
  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number>
  writeSync(source: Uint8Array, start: number, end: number, position: number): void
  truncateSync(length: number): void
  acquire(): this
  releaseSync(): void
}

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
    this.size = file.sizeSync()
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
    if (--this.users === 0) this.file.closeSync()
  }

  private within(length: number, position: number): number {
    return Math.max(0, Math.min(length, this.size - position))
  }
}

/** Bytes in memory. */
export class MemoryContent implements Content {
  private bytes: Buffer
  size: number

  /** The bytes belong to the content from now on. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.size = bytes.length
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    const end = Math.min(this.size, position + length)
    return end <= position ? 0 : this.bytes.copy(target, targetStart, position, end)
  }

  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number> {
    return Promise.resolve(this.readSync(target, targetStart, length, position))
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    this.truncateSync(Math.max(this.size, position + end - start))
    this.bytes.set(source.subarray(start, end), position)
  }

  truncateSync(length: number): void {
    if (length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.bytes.length))
      this.bytes.copy(larger, 0, 0, this.size)
      this.bytes = larger
    } else if (length < this.size) {
      this.bytes.fill(0, length, this.size)
    }
    this.size = length
  }

  acquire(): this {
    return this
  }

  releaseSync(): void {
    // The collector takes the bytes.
  }
}

class OverlayFile implements File {
  readonly path: string
  private readonly content: Content
  private closed = false

  constructor(path: string, content: Content) {
    this.path = path
    this.content = content
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    return this.checked('read').readSync(target, targetStart, length, position)
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    return this.checked('read').read(target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    this.checked('write').writeSync(source, start, end, position)
  }

  syncSync(): void {
    this.checked('sync')
  }

  async sync(): Promise<void> {
    this.checked('sync')
  }

  sizeSync(): number {
    return this.checked('stat').size
  }

  truncateSync(length: number): void {
    this.checked('truncate').truncateSync(length)
  }

  closeSync(): void {
    if (this.closed) return
    this.closed = true
    this.content.releaseSync()
  }

  private checked(operation: string): Content {
    if (this.closed) throw fileError(operation, this.path, syntheticError('EBADF'))
    return this.content
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
      return new OverlayFile(path, found.acquire())
    }
    if (found !== undefined) throw fileError('open', path, syntheticError('EEXIST'))
    const content = new MemoryContent(Buffer.alloc(0))
    this.contents.set(name, content)
    return new OverlayFile(path, content)
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
