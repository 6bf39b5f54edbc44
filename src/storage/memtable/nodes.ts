/**
 * Nodes of the memtable's tree. All nodes of one kind are in a few parallel typed arrays. So the
 * garbage collector sees few objects, independent of the size of the tree.
 *
 * Invariants
 * 1. Node n owns the slots `[n * slotsPerNode, (n + 1) * slotsPerNode)` of `numbers` and `entries`;
 *    the first `counts[n]` are in use. Nodes are never freed and never renumbered.
 * 2. Leaves have two links: the next and the previous leaf, or -1. Inner nodes have a link per
 *    slot: the child.
 * 3. Growing replaces the arrays; a failed allocation changes nothing.
 *
 * Ownership: the arrays belong to the tree of one thread and are never shared.
 */

/** Maximum number of entries in a leaf and of children of an inner node; a power of two. */
export const slotsPerNode = 64

/** Number of key bytes in a number. */
export const numberBytes = 6

const bytesPerSlot = 12
const bytesPerNodeHeader = 8

/** All leaves, or all inner nodes, of one tree. */
export class NodeArrays {
  /** Number of nodes in use. */
  count = 0
  /** Number of nodes that fit without growing. */
  capacity: number
  /** By slot: the six key bytes after the node's prefix, see `readPrefix48`. */
  numbers: Float64Array
  /** By slot: the entry number in the arena. */
  entries: Int32Array
  links: Int32Array
  /** By node: the number of slots in use. */
  counts: Int32Array
  /** By node: the number of leading key bytes that `numbers` skips. */
  prefixLengths: Int32Array
  readonly linksPerNode: number

  constructor(capacity: number, linksPerNode: number) {
    this.capacity = capacity
    this.numbers = new Float64Array(capacity * slotsPerNode)
    this.entries = new Int32Array(capacity * slotsPerNode)
    this.links = new Int32Array(capacity * linksPerNode)
    this.counts = new Int32Array(capacity)
    this.prefixLengths = new Int32Array(capacity)
    this.linksPerNode = linksPerNode
  }

  /** Number of allocated bytes. */
  get bytes(): number {
    return this.capacity * this.bytesPerNode
  }

  /** Size of one node in bytes. */
  get bytesPerNode(): number {
    return slotsPerNode * bytesPerSlot + this.linksPerNode * 4 + bytesPerNodeHeader
  }

  /** Reserves `nodes` more nodes; throws a RangeError without a change if the allocation fails. */
  reserve(nodes: number): void {
    const needed = this.count + nodes
    if (needed <= this.capacity) return
    const capacity = Math.max(needed, Math.ceil(this.capacity * 1.5))
    const { numbers, entries, links, counts, prefixLengths, linksPerNode } = this
    const largerNumbers = new Float64Array(capacity * slotsPerNode)
    const largerEntries = new Int32Array(capacity * slotsPerNode)
    const largerLinks = new Int32Array(capacity * linksPerNode)
    const largerCounts = new Int32Array(capacity)
    const largerPrefixLengths = new Int32Array(capacity)
    largerNumbers.set(numbers)
    largerEntries.set(entries)
    largerLinks.set(links)
    largerCounts.set(counts)
    largerPrefixLengths.set(prefixLengths)
    this.numbers = largerNumbers
    this.entries = largerEntries
    this.links = largerLinks
    this.counts = largerCounts
    this.prefixLengths = largerPrefixLengths
    this.capacity = capacity
  }

  /** Allocates an empty node with prefix length 0. REQUIRES reserved memory. */
  allocate(): number {
    return this.count++
  }

  /** Shifts the slots from `position` on by one and sets an entry there. REQUIRES a free slot. */
  insertSlot(node: number, position: number, entry: number, number: number): void {
    const base = node * slotsPerNode
    const { numbers, entries } = this
    const place = base + position
    let i = base + this.counts[node]
    for (; i > place; i--) {
      numbers[i] = numbers[i - 1]
      entries[i] = entries[i - 1]
    }
    numbers[place] = number
    entries[place] = entry
    this.counts[node]++
  }

  /** Removes the first slot of a node. REQUIRES a slot in use. */
  removeFirstSlot(node: number): void {
    const { numbers, entries } = this
    const base = node * slotsPerNode
    const end = base + this.counts[node] - 1
    for (let i = base; i < end; i++) {
      numbers[i] = numbers[i + 1]
      entries[i] = entries[i + 1]
    }
    this.counts[node]--
  }

  /** Moves the slots `[from, count)` of a node to the start of an empty node. */
  moveSlots(node: number, from: number, target: number): void {
    const end = node * slotsPerNode + this.counts[node]
    let to = target * slotsPerNode
    for (let i = node * slotsPerNode + from; i < end; i++, to++) {
      this.numbers[to] = this.numbers[i]
      this.entries[to] = this.entries[i]
    }
    this.counts[target] = this.counts[node] - from
    this.counts[node] = from
    this.prefixLengths[target] = this.prefixLengths[node]
  }
}

/**
 * The first index of `numbers[from, to)` with a number >= `number`, or `to`. The loop has no branch
 * per step, because random keys would be mispredicted half of the time.
 */
export function lowerBound(
  numbers: Float64Array,
  from: number,
  to: number,
  number: number,
): number {
  let low = from
  let length = to - from
  if (length <= 0) return from
  while (length > 1) {
    const half = length >>> 1
    low += half & -Number(numbers[low + half - 1] < number)
    length -= half
  }
  return low + Number(numbers[low] < number)
}
