/**
 * Copies a memory file system with all that is not synced yet, as a killed process leaves it: a
 * power cut of the copy may still lose these changes.
 *
 * Bytes are shared with the source, copy-on-write. A file with several names stays one file. Syncs
 * that had begun and not settled count as not begun.
 */
import { DirectoryNode, FileNode, type DirectoryChange, type Node } from './disk-node.js'

/** A tree and its unsynced changes of directories. */
export interface KillImage {
  readonly root: DirectoryNode
  readonly journal: DirectoryChange[]
}

/** Copies a tree and the journal of its unsynced changes, the oldest first. */
export function killImage(root: DirectoryNode, journal: readonly DirectoryChange[]): KillImage {
  const copies = new Map<Node, Node>()
  const copyOf = <T extends Node>(node: T): T => {
    let copy = copies.get(node)
    if (copy === undefined) {
      copy = node.kind === 'file' ? copyFile(node) : new DirectoryNode(new Map())
      copies.set(node, copy)
      if (node.kind === 'directory') copyEntries(node, copy as DirectoryNode, copyOf)
    }
    return copy as T
  }
  const copied = journal.map((change): DirectoryChange => {
    const directory = copyOf(change.directory)
    if (change.kind !== 'unlink') return { ...change, directory, node: copyOf(change.node) }
    const { movedTo } = change
    if (movedTo === undefined) return { ...change, directory }
    const place = { directory: copyOf(movedTo.directory), node: copyOf(movedTo.node) }
    return { ...change, directory, movedTo: { ...movedTo, ...place } }
  })
  return { root: copyOf(root), journal: copied }
}

function copyEntries(from: DirectoryNode, to: DirectoryNode, copyOf: (node: Node) => Node): void {
  to.entries = new Map([...from.entries].map(([name, node]) => [name, copyOf(node)]))
  to.durableEntries = new Map([...from.durableEntries].map(([name, node]) => [name, copyOf(node)]))
}

function copyFile(node: FileNode): FileNode {
  const copy = new FileNode(node.durable)
  // Neither of the two changes these bytes in place from now on.
  node.frozenLength = Math.max(node.frozenLength, node.size)
  copy.content = node.content.subarray(0, node.size)
  copy.size = node.size
  copy.frozenLength = node.size
  copy.pages = new Set(node.pages)
  copy.changes = [...node.changes]
  copy.shrunk = node.shrunk
  copy.lostPages = node.lostPages
  return copy
}
