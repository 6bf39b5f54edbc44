/**
 * The recently used nodes of the writer. A write needs its node, and the parent of a new node; most
 * writes find both in this cache and read nothing.
 *
 * Invariant: a cached node equals the node in the tables. The store has one writer, which adds the
 * changes of a commit when the commit is durable, and clears the cache after a failure.
 *
 * Two generations bound the memory. When the young generation is full, it replaces the old one.
 * Nodes of the old generation are evicted unless they were used in the meantime.
 */
import { decodeRecord } from './record-format.js'
import { absentNode, isAbsent, type Node } from './rows.js'

/** Approximate bytes of a generation. */
const generationBytesMax = 8 * 1024 * 1024
/** Approximate overhead of a node, besides its path and cell. */
const overheadBytes = 300

/** See the file header. */
export class NodeCache {
  #young = new Map<string, Node>()
  #old = new Map<string, Node>()
  #youngBytes = 0

  /** The cached node; undefined if it has to be read from the table. */
  get(path: string): Node | undefined {
    const young = this.#young.get(path)
    if (young !== undefined) return young
    const old = this.#old.get(path)
    if (old !== undefined) this.set(path, old)
    return old
  }

  set(path: string, node: Node): void {
    const kept = isAbsent(node) ? absentNode : withOwnCell(node)
    this.#young.set(path, kept)
    this.#youngBytes += overheadBytes + 2 * path.length + (kept.record?.cell.length ?? 0)
    if (this.#youngBytes < generationBytesMax) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngBytes = 0
  }
}

/** Copies a cell that is a view of a larger buffer, which the cache must not keep alive. */
function withOwnCell(node: Node): Node {
  const { record, children } = node
  if (record === undefined) return node
  const { cell } = record
  const isOwn = cell.buffer.byteLength <= Math.max(Buffer.poolSize, 2 * cell.length)
  return isOwn ? node : { record: decodeRecord(Buffer.from(cell)), children }
}
