/** A path through the tree of a memtable: the inner nodes from the root to a leaf. */
import { type NodeArrays, slotsPerNode } from './nodes.js'
import type { TreeEdges } from './tree-edges.js'

/** Maximum number of levels of inner nodes; 2^30 entries need far fewer. */
export const heightMax = 24

/** The path of the last search of one tree, by depth from the root on. */
export class TreePath {
  readonly nodes = new Int32Array(heightMax)
  /** The slot of the next node in each node. */
  readonly slots = new Int32Array(heightMax)
  /** Results of {@link findFences}: entries. */
  lowFence = 0
  highFence = 0
  private readonly inners: NodeArrays
  private readonly edges: TreeEdges

  constructor(inners: NodeArrays, edges: TreeEdges) {
    this.inners = inners
    this.edges = edges
  }

  /** Becomes the path to the first leaf (side -1) or the last (side 1), and returns the leaf. */
  followEdge(root: number, height: number, side: number): number {
    const { counts, links } = this.inners
    let node = root
    for (let depth = 0; depth < height; depth++) {
      const slot = side > 0 ? counts[node] - 1 : 0
      this.nodes[depth] = node
      this.slots[depth] = slot
      node = links[node * slotsPerNode + slot]
    }
    return node
  }

  /** Finds the fences of the node on the path at `depth`. */
  findFences(depth: number): void {
    const { entries, counts } = this.inners
    let low = this.edges.firstEntry
    let high = this.edges.lastEntry
    for (let i = 0; i < depth; i++) {
      const node = this.nodes[i]
      const slot = this.slots[i]
      if (slot > 0) low = entries[node * slotsPerNode + slot]
      if (slot + 1 < counts[node]) high = entries[node * slotsPerNode + slot + 1]
    }
    this.lowFence = low
    this.highFence = high
  }
}
