/**
 * Files and directories of the memory file system. Each has a volatile state, as processes see it,
 * and a durable state, as the disk would hold it.
 *
 * The bytes of a file are copy-on-write. The durable state or a crash image may reference
 * `content[0, frozenLength)`, so these bytes are never changed in place; later bytes are. So a sync
 * of appended bytes, and a crash image of a synced file, copy nothing.
 *
 * Invariants:
 * - `content` beyond `size` and beyond every frozen view is zero, so growing a file reads as zeros.
 * - `changes` covers every byte in which the volatile content differs from the durable one, unless
 *   `lostPages` says that a failed sync has left the two apart.
 */
import { emptyBytes, toBytes } from '../../src/base/bytes.js'

/** Size of a page in bytes; files take space in whole pages. */
export const pageBytes = 4096

let nodesMade = 0

/** A file, apart from its names. Handles of an unlinked file keep it alive. */
export class FileNode {
  readonly kind = 'file'
  /** No other file of the process has it. */
  readonly nodeNumber = ++nodesMade
  /** Volatile bytes, with spare room after `size`. */
  content: Buffer
  /** Volatile length in bytes. */
  size: number
  /** Length of the first part of `content` that other objects may reference. */
  frozenLength: number
  /** Numbers of the pages that take space. */
  pages: Set<number>
  /** The content that the disk holds, as of the last sync. */
  durable: Buffer
  /** Ranges changed since the last sync as start, end pairs in the order of the changes. */
  changes: number[]
  /**
   * Number of entries ever removed from the front of `changes`; shows a late sync that it is
   * outdated.
   */
  changesDropped: number
  /** Changes before this index belong to an unfinished sync and are not extended. */
  changesSealed: number
  /** Whether the size was cut since the last sync. */
  shrunk: boolean
  /** Whether a failed sync left volatile bytes that no later sync will store. */
  lostPages: boolean
  /** Journal number of the last unsynced write, -1 if there is none. */
  lastWriteNumber: number
  lastWriteStart: number
  lastWriteEnd: number
  /** Size of the file before the last write. */
  lastWriteSizeBefore: number
  /** The bytes that the last write replaced, from the write's start. */
  lastWriteBefore: Buffer

  /**
   * Makes a file whose `content` is durable. The file references the memory and never changes it.
   */
  constructor(content: Buffer) {
    this.content = content
    this.size = content.length
    this.frozenLength = content.length
    this.pages = new Set()
    this.durable = content
    this.changes = []
    this.changesDropped = 0
    this.changesSealed = 0
    this.shrunk = false
    this.lostPages = false
    this.lastWriteNumber = -1
    this.lastWriteStart = 0
    this.lastWriteEnd = 0
    this.lastWriteSizeBefore = 0
    this.lastWriteBefore = emptyBytes
    addPages(this, 0, content.length)
  }
}

/** A directory: its names and their files and directories. */
export class DirectoryNode {
  readonly kind = 'directory'
  /** Entries as processes see them. */
  entries: Map<string, Node>
  /** Entries as the disk holds them. */
  durableEntries: Map<string, Node>

  constructor(entries: Map<string, Node>) {
    this.entries = entries
    this.durableEntries = new Map(entries)
  }
}

/** The file or directory of a name. */
export type Node = FileNode | DirectoryNode

/** An unsynced change of the entries of one directory. */
export type DirectoryChange =
  | {
      readonly kind: 'create' | 'makeDirectory'
      readonly directory: DirectoryNode
      readonly name: string
      readonly node: Node
    }
  | {
      readonly kind: 'rename'
      readonly directory: DirectoryNode
      readonly name: string
      readonly from: string
      readonly node: Node
    }
  | {
      readonly kind: 'unlink'
      readonly directory: DirectoryNode
      readonly name: string
      /** The name in another directory that the file has since; no disk loses both names. */
      readonly movedTo?: { directory: DirectoryNode; name: string; node: Node } | undefined
    }

/** Applies a change to a set of entries of its directory. */
export function applyChange(entries: Map<string, Node>, change: DirectoryChange): void {
  switch (change.kind) {
    case 'create':
    case 'makeDirectory':
      entries.set(change.name, change.node)
      break
    case 'rename':
      if (change.from === change.name) break
      entries.set(change.name, change.node)
      entries.delete(change.from)
      break
    case 'unlink':
      entries.delete(change.name)
      break
  }
}

function addPages(node: FileNode, start: number, end: number): void {
  for (let page = Math.floor(start / pageBytes); page * pageBytes < end; page++) {
    node.pages.add(page)
  }
}

function dropPages(node: FileNode, length: number): void {
  for (const page of node.pages) if (page * pageBytes >= length) node.pages.delete(page)
}

/** Number of pages of the files below a directory, except files already in `seen`. */
export function allocatedPages(directory: DirectoryNode, seen: Set<FileNode>): number {
  let pages = 0
  for (const node of directory.entries.values()) {
    if (node.kind === 'directory') pages += allocatedPages(node, seen)
    else if (!seen.has(node)) {
      seen.add(node)
      pages += node.pages.size
    }
  }
  return pages
}

/**
 * Makes `content` at least `length` bytes long and, from `changedFrom` on, safe to change in place.
 */
function makeRoom(node: FileNode, length: number, changedFrom: number): void {
  const own = changedFrom >= node.frozenLength
  if (own && length <= node.content.length) return
  const grown = Math.max(length, own ? node.content.length * 2 : node.size, 512)
  // Buffer.alloc zeroes its memory, so the room beyond the size reads as zeros.
  const content = Buffer.alloc(grown)
  node.content.copy(content, 0, 0, node.size)
  node.content = content
  node.frozenLength = 0
}

function addChange(node: FileNode, start: number, end: number): void {
  const { changes } = node
  const last = changes.length - 2
  if (last >= node.changesSealed && changes[last + 1] === start) changes[last + 1] = end
  else if (end > start) changes.push(start, end)
}

/**
 * Writes `source[start, end)` at `position`; `number` is the number of the write in the journal.
 */
export function writeNode(
  node: FileNode,
  source: Uint8Array,
  start: number,
  end: number,
  position: number,
  number: number,
): void {
  const behind = position + (end - start)
  const sizeBefore = node.size
  if (behind === position) return
  node.lastWriteNumber = number
  node.lastWriteStart = position
  node.lastWriteEnd = behind
  node.lastWriteSizeBefore = sizeBefore
  node.lastWriteBefore =
    position < sizeBefore
      ? Buffer.from(node.content.subarray(position, Math.min(behind, sizeBefore)))
      : emptyBytes
  addPages(node, position, behind)
  makeRoom(node, behind, Math.min(position, sizeBefore))
  addChange(node, Math.min(position, sizeBefore), behind)
  toBytes(source).copy(node.content, position, start, end)
  if (behind > sizeBefore) node.size = behind
}

/** Reads up to `length` bytes at `position` into `target`. Returns the number of bytes read. */
export function readNode(
  node: FileNode,
  target: Uint8Array,
  targetStart: number,
  length: number,
  position: number,
): number {
  const end = Math.min(position + length, node.size)
  if (end <= position) return 0
  return node.content.copy(target, targetStart, position, end)
}

/** Shortens a file, or extends it with zeros. */
export function truncateNode(node: FileNode, length: number): void {
  const sizeBefore = node.size
  if (length === sizeBefore) return
  node.lastWriteNumber = -1
  if (length < sizeBefore) {
    node.shrunk = true
    makeRoom(node, sizeBefore, length)
    node.content.fill(0, length, sizeBefore)
    addChange(node, length, sizeBefore)
    dropPages(node, length)
  } else {
    makeRoom(node, length, sizeBefore)
    addChange(node, sizeBefore, length)
  }
  node.size = length
}

/**
 * The bytes that a sync of the file would store now: a view that later writes leave unchanged.
 */
export function syncedContent(node: FileNode): Buffer {
  if (!node.lostPages) {
    if (node.frozenLength < node.size) node.frozenLength = node.size
    return node.content.subarray(0, node.size)
  }
  const content = Buffer.alloc(node.size)
  node.durable.copy(content)
  for (let i = 0; i < node.changes.length; i += 2) {
    const end = Math.min(node.changes[i + 1], node.size)
    if (end > node.changes[i]) node.content.copy(content, node.changes[i], node.changes[i], end)
  }
  return content
}

/** An unfinished sync of a file: the state that the sync will make durable. */
export interface PendingSync {
  readonly content: Buffer
  /** Number of entries of `changes`, removed ones included, that the sync covers. */
  readonly changesEnd: number
  readonly lastWriteNumber: number
}

/** Captures the content of the file. Later changes are not part of the sync. */
export function beginSync(node: FileNode): PendingSync {
  node.changesSealed = node.changes.length
  return {
    content: syncedContent(node),
    changesEnd: node.changesDropped + node.changes.length,
    lastWriteNumber: node.lastWriteNumber,
  }
}

/** Makes the content of a sync durable, unless a later sync or a drop came first. */
export function finishSync(node: FileNode, sync: PendingSync): void {
  const count = sync.changesEnd - node.changesDropped
  if (count <= 0) return
  node.durable = sync.content
  node.changes = node.changes.slice(count)
  node.changesDropped += count
  node.changesSealed = Math.max(0, node.changesSealed - count)
  // The file can be shorter than the stored content only if it was cut after the sync began.
  node.shrunk = node.shrunk && node.changes.length > 0
  if (node.lastWriteNumber <= sync.lastWriteNumber) node.lastWriteNumber = -1
}

/**
 * Forgets the unsynced changes, as a failed sync does. With `reverted` the file reads as the disk
 * holds it. With `clean` the file reads as before, but no later sync stores the lost bytes.
 */
export function dropUnsyncedChanges(node: FileNode, pages: 'reverted' | 'clean'): void {
  node.changesDropped += node.changes.length
  node.changes = []
  node.changesSealed = 0
  node.shrunk = false
  node.lastWriteNumber = -1
  if (pages === 'clean') {
    node.lostPages = true
    return
  }
  node.lostPages = false
  node.content = node.durable
  node.size = node.durable.length
  node.frozenLength = node.durable.length
}
