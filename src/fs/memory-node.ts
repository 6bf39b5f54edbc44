/**
 * Files and directories of the memory file system, each with what a process sees (volatile) and
 * what a disk would hold (durable).
 *
 * A file's bytes are copy-on-write: `content[0, frozenLength)` may be referenced by the durable
 * view or by a crash image and is never changed in place; an append behind it is. So a sync, and a
 * crash image of a synced file, cost nothing.
 *
 * Invariants:
 * - `content` beyond `size` and beyond every frozen view is zero, so growing a file reads as zeros.
 * - `changes` covers every byte in which the volatile content differs from the durable one, unless
 *   `lostPages` says that a failed sync has left the two apart.
 */
import { emptyBytes, toBytes } from '../base/bytes.js'

/** Space is taken in pages of so many bytes. */
export const pageBytes = 4096

/** A file, apart from its names. Handles of an unlinked file keep it alive. */
export class FileNode {
  readonly kind = 'file'
  /** Volatile bytes, with spare room behind `size`. */
  content: Buffer
  /** Volatile length in bytes. */
  size: number
  /** Length of the beginning of `content` that others may reference. */
  frozenLength: number
  /** The pages that take space, by number. */
  readonly pages: Set<number>
  /** What the disk holds: content and length as of the last sync. */
  durable: Buffer
  /** Ranges changed since the last sync as start, end pairs in the order of the changes. */
  changes: number[]
  /** Numbers ever taken from the front of `changes`; tells a late sync that it is outdated. */
  changesDropped: number
  /** Changes in front of this index belong to a sync under way and are not extended. */
  changesSealed: number
  /** Whether the size was cut since the last sync. */
  shrunk: boolean
  /** Whether a failed sync left volatile bytes that count as clean but were never stored. */
  lostPages: boolean
  /** Journal number of the last un-synced write, -1 if there is none. */
  lastWriteNumber: number
  lastWriteStart: number
  lastWriteEnd: number
  /** Size of the file before the last write. */
  lastWriteSizeBefore: number
  /** What the last write overwrote, from its start. */
  lastWriteBefore: Buffer

  /** Makes a file whose `content` is durable; the memory is shared and stays unchanged. */
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

/** A directory: names and what they stand for. */
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

/** What a name in a directory stands for. */
export type Node = FileNode | DirectoryNode

/** An un-synced change of the entries of one directory. */
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
  | { readonly kind: 'unlink'; readonly directory: DirectoryNode; readonly name: string }

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

/** Counts the pages of the files below a directory that were not seen yet. */
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

/** Makes `content` at least `length` bytes long and free to be changed from `changedFrom` on. */
function makeRoom(node: FileNode, length: number, changedFrom: number): void {
  const own = changedFrom >= node.frozenLength
  if (own && length <= node.content.length) return
  const grown = Math.max(length, own ? node.content.length * 2 : node.size, 512)
  // Buffer.alloc takes zeroed memory, so the room behind the size reads as zeros.
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

/** Writes `source[start, end)` at `position`; `number` is the place in the journal. */
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

/** Reads up to `length` bytes at `position` into `target` and returns how many. */
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

/** Cuts a file, or extends it with zeros. */
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

/** A sync of a file under way: what it will make durable. */
export interface PendingSync {
  readonly content: Buffer
  /** How far in the changes of the file it reaches. */
  readonly changesEnd: number
  readonly lastWriteNumber: number
}

/** Takes what the file holds now; changes made later are not part of the sync. */
export function beginSync(node: FileNode): PendingSync {
  node.changesSealed = node.changes.length
  return {
    content: syncedContent(node),
    changesEnd: node.changesDropped + node.changes.length,
    lastWriteNumber: node.lastWriteNumber,
  }
}

/** Makes a sync's content durable, unless a later sync or a drop came first. */
export function finishSync(node: FileNode, sync: PendingSync): void {
  const count = sync.changesEnd - node.changesDropped
  if (count <= 0) return
  node.durable = sync.content
  node.changes = node.changes.slice(count)
  node.changesDropped += count
  node.changesSealed = Math.max(0, node.changesSealed - count)
  // A cut after the beginning of the sync is the only way to be shorter than what was stored.
  node.shrunk = node.shrunk && node.changes.length > 0
  if (node.lastWriteNumber <= sync.lastWriteNumber) node.lastWriteNumber = -1
}

/**
 * What a failed sync does: the un-synced changes are forgotten. With `reverted` the file reads as
 * the disk holds it; with `clean` it reads as before, but no later sync stores the forgotten bytes.
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
