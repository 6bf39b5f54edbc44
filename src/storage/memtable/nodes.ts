/**
 * Nodes of the memtable's tree. All nodes of one kind are in a few parallel typed arrays. So the
 * garbage collector sees few objects, independent of the size of the tree.
 *
 * Invariants
 * 1. Node n owns the slots `[n * slotsPerNode, (n + 1) * slotsPerNode)` of `numbers` and `entries`;
 *    the first `counts[n]` are in use. Nodes are never freed and never renumbered.
 * 2. Leaves have two links: the next and the previous leaf, or -1. Inner nodes have a link per
 *    slot: the child.
 * 3. `numbers` holds, for each slot in use, the key bytes of its entry after the node's prefix.
 * 4. Growing replaces the arrays; a failed allocation changes nothing.
 *
 * Ownership: the arrays belong to the tree of one thread and are never shared.
 */

import { compareBytes, readPrefix48 } from '../../base/bytes.js'
import { type EntryArena, entryHeaderBytes } from './arena.js'

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
  /** Set by {@link search} if it meets an equal key; the caller resets it. */
  foundEqual = false
  readonly linksPerNode: number
  private readonly arena: EntryArena

  constructor(arena: EntryArena, capacity: number, linksPerNode: number) {
    this.arena = arena
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
    const numbers = new Float64Array(capacity * slotsPerNode)
    const entries = new Int32Array(capacity * slotsPerNode)
    const links = new Int32Array(capacity * this.linksPerNode)
    const counts = new Int32Array(capacity)
    const prefixLengths = new Int32Array(capacity)
    numbers.set(this.numbers)
    entries.set(this.entries)
    links.set(this.links)
    counts.set(this.counts)
    prefixLengths.set(this.prefixLengths)
    this.numbers = numbers
    this.entries = entries
    this.links = links
    this.counts = counts
    this.prefixLengths = prefixLengths
    this.capacity = capacity
  }

  /** Allocates an empty node with prefix length 0. REQUIRES reserved memory. */
  allocate(): number {
    return this.count++
  }

  /** Shifts the slots from `position` on by one and sets an entry there. REQUIRES a free slot. */
  insertSlot(
    node: number,
    position: number,
    entry: number,
    number = this.arena.numberOf(entry, this.prefixLengths[node]),
  ): void {
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

  /** Sets the prefix length of a node. REQUIRES that its fences share as many bytes. */
  setPrefixLength(node: number, length: number): void {
    this.prefixLengths[node] = length
    const count = this.counts[node]
    for (let i = 0; i < count; i++) this.numberSlot(node, i)
  }

  /** Sets the number of a slot from its entry. */
  numberSlot(node: number, slot: number): void {
    const place = node * slotsPerNode + slot
    this.numbers[place] = this.arena.numberOf(this.entries[place], this.prefixLengths[node])
  }

  /**
   * The first slot from `from` on before which a key belongs: the order of the key to the key of
   * that slot is below `orderMin`. REQUIRES that the key shares the prefix of the node.
   */
  search(
    node: number,
    from: number,
    orderMin: number,
    source: Uint8Array,
    start: number,
    end: number,
  ): number {
    const { numbers } = this
    const number = readPrefix48(source, start + this.prefixLengths[node], end)
    const base = node * slotsPerNode
    const last = base + this.counts[node]
    let low = lowerBound(numbers, base + from, last, number)
    if (low < last && numbers[low] === number) {
      low = this.searchTies(node, low, last, orderMin, source, start, end)
    }
    return low - base
  }

  /** As {@link search}, from the first slot on that has the number of the key. */
  private searchTies(
    node: number,
    from: number,
    last: number,
    orderMin: number,
    source: Uint8Array,
    start: number,
    end: number,
  ): number {
    const { arena, numbers, entries } = this
    const prefixLength = this.prefixLengths[node]
    // The first one usually decides: it is the only one, or the key is a newer version of it.
    let order = compareBehind(arena, entries[from], prefixLength, source, start, end)
    if (order === 0) this.foundEqual = true
    if (order < orderMin) return from
    let low = from + 1
    const number = numbers[from]
    if (low === last || numbers[low] !== number) return low
    let high = lowerBound(numbers, low, last, number + 1)
    // After the last one: rows of an index that have one value and come in ascending order.
    order = compareBehind(arena, entries[high - 1], prefixLength, source, start, end)
    if (order === 0) this.foundEqual = true
    if (order >= orderMin) return high
    high--
    while (low < high) {
      const middle = (low + high) >>> 1
      order = compareBehind(arena, entries[middle], prefixLength, source, start, end)
      if (order === 0) this.foundEqual = true
      if (order < orderMin) high = middle
      else low = middle + 1
    }
    return low
  }
}

/**
 * Compares a key with the key of an entry whose prefix and number are equal. If one key ends within
 * the number, the other continues with zeros only. Then the remaining lengths, which may be
 * negative, decide.
 */
export function compareBehind(
  { buffer, lengths }: EntryArena,
  entry: number,
  prefixLength: number,
  source: Uint8Array,
  start: number,
  end: number,
): number {
  const keyStart = entry * 4 + entryHeaderBytes
  const keyEnd = keyStart + lengths[entry]
  const skip = prefixLength + numberBytes
  return compareBytes(source, start + skip, end, buffer, keyStart + skip, keyEnd)
}

/**
 * The first index of `numbers[from, to)` with a number >= `number`, or `to`. The loop has no branch
 * per step, because random keys would be mispredicted half of the time.
 */
function lowerBound(numbers: Float64Array, from: number, to: number, number: number): number {
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
