/**
 * The nodes that the writer has seen last. A write has to know its node, and the parent of a new
 * one; most writes find both here and read nothing.
 *
 * Invariant: a node is here as the tables have it. The writer is the only one of its tables, takes
 * in what a commit has left when the commit is durable, and forgets everything after a failure.
 *
 * Two generations bound the memory: when the young one is full it becomes the old one, and what
 * the old one held is forgotten unless it was used meanwhile.
 */
import { decodeRecord } from './record-format.js'
import { absentNode, isAbsent, type Node } from './rows.js'

/** Bytes of a generation, about. */
const generationBytesMax = 8 * 1024 * 1024
/** What a node takes beside its path and its value, about. */
const overheadBytes = 300

/** See the file header. */
export class NodeCache {
  #young = new Map<string, Node>()
  #old = new Map<string, Node>()
  #youngBytes = 0

  /** A node as the table has it; undefined if it has to be read. */
  get(path: string): Node | undefined {
    const young = this.#young.get(path)
    if (young !== undefined) return young
    const old = this.#old.get(path)
    if (old !== undefined) this.set(path, old)
    return old
  }

  /** Takes a node in. */
  set(path: string, node: Node): void {
    const kept = isAbsent(node) ? absentNode : withOwnCell(node)
    this.#young.set(path, kept)
    this.#youngBytes += overheadBytes + 2 * path.length + (kept.record?.cell.length ?? 0)
    if (this.#youngBytes < generationBytesMax) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }

  /** Forgets everything. */
  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngBytes = 0
  }
}

/** A cell that was read is a part of larger memory, which the cache must not keep alive. */
function withOwnCell(node: Node): Node {
  const { record, children } = node
  if (record === undefined) return node
  const { cell } = record
  const isOwn = cell.buffer.byteLength <= Math.max(Buffer.poolSize, 2 * cell.length)
  return isOwn ? node : { record: decodeRecord(Buffer.from(cell)), children }
}
