/**
 * Nodes of the memtable's tree: all nodes of one kind live in a few parallel typed arrays, so that
 * the garbage collector sees a handful of objects however large the tree is.
 *
 * Invariants
 * 1. Node n owns the slots `[n * slotsPerNode, (n + 1) * slotsPerNode)` of `numbers` and `entries`;
 *    the first `counts[n]` are in use. Nodes are never freed and never renamed.
 * 2. Leaves have two links: the following and the preceding leaf, or -1. Inner nodes have a link
 *    per slot: the child.
 * 3. Growing replaces the arrays; nothing is changed when an allocation fails.
 *
 * Ownership: the arrays belong to the tree of one thread and are never shared.
 */

/** Most entries in a leaf and most children of an inner node; a power of two. */
export const slotsPerNode = 64

/** Numbers hold this many key bytes. */
export const numberBytes = 6

const bytesPerSlot = 12
const bytesPerNodeHeader = 8

/** All leaves, or all inner nodes, of one tree. */
export class NodeArrays {
  /** Nodes in use. */
  count: number
  /** Nodes that fit without growing. */
  capacity: number
  /** For each slot the six key bytes after the node's prefix, see `readPrefix48`. */
  numbers: Float64Array
  /** For each slot the entry number in the arena. */
  entries: Int32Array
  links: Int32Array
  /** For each node the number of slots in use. */
  counts: Int32Array
  /** For each node the number of leading key bytes that `numbers` skips. */
  prefixLengths: Int32Array
  readonly linksPerNode: number

  constructor(capacity: number, linksPerNode: number) {
    this.count = 0
    this.capacity = capacity
    this.numbers = new Float64Array(capacity * slotsPerNode)
    this.entries = new Int32Array(capacity * slotsPerNode)
    this.links = new Int32Array(capacity * linksPerNode)
    this.counts = new Int32Array(capacity)
    this.prefixLengths = new Int32Array(capacity)
    this.linksPerNode = linksPerNode
  }

  /** Bytes allocated. */
  get bytes(): number {
    return this.capacity * this.bytesPerNode
  }

  /** Bytes that one node takes. */
  get bytesPerNode(): number {
    return slotsPerNode * bytesPerSlot + this.linksPerNode * 4 + bytesPerNodeHeader
  }

  /** Makes room for `nodes` more; throws a RangeError, changing nothing, if memory is short. */
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

  /** Takes a node, empty, with prefix length 0. REQUIRES that room was reserved. */
  allocate(): number {
    return this.count++
  }

  /** Moves the slots from `position` on by one and puts an entry there. REQUIRES a free slot. */
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

  /** Takes the first slot of a node away. REQUIRES that there is one. */
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
 * The first place of `numbers[from, to)` whose number is >= `number`, or `to`. Without a branch per
 * step: random keys would be guessed wrongly every other time.
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
