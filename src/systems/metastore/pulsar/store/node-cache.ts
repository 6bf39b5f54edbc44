/**
 * The recently used nodes of the writer. A write needs its node, and the parent of a new node; most
 * writes find both in this cache and read nothing.
 *
 * Invariant: a cached node equals the node in the tables. The store has one writer, which adds the
 * changes of a commit when the commit is durable, and clears the cache after a failure.
 */
import { Generations } from '../../kernel/generations.js'
import { decodeRecord } from './record-format.js'
import { absentNode, isAbsent, type Node } from './rows.js'

/** See the file header. */
export class NodeCache {
  readonly #nodes = new Generations<Node>(8 * 1024 * 1024)

  /** The cached node; undefined if it has to be read from the table. */
  get(path: string): Node | undefined {
    return this.#nodes.get(path, bytesOf)
  }

  set(path: string, node: Node): void {
    const kept = isAbsent(node) ? absentNode : withOwnCell(node)
    this.#nodes.set(path, kept, bytesOf(kept))
  }

  clear(): void {
    this.#nodes.clear()
  }
}

/** Approximate size of a node. */
function bytesOf({ record }: Node): number {
  return 200 + (record?.cell.length ?? 0)
}

/** Copies a cell that is a view of a larger buffer, which the cache must not keep alive. */
function withOwnCell(node: Node): Node {
  const { record, children } = node
  if (record === undefined) return node
  const { cell } = record
  const isOwn = cell.buffer.byteLength <= Math.max(Buffer.poolSize, 2 * cell.length)
  return isOwn ? node : { record: decodeRecord(Buffer.from(cell)), children }
}
