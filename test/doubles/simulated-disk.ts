/**
 * A file system in memory that knows what a power cut would leave.
 *
 * The file system keeps a volatile tree, as processes see it, and a durable tree, as the disk would
 * hold it. A sync of a file makes its bytes and length durable, but not its name. A sync of a
 * directory makes the names in it durable, but not the content of the files. Unsynced changes of
 * directories stand in an ordered journal; those of files stand with the file as changed ranges.
 * {@link SimulatedDisk.crash} makes the file system that remains after the cut.
 *
 * `read`, `sync`, `unlink` and `syncDirectory` settle in a later turn, as those of a disk do. A
 * sync covers the changes made before the call. Until the sync settles, a power cut may still lose
 * them.
 *
 * Paths are POSIX paths; relative ones start at the root. There are no symbolic links, no
 * permissions, and no limit of space unless a test sets one. Only the root directory exists at
 * first, and it is durable.
 */
import { posix } from 'node:path'
import { assert } from '../../src/base/assert.js'
import { CellarError, ErrorCode } from '../../src/base/errors.js'
import { fileError, syntheticError } from '../../src/storage/fs/errors.js'
import {
  allocatedPages,
  applyChange,
  beginSync,
  DirectoryNode,
  dropUnsyncedChanges,
  FileNode,
  finishSync,
  pageBytes,
  readNode,
  truncateNode,
  writeNode,
} from './disk-node.js'
import type { DirectoryChange, Node, PendingSync } from './disk-node.js'
import { killImage } from './kill-image.js'
import { crashImage } from './power-cut.js'
import type { CrashPolicy } from './power-cut.js'
import type {
  DirectoryLock,
  File,
  FileStat,
  FileSystem,
  OpenMode,
} from '../../src/storage/fs/types.js'

/** A mutating or syncing operation, as {@link SimulatedDisk.beforeOperation} sees it. */
export interface FileOperation {
  /** What the operation did. */
  readonly kind:
    | 'create'
    | 'write'
    | 'truncate'
    | 'sync'
    | 'makeDirectory'
    | 'rename'
    | 'link'
    | 'unlink'
    | 'syncDirectory'
  /** Absolute path of the file or directory; for a rename or a link, the old name. */
  readonly path: string
  /** Absolute path of the new name of a rename or a link. */
  readonly to?: string | undefined
}

class DiskFile implements File {
  readonly path: string
  private readonly fileSystem: SimulatedDisk
  private readonly node: FileNode
  private readonly writable: boolean
  private closed: boolean

  constructor(fileSystem: SimulatedDisk, path: string, node: FileNode, writable: boolean) {
    this.path = path
    this.fileSystem = fileSystem
    this.node = node
    this.writable = writable
    this.closed = false
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    this.checkRead(target, targetStart, length)
    return readNode(this.node, target, targetStart, length, position)
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    this.checkRead(target, targetStart, length)
    await laterTurn()
    return readNode(this.node, target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    this.checkOpen('write', true)
    assert(start >= 0 && start <= end && end <= source.length, 'write outside of its source')
    const number = this.fileSystem.begin('write', this.path)
    const room = this.fileSystem.roomFor(this.node, position, end - start)
    writeNode(this.node, source, start, start + room, position, number)
    if (room < end - start) throw fileError('write', this.path, syntheticError('ENOSPC'))
  }

  syncSync(): void {
    finishSync(this.node, this.beginSync())
  }

  async sync(): Promise<void> {
    const pending = this.beginSync()
    await laterTurn()
    finishSync(this.node, pending)
  }

  sizeSync(): number {
    this.checkOpen('stat', false)
    return this.node.size
  }

  truncateSync(length: number): void {
    this.checkOpen('truncate', true)
    this.fileSystem.begin('truncate', this.path)
    truncateNode(this.node, length)
  }

  closeSync(): void {
    this.closed = true
  }

  private beginSync(): PendingSync {
    this.checkOpen('sync', false)
    this.fileSystem.begin('sync', this.path)
    return beginSync(this.node)
  }

  private checkRead(target: Uint8Array, targetStart: number, length: number): void {
    this.checkOpen('read', false)
    assert(
      targetStart >= 0 && length >= 0 && targetStart + length <= target.length,
      'read outside of its target',
    )
  }

  private checkOpen(operation: string, write: boolean): void {
    if (this.closed || (write && !this.writable)) {
      throw fileError(operation, this.path, syntheticError('EBADF'))
    }
  }
}

function laterTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Number of runs so far: every memory file system counts as a machine that was started once. */
let runCount = 0

function nextRun(): Buffer {
  const identity = Buffer.alloc(16)
  identity.writeUInt32LE(++runCount, 0)
  return identity
}

/** A {@link FileSystem} in memory with power cuts. */
export class SimulatedDisk implements FileSystem {
  readonly shareable = false
  /**
   * Called before each operation that changes or syncs, so that a test can take a crash image at
   * every point of a scenario. An error thrown here becomes the failure of the operation.
   */
  beforeOperation?: (operation: FileOperation) => void
  /**
   * Bytes that files may take, in pages of 4 KiB. Default undefined: no limit. A write beyond the
   * limit fills the remaining space and fails with `ERR_NO_SPACE`. Holes and names take no space.
   */
  capacityBytes: number | undefined
  /** Changing and syncing operations so far, unfinished ones included. */
  operationCount: number
  private readonly root: DirectoryNode
  private journal: DirectoryChange[]
  private readonly locked: Set<Node>
  private readonly run: Buffer

  /** @internal Makes an empty file system. `root` and `run` are for crash images. */
  constructor(root: DirectoryNode = new DirectoryNode(new Map()), run: Buffer = nextRun()) {
    this.beforeOperation = undefined
    this.capacityBytes = undefined
    this.operationCount = 0
    this.root = root
    this.journal = []
    this.locked = new Set()
    this.run = run
  }

  runIdentity(): Buffer | undefined {
    return this.run
  }

  join(directory: string, name: string): string {
    return posix.join(directory, name)
  }

  openSync(path: string, mode: OpenMode): File {
    const full = absolute(path)
    const directory = this.parentOf('open', full)
    const name = posix.basename(full)
    const node = name === '' ? this.root : directory.entries.get(name)
    if (mode === 'create') {
      if (node !== undefined) throw fileError('create', full, syntheticError('EEXIST'))
      this.begin('create', full)
      const created = new FileNode(Buffer.alloc(0))
      this.change({ kind: 'create', directory, name, node: created })
      return new DiskFile(this, full, created, true)
    }
    if (node === undefined) throw fileError('open', full, syntheticError('ENOENT'))
    if (node.kind !== 'file') throw fileError('open', full, syntheticError('EISDIR'))
    return new DiskFile(this, full, node, mode === 'write')
  }

  listSync(directory: string): string[] {
    return [...this.directoryAt('list', absolute(directory)).entries.keys()]
  }

  statSync(path: string): FileStat | undefined {
    const node = this.find(absolute(path))
    if (node === undefined) return undefined
    return { kind: node.kind, size: node.kind === 'file' ? node.size : 0 }
  }

  identitySync(path: string): string | undefined {
    const node = this.find(absolute(path))
    return node?.kind === 'file' ? `${node.nodeNumber}:${node.size}` : undefined
  }

  makeDirectorySync(path: string): void {
    let directory = this.root
    let reached = ''
    for (const name of namesOf(absolute(path))) {
      reached += `/${name}`
      let node = directory.entries.get(name)
      if (node === undefined) {
        this.begin('makeDirectory', reached)
        node = new DirectoryNode(new Map())
        this.change({ kind: 'makeDirectory', directory, name, node })
      }
      if (node.kind !== 'directory') {
        throw fileError('makeDirectory', reached, syntheticError('ENOTDIR'))
      }
      directory = node
    }
  }

  renameSync(from: string, to: string): void {
    const fullFrom = absolute(from)
    const fullTo = absolute(to)
    const directory = this.parentOf('rename', fullFrom)
    const targetDirectory = this.parentOf('rename', fullTo)
    const name = posix.basename(fullTo)
    const node = directory.entries.get(posix.basename(fullFrom))
    const target = targetDirectory.entries.get(name)
    if (node === undefined) throw fileError('rename', fullFrom, syntheticError('ENOENT'))
    if (target !== undefined && target.kind === 'directory' && target !== node) {
      throw fileError('rename', fullTo, syntheticError('EISDIR'))
    }
    this.begin('rename', fullFrom, fullTo)
    const oldName = posix.basename(fullFrom)
    if (directory === targetDirectory) {
      this.change({ kind: 'rename', directory, name, from: oldName, node })
      return
    }
    const movedTo = { directory: targetDirectory, name, node }
    this.change({ kind: 'create', ...movedTo })
    this.change({ kind: 'unlink', directory, name: oldName, movedTo })
  }

  linkSync(from: string, to: string): void {
    const fullFrom = absolute(from)
    const fullTo = absolute(to)
    const node = this.parentOf('link', fullFrom).entries.get(posix.basename(fullFrom))
    const directory = this.parentOf('link', fullTo)
    const name = posix.basename(fullTo)
    if (node === undefined) throw fileError('link', fullFrom, syntheticError('ENOENT'))
    if (node.kind !== 'file') throw fileError('link', fullFrom, syntheticError('EPERM'))
    if (directory.entries.has(name)) throw fileError('link', fullTo, syntheticError('EEXIST'))
    this.begin('link', fullFrom, fullTo)
    this.change({ kind: 'create', directory, name, node })
  }

  unlinkSync(path: string): void {
    const full = absolute(path)
    const directory = this.parentOf('unlink', full)
    const name = posix.basename(full)
    const node = directory.entries.get(name)
    if (node === undefined) throw fileError('unlink', full, syntheticError('ENOENT'))
    if (node.kind !== 'file') throw fileError('unlink', full, syntheticError('EISDIR'))
    this.begin('unlink', full)
    this.change({ kind: 'unlink', directory, name })
  }

  async unlink(path: string): Promise<void> {
    await laterTurn()
    this.unlinkSync(path)
  }

  syncDirectorySync(directory: string): void {
    this.settleDirectory(this.beginDirectorySync(directory), this.journal)
  }

  async syncDirectory(directory: string): Promise<void> {
    const node = this.beginDirectorySync(directory)
    const covered = [...this.journal]
    await laterTurn()
    this.settleDirectory(node, covered)
  }

  private beginDirectorySync(directory: string): DirectoryNode {
    const full = absolute(directory)
    const node = this.directoryAt('syncDirectory', full)
    this.begin('syncDirectory', full)
    return node
  }

  /** Makes the covered changes of a directory durable, unless a later sync has done so already. */
  private settleDirectory(node: DirectoryNode, covered: readonly DirectoryChange[]): void {
    const done = new Set(covered.filter(({ directory }) => directory === node))
    this.journal = this.journal.filter((change) => {
      if (!done.has(change)) return true
      applyChange(node.durableEntries, change)
      const movedTo = change.kind === 'unlink' ? change.movedTo : undefined
      movedTo?.directory.durableEntries.set(movedTo.name, movedTo.node)
      return false
    })
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
        if (held) this.locked.delete(node)
        held = false
      },
    }
  }

  boundTo(): this {
    return this
  }

  /**
   * Makes the file system that the disk would hold if the power failed now, without unsynced
   * changes and locks. This file system stays usable and unchanged.
   *
   * @param random a source of numbers in [0, 1); the same numbers make the same image
   */
  crash(policy: CrashPolicy, random: () => number): SimulatedDisk {
    return new SimulatedDisk(crashImage(this.root, this.journal, policy, random))
  }

  /**
   * Makes the file system that a killed process leaves: everything written, and no locks. The
   * machine keeps running, so the run identity stays the same, and a power cut may still lose what
   * is not synced. This file system stays usable and unchanged.
   */
  kill(): SimulatedDisk {
    const { root, journal } = killImage(this.root, this.journal)
    const disk = new SimulatedDisk(root, this.run)
    disk.journal.push(...journal)
    return disk
  }

  /** Makes all that was written durable, as a system does with time. */
  storeAll(): void {
    for (const directory of new Set(this.journal.map((change) => change.directory))) {
      this.settleDirectory(directory, this.journal)
    }
    const directories = [this.root]
    for (const { entries } of directories) {
      for (const node of entries.values()) {
        if (node.kind === 'directory') directories.push(node)
        else finishSync(node, beginSync(node))
      }
    }
  }

  /**
   * Loses the unsynced changes of a file, as a failed sync of a disk may. With `reverted`, the
   * default, the file then reads as the disk holds it. With `clean` the file reads as before, but
   * no later sync stores the lost bytes. A path without a file is ignored.
   */
  dropUnsynced(path: string, pages: 'reverted' | 'clean' = 'reverted'): void {
    const node = this.find(absolute(path))
    if (node !== undefined && node.kind === 'file') dropUnsyncedChanges(node, pages)
  }

  /** Bytes of the pages that all files take. A file with several names counts once. */
  get allocatedBytes(): number {
    return allocatedPages(this.root, new Set()) * pageBytes
  }

  /** @internal How many of `length` bytes at `position` of a file fit within the capacity. */
  roomFor(node: FileNode, position: number, length: number): number {
    if (this.capacityBytes === undefined) return length
    let pagesFree = Math.floor((this.capacityBytes - this.allocatedBytes) / pageBytes)
    for (let at = position; at < position + length; at += pageBytes - (at % pageBytes)) {
      if (node.pages.has(Math.floor(at / pageBytes))) continue
      if (pagesFree <= 0) return at - position
      pagesFree--
    }
    return length
  }

  /** @internal Counts and announces an operation; returns its number. */
  begin(kind: FileOperation['kind'], path: string, to?: string): number {
    const number = this.operationCount++
    if (this.beforeOperation !== undefined) this.beforeOperation({ kind, path, to })
    return number
  }

  private change(change: DirectoryChange): void {
    applyChange(change.directory.entries, change)
    this.journal.push(change)
  }

  private find(full: string): Node | undefined {
    let node: Node = this.root
    for (const name of namesOf(full)) {
      if (node.kind !== 'directory') return undefined
      const next = node.entries.get(name)
      if (next === undefined) return undefined
      node = next
    }
    return node
  }

  private directoryAt(operation: string, full: string): DirectoryNode {
    const node = this.find(full)
    if (node === undefined) throw fileError(operation, full, syntheticError('ENOENT'))
    if (node.kind !== 'directory') throw fileError(operation, full, syntheticError('ENOTDIR'))
    return node
  }

  private parentOf(operation: string, full: string): DirectoryNode {
    return this.directoryAt(operation, posix.dirname(full))
  }
}

function absolute(path: string): string {
  return posix.resolve('/', path)
}

function namesOf(full: string): string[] {
  return full === '/' ? [] : full.slice(1).split('/')
}
