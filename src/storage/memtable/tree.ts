/**
 * The B+-tree of a memtable: finds and orders entries of an arena by key.
 *
 * A slot holds an entry number and, as a float64, the six key bytes after the node's *prefix*.
 * Searching a node compares numbers. Full keys are compared only if numbers are equal (which can
 * also come from padding short keys with zeros), and only after the prefix.
 *
 * Invariants
 * 1. The keys below a node are between two *fences*: separators of its ancestors or, at the edges
 *    of the tree, the smallest and greatest key of all. The node's prefix length is at most the
 *    number of bytes that its fences share. So every key that can be looked up in the node shares
 *    its prefix, and the prefix itself is never compared or stored. Keys after the greatest or
 *    before the smallest key never descend.
 * 2. A key that becomes the smallest or greatest can only shorten prefixes on that edge; they are
 *    shortened before the insert.
 * 3. Inner nodes with n children use the separators of slots 1 to n - 1; a separator is <= every
 *    key below its child and > every key below the previous child. Slot 0 is unused.
 * 4. Leaf 0 is always the first leaf; a node that is split keeps the smaller keys.
 * 5. An equal key replaces the entry number in its leaf. Separators and edges may still refer to
 *    the replaced entry: its key is the same.
 * 6. A newer version may take the slot of the next older one (`OverwriteRule`). That is never the
 *    first of a leaf other than leaf 0, because the newer key is before the separator. The first
 *    one is removed instead; the separator still refers to it, so its bytes stay. Only this empties
 *    leaves.
 * 7. An insert changes nothing before all memory that it can need is allocated.
 *
 * Ownership: keys passed to a call are read during the call only. One thread uses a tree.
 */
import { assert } from '../../base/assert.js'
import { commonPrefixLength, readPrefix48 } from '../../base/bytes.js'
import {
  arenaBytesMax,
  type EntryArena,
  entryHeaderBytes,
  entryOverheadBytesMax,
  memoryError,
} from './arena.js'
import { compareBehind, LastPlace } from './last-place.js'
import { lowerBound, NodeArrays, slotsPerNode } from './nodes.js'
import { findReplaced, type OverwriteRule } from './overwrite-rule.js'

/** Maximum number of levels of inner nodes; 2^30 entries need far fewer. */
const heightMax = 24

/** A split lengthens a prefix only if it gains this number of bytes, since that reads all keys. */
const prefixGainMin = 3

export class EntryTree {
  readonly arena: EntryArena
  readonly leaves: NodeArrays
  readonly inners: NodeArrays
  /** Number of entries with different keys. */
  entryCount = 0
  /** Bytes allocated for nodes. */
  nodeBytes: number
  /** Changes with every insert; cursors compare it to check their position. */
  modificationCount = 0
  /** Result of {@link find}: the leaf. */
  foundLeaf = 0
  /** Result of {@link find}: the slot within the leaf; at the end of the tree, the leaf's count. */
  foundPosition = 0

  /** Result of {@link find}: whether the key is equal. */
  private foundEqual = false
  private root: number
  /** Number of levels of inner nodes above the leaves. */
  private height = 0
  private lastLeaf: number
  private firstEntry = 0
  private lastEntry = 0
  /**
   * Length of the common prefix of the smallest and the greatest key; the numbers are their next
   * six bytes.
   */
  private sharedLength = 0
  private firstNumber = 0
  private lastNumber = 0
  /**
   * Length of the common prefix of the key of the last {@link compareEdges} and the edge that it is
   * beyond.
   */
  private edgeLength = 0
  /** Upper bounds of the prefix lengths along the left and the right edge. */
  private leftPrefixMax = 0
  private rightPrefixMax = 0
  private newestEntry = -1
  private lowFence = 0
  private highFence = 0
  private readonly pathNodes: Int32Array
  private readonly pathSlots: Int32Array
  private readonly lastPlace = new LastPlace()

  constructor(arena: EntryArena) {
    this.arena = arena
    this.leaves = new NodeArrays(4, 2)
    this.inners = new NodeArrays(1, slotsPerNode)
    this.nodeBytes = this.leaves.bytes + this.inners.bytes
    this.root = this.leaves.allocate()
    this.lastLeaf = this.root
    this.pathNodes = new Int32Array(heightMax)
    this.pathSlots = new Int32Array(heightMax)
    this.leaves.links[0] = -1
    this.leaves.links[1] = -1
  }

  /**
   * Allocates all memory for the insert of `entries` entries with `bytes` bytes of keys and values
   * in total. Throws `ERR_TOO_LARGE` with a RangeError as cause, without a change.
   */
  reserve(entries: number, bytes: number): void {
    const arenaBytes = bytes + entries * entryOverheadBytesMax
    if (this.hasRoom(entries, arenaBytes)) return
    if (!(this.arena.bytesUsed + arenaBytes <= arenaBytesMax)) {
      throw memoryError(this.arena.bytesUsed + arenaBytes, undefined)
    }
    // An existing leaf may be split up to three times before its pieces are half full. From then on
    // every split needs inserts in proportion to the size of a node.
    const leafCount = this.leaves.count
    const slack = Math.ceil(entries / (slotsPerNode / 4)) + 2
    const leaves = Math.min(entries, 3 * leafCount + slack)
    const inners = Math.min(
      leaves * (this.height + 1),
      3 * this.inners.count + Math.ceil(leaves / (slotsPerNode / 4)) * 2 + heightMax,
    )
    this.arena.reserve(arenaBytes)
    this.reserveNodes(leaves, inners)
  }

  /** Whether there is memory even if each entry splits all nodes above it. */
  private hasRoom(entries: number, arenaBytes: number): boolean {
    const { arena, leaves, inners } = this
    return (
      arena.bytesUsed + arenaBytes <= arena.buffer.length &&
      leaves.count + entries <= leaves.capacity &&
      inners.count + entries * (this.height + 1) <= inners.capacity
    )
  }

  /**
   * Copies an entry into the arena; an equal key gets the new value. With a rule the entry may
   * replace the next older version.
   */
  insert(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    rule?: OverwriteRule,
  ): void {
    const { arena, leaves } = this
    if (
      leaves.count === leaves.capacity ||
      this.inners.count + this.height >= this.inners.capacity
    ) {
      this.reserveNodes(1, this.height + 1)
    }
    arena.reserve(keyEnd - keyStart + valueEnd - valueStart + entryOverheadBytesMax)
    if (this.entryCount === 0) {
      const entry = arena.append(source, keyStart, keyEnd, valueStart, valueEnd)
      this.insertFirst(entry, keyEnd - keyStart)
      return
    }
    const side = this.findPlace(source, keyStart, keyEnd)
    if (side === 0 && this.foundEqual) {
      const entry = arena.append(source, keyStart, keyEnd, valueStart, valueEnd)
      leaves.entries[this.foundLeaf * slotsPerNode + this.foundPosition] = entry
      this.modificationCount++
      return
    }
    this.modificationCount++
    const gone = rule === undefined ? -1 : findReplaced(this, side, source, keyStart, keyEnd, rule)
    if (gone >= 0 && Math.floor(gone / slotsPerNode) === this.foundLeaf) {
      const old = leaves.entries[gone]
      const entry = rule!.reusesMemory
        ? arena.replace(old, source, keyStart, keyEnd, valueStart, valueEnd)
        : arena.append(source, keyStart, keyEnd, valueStart, valueEnd)
      this.replaceSlot(side, gone, old, entry)
      return
    }
    const entry = arena.append(source, keyStart, keyEnd, valueStart, valueEnd)
    if (side !== 0) this.moveEdge(side, entry)
    const leaf = this.foundLeaf
    if (leaves.counts[leaf] < slotsPerNode) {
      const number = readPrefix48(source, keyStart + leaves.prefixLengths[leaf], keyEnd)
      leaves.insertSlot(leaf, this.foundPosition, entry, number)
      if (gone < 0) this.lastPlace.note(leaf, this.foundPosition)
    } else {
      if (side !== 0) this.followEdge(side)
      this.splitLeaf(leaf, this.foundPosition, entry)
    }
    this.newestEntry = entry
    if (gone >= 0) leaves.removeFirstSlot(Math.floor(gone / slotsPerNode))
    else this.entryCount++
  }

  /** Finds the position of a new key as {@link find} does; returns its side of the edges. */
  private findPlace(source: Uint8Array, start: number, end: number): number {
    const { lastPlace } = this
    const leaf = lastPlace.leafBehind(this.arena, this.leaves, source, start, end)
    if (leaf >= 0) {
      this.foundEqual = false
      this.foundLeaf = leaf
      this.foundPosition = lastPlace.positionBehind
      lastPlace.forget()
      return 0
    }
    const side = this.compareEdges(source, start, end)
    if (side === 0) this.descend(source, start, end)
    lastPlace.compare(this.foundLeaf, this.foundPosition)
    lastPlace.forget()
    return side
  }

  /** Replaces the entry `old` in its slot by `entry`, which sorts directly before `old`. */
  private replaceSlot(side: number, slot: number, old: number, entry: number): void {
    const { leaves } = this
    leaves.entries[slot] = entry
    if (side !== 0) this.moveEdge(side, entry)
    if (old === this.lastEntry) {
      this.lastEntry = entry
      this.numberEdges()
    }
    if (old === this.newestEntry) this.newestEntry = entry
    this.numberSlot(leaves, this.foundLeaf, slot % slotsPerNode)
  }

  /**
   * Finds the first entry with a key >= `source[start, end)` and sets `foundLeaf` and
   * `foundPosition`. Returns whether its key is equal.
   */
  find(source: Uint8Array, start: number, end: number): boolean {
    if (this.entryCount === 0) {
      this.foundLeaf = 0
      this.foundPosition = 0
      return false
    }
    return this.compareEdges(source, start, end) === 0 && this.descend(source, start, end)
  }

  /**
   * Whether a key is before the smallest key (-1), after the greatest (1), or within (0). In the
   * first two cases also sets `foundLeaf`, `foundPosition` and `edgeLength`.
   */
  private compareEdges(source: Uint8Array, start: number, end: number): number {
    if (this.isSurelyWithin(source, start, end)) return 0
    const { buffer, lengths } = this.arena
    const lastStart = this.lastEntry * 4 + entryHeaderBytes
    const lastEnd = lastStart + lengths[this.lastEntry]
    const shared = commonPrefixLength(source, start, end, buffer, lastStart, lastEnd)
    let byte = start + shared < end ? source[start + shared] : -1
    let edgeByte = lastStart + shared < lastEnd ? buffer[lastStart + shared] : -1
    if (byte > edgeByte) {
      this.foundLeaf = this.lastLeaf
      this.foundPosition = this.leaves.counts[this.lastLeaf]
      this.edgeLength = shared
      return 1
    }
    const firstStart = this.firstEntry * 4 + entryHeaderBytes
    const firstEnd = firstStart + lengths[this.firstEntry]
    let length = shared < this.sharedLength ? shared : this.sharedLength
    length += commonPrefixLength(source, start + length, end, buffer, firstStart + length, firstEnd)
    byte = start + length < end ? source[start + length] : -1
    edgeByte = firstStart + length < firstEnd ? buffer[firstStart + length] : -1
    if (byte >= edgeByte) return 0
    this.foundLeaf = 0
    this.foundPosition = 0
    this.edgeLength = length
    return -1
  }

  /** Fast check: the discriminating bytes of the two edges decide most comparisons. */
  private isSurelyWithin(source: Uint8Array, start: number, end: number): boolean {
    const { sharedLength } = this
    if (end - start < sharedLength) return false
    const { buffer } = this.arena
    const shift = this.lastEntry * 4 + entryHeaderBytes - start
    const sharedEnd = start + sharedLength
    for (let i = start; i < sharedEnd; i++) if (source[i] !== buffer[shift + i]) return false
    const number = readPrefix48(source, sharedEnd, end)
    return number > this.firstNumber && number < this.lastNumber
  }

  /** As {@link find}, for a key within the edges; records the path. */
  private descend(source: Uint8Array, start: number, end: number): boolean {
    const { inners, pathNodes, pathSlots } = this
    const height = this.height
    let node = this.root
    for (let depth = 0; depth < height; depth++) {
      const slot = this.findChild(node, source, start, end)
      pathNodes[depth] = node
      pathSlots[depth] = slot
      node = inners.links[node * slotsPerNode + slot]
    }
    return this.findInLeaf(node, source, start, end)
  }

  /** The slot of the child that a key belongs to. */
  private findChild(node: number, source: Uint8Array, start: number, end: number): number {
    const { numbers, counts, prefixLengths } = this.inners
    const number = readPrefix48(source, start + prefixLengths[node], end)
    const base = node * slotsPerNode
    const last = base + counts[node]
    let low = lowerBound(numbers, base + 1, last, number)
    if (low < last && numbers[low] === number) {
      low = this.findAmongTies(this.inners, node, low, 0, source, start, end)
    }
    return low - base - 1
  }

  private findInLeaf(leaf: number, source: Uint8Array, start: number, end: number): boolean {
    const { numbers, counts, prefixLengths } = this.leaves
    const number = readPrefix48(source, start + prefixLengths[leaf], end)
    const base = leaf * slotsPerNode
    const last = base + counts[leaf]
    let low = lowerBound(numbers, base, last, number)
    this.foundEqual = false
    if (low < last && numbers[low] === number) {
      low = this.findAmongTies(this.leaves, leaf, low, 1, source, start, end)
    }
    this.foundLeaf = leaf
    this.foundPosition = low - base
    return this.foundEqual
  }

  /**
   * The first position from `from` on before which the key belongs: its order to the key there is
   * below `orderMin`. REQUIRES that the number at `from` is the key's. Records whether a key was
   * equal.
   */
  private findAmongTies(
    nodes: NodeArrays,
    node: number,
    from: number,
    orderMin: number,
    source: Uint8Array,
    start: number,
    end: number,
  ): number {
    const { numbers, entries, counts, prefixLengths } = nodes
    const prefixLength = prefixLengths[node]
    // The first one usually decides: it is the only one, or the key is a newer version of it.
    let order = compareBehind(this.arena, entries[from], prefixLength, source, start, end)
    if (order === 0) this.foundEqual = true
    if (order < orderMin) return from
    let low = from + 1
    const last = node * slotsPerNode + counts[node]
    const number = numbers[from]
    if (low === last || numbers[low] !== number) return low
    let high = lowerBound(numbers, low, last, number + 1)
    // Behind the last one: rows of an index that have one value and come in ascending order.
    order = compareBehind(this.arena, entries[high - 1], prefixLength, source, start, end)
    if (order === 0) this.foundEqual = true
    if (order >= orderMin) return high
    high--
    while (low < high) {
      const middle = (low + high) >>> 1
      order = compareBehind(this.arena, entries[middle], prefixLength, source, start, end)
      if (order === 0) this.foundEqual = true
      if (order < orderMin) high = middle
      else low = middle + 1
    }
    return low
  }

  private insertFirst(entry: number, keyLength: number): void {
    this.firstEntry = entry
    this.lastEntry = entry
    this.sharedLength = keyLength
    this.numberEdges()
    this.leftPrefixMax = keyLength
    this.rightPrefixMax = keyLength
    this.leaves.prefixLengths[0] = keyLength
    this.leaves.insertSlot(0, 0, entry, 0)
    this.newestEntry = entry
    this.entryCount = 1
    this.modificationCount++
  }

  /** Makes an entry the smallest (side -1) or greatest (side 1) of the tree. */
  private moveEdge(side: number, entry: number): void {
    const length = this.edgeLength
    if (length < (side > 0 ? this.rightPrefixMax : this.leftPrefixMax)) {
      this.shortenPrefixes(side, length)
    }
    if (side > 0) this.lastEntry = entry
    else this.firstEntry = entry
    if (length < this.sharedLength) this.sharedLength = length
    this.numberEdges()
  }

  private numberEdges(): void {
    this.firstNumber = this.numberOf(this.firstEntry, this.sharedLength)
    this.lastNumber = this.numberOf(this.lastEntry, this.sharedLength)
  }

  /** Limits all prefix lengths along one edge to `length`. */
  private shortenPrefixes(side: number, length: number): void {
    const { inners, leaves } = this
    let node = this.root
    for (let depth = 0; depth < this.height; depth++) {
      if (inners.prefixLengths[node] > length) this.setPrefixLength(inners, node, length)
      node = inners.links[node * slotsPerNode + (side > 0 ? inners.counts[node] - 1 : 0)]
    }
    if (leaves.prefixLengths[node] > length) this.setPrefixLength(leaves, node, length)
    this.measureEdges()
  }

  /** Updates the bounds of the prefix lengths along both edges. */
  private measureEdges(): void {
    this.leftPrefixMax = this.edgePrefixMax(-1)
    this.rightPrefixMax = this.edgePrefixMax(1)
  }

  private edgePrefixMax(side: number): number {
    const { inners } = this
    let node = this.root
    let longest = 0
    for (let depth = 0; depth < this.height; depth++) {
      longest = Math.max(longest, inners.prefixLengths[node])
      node = inners.links[node * slotsPerNode + (side > 0 ? inners.counts[node] - 1 : 0)]
    }
    return Math.max(longest, this.leaves.prefixLengths[node])
  }

  /** Records the path to the first or the last leaf. */
  private followEdge(side: number): void {
    const { inners } = this
    let node = this.root
    for (let depth = 0; depth < this.height; depth++) {
      const slot = side > 0 ? inners.counts[node] - 1 : 0
      this.pathNodes[depth] = node
      this.pathSlots[depth] = slot
      node = inners.links[node * slotsPerNode + slot]
    }
  }

  /** Sets `lowFence` and `highFence` to the fences of the node on the path at `depth`. */
  private findFences(depth: number): void {
    const { entries, counts } = this.inners
    let low = this.firstEntry
    let high = this.lastEntry
    for (let i = 0; i < depth; i++) {
      const node = this.pathNodes[i]
      const slot = this.pathSlots[i]
      if (slot > 0) low = entries[node * slotsPerNode + slot]
      if (slot + 1 < counts[node]) high = entries[node * slotsPerNode + slot + 1]
    }
    this.lowFence = low
    this.highFence = high
  }

  /** Splits a full leaf at the end of the path, and inserts an entry. */
  private splitLeaf(leaf: number, position: number, entry: number): void {
    const { leaves } = this
    const base = leaf * slotsPerNode
    // Ascending or descending keys leave full nodes.
    let split = slotsPerNode / 2
    if (position === slotsPerNode) {
      const ascending = leaves.entries[base + slotsPerNode - 1] === this.newestEntry
      if (ascending || leaf === this.lastLeaf) split = slotsPerNode
    } else if (position === 0 && leaves.entries[base] === this.newestEntry) {
      split = 0
    }
    const separator = split === slotsPerNode ? entry : leaves.entries[base + split]
    const right = leaves.allocate()
    leaves.moveSlots(leaf, split, right)
    this.linkLeaf(leaf, right)
    const goesRight = position > split || split === slotsPerNode
    const target = goesRight ? right : leaf
    leaves.insertSlot(target, goesRight ? position - split : position, entry, 0)
    this.numberSlot(leaves, target, goesRight ? position - split : position)
    this.findFences(this.height)
    this.lengthenPrefixes(leaves, leaf, separator, right)
    this.insertChild(this.height - 1, leaf, separator, right)
    this.measureEdges()
  }

  private linkLeaf(leaf: number, right: number): void {
    const { links } = this.leaves
    const following = links[leaf * 2]
    links[leaf * 2] = right
    links[right * 2] = following
    links[right * 2 + 1] = leaf
    if (following === -1) this.lastLeaf = right
    else links[following * 2 + 1] = right
  }

  /** Inserts a new child after the one on the path at `depth`; -1: above the root. */
  private insertChild(depth: number, left: number, separator: number, right: number): void {
    const { inners } = this
    if (depth < 0) {
      this.growRoot(left, separator, right)
      return
    }
    let node = this.pathNodes[depth]
    let slot = this.pathSlots[depth] + 1
    if (inners.counts[node] === slotsPerNode) {
      this.findFences(depth)
      // Ascending keys leave full nodes at the right edge of the tree.
      const atEnd = slot === slotsPerNode && this.highFence === this.lastEntry
      const split = atEnd ? slotsPerNode : slotsPerNode / 2
      const upper = atEnd ? separator : inners.entries[node * slotsPerNode + split]
      const sibling = inners.allocate()
      for (let i = split; i < slotsPerNode; i++) {
        inners.links[sibling * slotsPerNode + i - split] = inners.links[node * slotsPerNode + i]
      }
      inners.moveSlots(node, split, sibling)
      const leftNode = node
      if (atEnd || slot > split) {
        node = sibling
        slot -= split
      }
      this.putChild(node, slot, separator, right)
      this.lengthenPrefixes(inners, leftNode, upper, sibling)
      this.insertChild(depth - 1, leftNode, upper, sibling)
    } else {
      this.putChild(node, slot, separator, right)
    }
  }

  private putChild(node: number, slot: number, separator: number, child: number): void {
    const { inners } = this
    const base = node * slotsPerNode
    const { links } = inners
    for (let i = base + inners.counts[node]; i > base + slot; i--) links[i] = links[i - 1]
    links[base + slot] = child
    inners.insertSlot(node, slot, separator, 0)
    this.numberSlot(inners, node, slot)
  }

  private growRoot(left: number, separator: number, right: number): void {
    const { inners } = this
    assert(this.height < heightMax, 'the tree of a memtable is too high')
    const root = inners.allocate()
    inners.prefixLengths[root] = this.sharedLength
    this.putChild(root, 0, separator, left)
    this.putChild(root, 1, separator, right)
    this.root = root
    this.height++
  }

  /** Lengthens the prefixes of the halves of a node by their narrower fences. */
  private lengthenPrefixes(
    nodes: NodeArrays,
    left: number,
    separator: number,
    right: number,
  ): void {
    const leftLength = this.arena.sharedKeyLength(this.lowFence, separator)
    if (leftLength >= nodes.prefixLengths[left] + prefixGainMin) {
      this.setPrefixLength(nodes, left, leftLength)
    }
    const rightLength = this.arena.sharedKeyLength(separator, this.highFence)
    if (rightLength >= nodes.prefixLengths[right] + prefixGainMin) {
      this.setPrefixLength(nodes, right, rightLength)
    }
  }

  private setPrefixLength(nodes: NodeArrays, node: number, length: number): void {
    nodes.prefixLengths[node] = length
    const count = nodes.counts[node]
    for (let i = 0; i < count; i++) this.numberSlot(nodes, node, i)
  }

  private numberSlot(nodes: NodeArrays, node: number, slot: number): void {
    const place = node * slotsPerNode + slot
    nodes.numbers[place] = this.numberOf(nodes.entries[place], nodes.prefixLengths[node])
  }

  /** The six key bytes of an entry after a prefix. */
  private numberOf(entry: number, prefixLength: number): number {
    const { buffer, lengths } = this.arena
    const start = entry * 4 + entryHeaderBytes
    return readPrefix48(buffer, start + prefixLength, start + lengths[entry])
  }

  private reserveNodes(leaves: number, inners: number): void {
    try {
      this.leaves.reserve(leaves)
      this.inners.reserve(inners)
      this.nodeBytes = this.leaves.bytes + this.inners.bytes
    } catch (error) {
      throw memoryError(this.leaves.bytes + leaves * this.leaves.bytesPerNode, error)
    }
  }
}
