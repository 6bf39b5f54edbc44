/**
 * Computes the content of a disk after a power cut from the memory file system.
 *
 * The image is built from the durable tree. First the policy decides which unsynced changes of
 * directories reached the disk, and in which order. Then it decides the content of each file that
 * has a name in the image. Synced bytes and entries of synced directories are never lost. The image
 * shares the memory of unchanged files with its source (copy-on-write), so it costs little.
 */
import { applyChange, DirectoryNode, FileNode, syncedContent } from './disk-node.js'
import type { DirectoryChange, Node } from './disk-node.js'

/** Bytes that a disk stores as a whole or not at all. */
const sectorBytes = 512

/** Every policy, with its effect on unsynced changes. */
export const CrashPolicy = {
  /**
   * P0: all changes are lost. A file with a durable name but without durable data has its old
   * bytes.
   */
  dropUnsynced: 'dropUnsynced',
  /** P1: all changes are kept, as if the disk had stored them in time. */
  keepAll: 'keepAll',
  /**
   * P2: directories and sizes are kept. Each changed 512-byte block is kept with a probability that
   * is drawn per crash from 0.1, 0.5 and 0.9. A lost block holds its old content, or zeros. The cut
   * of a file may be lost too, so that its old tail follows new bytes.
   */
  keepRandomBlocks: 'keepRandomBlocks',
  /** P2g: as P2, but a lost block at the end of a file that grew holds random bytes. */
  keepRandomBlocksGarbage: 'keepRandomBlocksGarbage',
  /**
   * P3: directories and sizes are kept. All unsynced data is lost and reads as before, or as zeros.
   */
  sizeWithoutData: 'sizeWithoutData',
  /**
   * P4: any subset of the changes of directories is kept. A rename leaves the old name, the new
   * one, or both. The data of each file is kept or lost as a whole.
   */
  anyDirectoryOperations: 'anyDirectoryOperations',
  /** P4o: a random number of the first changes of directories is kept; data as in P4. */
  orderedDirectoryOperations: 'orderedDirectoryOperations',
  /** P5: all changes are kept, but the last unsynced write is cut at a random byte. */
  tornLastWrite: 'tornLastWrite',
} as const

/** The name of a policy. */
export type CrashPolicy = (typeof CrashPolicy)[keyof typeof CrashPolicy]

/** All policies, for tests that try each of them. */
export const crashPolicies: readonly CrashPolicy[] = Object.values(CrashPolicy)

/**
 * Builds the root directory of the image.
 *
 * @param journal un-synced changes of directories, the oldest first
 */
export function crashImage(
  root: DirectoryNode,
  journal: readonly DirectoryChange[],
  policy: CrashPolicy,
  random: () => number,
): DirectoryNode {
  const kept = keptEntries(journal, policy, random)
  const choose = contentChooser(root, kept, policy, random)
  const chosen = new Map<FileNode, Buffer>()
  return copyDirectory(root, kept, (node) => {
    let content = chosen.get(node)
    if (content === undefined) {
      content = choose(node)
      chosen.set(node, content)
    }
    return content
  })
}

/** The entries in the image of every directory with unsynced changes. */
type KeptEntries = ReadonlyMap<DirectoryNode, Map<string, Node>>

function keptEntries(
  journal: readonly DirectoryChange[],
  policy: CrashPolicy,
  random: () => number,
): KeptEntries {
  const kept = new Map<DirectoryNode, Map<string, Node>>()
  for (const { directory } of journal) {
    if (!kept.has(directory)) kept.set(directory, new Map(directory.durableEntries))
  }
  let count = journal.length
  if (policy === 'dropUnsynced') count = 0
  if (policy === 'orderedDirectoryOperations') count = Math.floor(random() * (count + 1))
  for (let i = 0; i < count; i++) {
    const change = journal[i]
    const entries = kept.get(change.directory)!
    if (change.kind === 'unlink' && change.movedTo !== undefined) {
      const { directory, name, node } = change.movedTo
      const target = kept.get(directory) ?? directory.durableEntries
      if (target.get(name) !== node) continue
    }
    if (policy === 'anyDirectoryOperations') applyPart(entries, change, random)
    else applyChange(entries, change)
  }
  return kept
}

/** Applies the change or nothing; of a rename perhaps only the new name. */
function applyPart(
  entries: Map<string, Node>,
  change: DirectoryChange,
  random: () => number,
): void {
  if (change.kind !== 'rename') {
    if (random() < 0.5) applyChange(entries, change)
    return
  }
  const draw = random()
  if (draw < 1 / 3) applyChange(entries, change)
  else if (draw < 2 / 3) entries.set(change.name, change.node)
}

/** Returns the content of a file in the image. */
type ContentChooser = (node: FileNode) => Buffer

function contentChooser(
  root: DirectoryNode,
  kept: KeptEntries,
  policy: CrashPolicy,
  random: () => number,
): ContentChooser {
  switch (policy) {
    case 'dropUnsynced':
      return (node) => node.durable
    case 'keepAll':
      return syncedContent
    case 'keepRandomBlocks':
    case 'keepRandomBlocksGarbage': {
      const probability = [0.1, 0.5, 0.9][Math.floor(random() * 3)]
      const garbage = policy === 'keepRandomBlocksGarbage'
      return (node) => randomBlocks(node, probability, garbage, random)
    }
    case 'sizeWithoutData':
      return (node) => resized(node.durable, node.size)
    case 'anyDirectoryOperations':
    case 'orderedDirectoryOperations':
      return (node) => (random() < 0.5 ? node.durable : syncedContent(node))
    case 'tornLastWrite': {
      const last = lastWritten(root, kept)
      return (node) => (node === last ? tornContent(node, random) : syncedContent(node))
    }
  }
}

function resized(content: Buffer, length: number): Buffer {
  if (content.length === length) return content
  const result = Buffer.alloc(length)
  content.copy(result, 0, 0, Math.min(content.length, length))
  return result
}

/** Numbers of the blocks that unsynced changes touch, ascending. */
function changedBlocks(node: FileNode): number[] {
  const blocks = new Set<number>()
  for (let i = 0; i < node.changes.length; i += 2) {
    const end = Math.min(node.changes[i + 1], node.size)
    for (let at = node.changes[i]; at < end; at += sectorBytes - (at % sectorBytes)) {
      blocks.add(Math.floor(at / sectorBytes))
    }
  }
  return [...blocks].sort((a, b) => a - b)
}

function randomBlocks(
  node: FileNode,
  probability: number,
  garbage: boolean,
  random: () => number,
): Buffer {
  if (node.changes.length === 0) return node.durable
  const { durable } = node
  const latest = syncedContent(node)
  const cutLost = node.shrunk && durable.length > node.size && random() < 0.5
  const result = Buffer.alloc(cutLost ? durable.length : node.size)
  durable.copy(result, 0, 0, Math.min(durable.length, result.length))
  for (const block of changedBlocks(node)) {
    const start = block * sectorBytes
    const end = Math.min(start + sectorBytes, node.size)
    if (random() < probability) {
      latest.copy(result, start, start, end)
    } else if (garbage) {
      for (let at = Math.max(start, durable.length); at < end; at++) {
        result[at] = Math.floor(random() * 256)
      }
    }
  }
  return result
}

/** The file in the image with the latest unsynced write, if there is one. */
function lastWritten(root: DirectoryNode, kept: KeptEntries): FileNode | undefined {
  let last: FileNode | undefined
  const directories = [root]
  for (let i = 0; i < directories.length; i++) {
    const directory = directories[i]
    for (const node of (kept.get(directory) ?? directory.durableEntries).values()) {
      if (node.kind === 'directory') directories.push(node)
      else if (node.lastWriteNumber > (last?.lastWriteNumber ?? -1)) last = node
    }
  }
  return last
}

function tornContent(node: FileNode, random: () => number): Buffer {
  const latest = syncedContent(node)
  const length = node.lastWriteEnd - node.lastWriteStart
  const written = Math.floor(random() * length)
  const cut = node.lastWriteStart + written
  // A write that lost its first byte has not extended the file, not even by zeros in front of
  // it.
  const size = Math.max(node.lastWriteSizeBefore, written === 0 ? 0 : cut)
  const result = Buffer.from(latest.subarray(0, size))
  node.lastWriteBefore.subarray(written).copy(result, cut)
  return result
}

function copyDirectory(
  directory: DirectoryNode,
  kept: KeptEntries,
  contentOf: ContentChooser,
): DirectoryNode {
  const entries = new Map<string, Node>()
  for (const [name, node] of kept.get(directory) ?? directory.durableEntries) {
    if (node.kind === 'directory') entries.set(name, copyDirectory(node, kept, contentOf))
    // A file with two names, by a link or by P4, becomes two files with the same bytes.
    else entries.set(name, new FileNode(contentOf(node)))
  }
  return new DirectoryNode(entries)
}
