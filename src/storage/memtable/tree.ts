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
import { readPrefix48 } from '../../base/bytes.js'
import { arenaBytesMax, type EntryArena, entryOverheadBytesMax, memoryError } from './arena.js'
import { LastPlace } from './last-place.js'
import { NodeArrays, slotsPerNode } from './nodes.js'
import { findReplaced, type OverwriteRule } from './overwrite-rule.js'
import { TreeEdges } from './tree-edges.js'
import { heightMax, TreePath } from './tree-path.js'

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

  private root: number
  /** Number of levels of inner nodes above the leaves. */
  private height = 0
  private lastLeaf: number
  /** Upper bounds of the prefix lengths along the left and the right edge. */
  private leftPrefixMax = 0
  private rightPrefixMax = 0
  private newestEntry = -1
  private readonly edges: TreeEdges
  private readonly path: TreePath
  private readonly lastPlace = new LastPlace()

  constructor(arena: EntryArena) {
    this.arena = arena
    this.leaves = new NodeArrays(arena, 4, 2)
    this.inners = new NodeArrays(arena, 1, slotsPerNode)
    this.edges = new TreeEdges(arena)
    this.path = new TreePath(this.inners, this.edges)
    this.nodeBytes = this.leaves.bytes + this.inners.bytes
    this.root = this.leaves.allocate()
    this.lastLeaf = this.root
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
    const { arena, leaves, inners } = this
    if (leaves.count === leaves.capacity || inners.count + this.height >= inners.capacity) {
      this.reserveNodes(1, this.height + 1)
    }
    arena.reserve(keyEnd - keyStart + valueEnd - valueStart + entryOverheadBytesMax)
    if (this.entryCount === 0) {
      const entry = arena.append(source, keyStart, keyEnd, valueStart, valueEnd)
      this.insertFirst(entry, keyEnd - keyStart)
      return
    }
    const side = this.findPlace(source, keyStart, keyEnd)
    if (side === 0 && leaves.foundEqual) {
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
      if (side !== 0) this.path.followEdge(this.root, this.height, side)
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
      this.leaves.foundEqual = false
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
    if (old === this.edges.lastEntry) this.edges.setLast(entry)
    if (old === this.newestEntry) this.newestEntry = entry
    leaves.numberSlot(this.foundLeaf, slot % slotsPerNode)
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

  /** As the call of {@link TreeEdges}; for a key beyond an edge also sets the found position. */
  private compareEdges(source: Uint8Array, start: number, end: number): number {
    const side = this.edges.compare(source, start, end)
    if (side === 0) return 0
    const leaf = side > 0 ? this.lastLeaf : 0
    this.foundLeaf = leaf
    this.foundPosition = side > 0 ? this.leaves.counts[leaf] : 0
    return side
  }

  /** As {@link find}, for a key within the edges; records the path. */
  private descend(source: Uint8Array, start: number, end: number): boolean {
    const { inners, leaves, path, height } = this
    let node = this.root
    for (let depth = 0; depth < height; depth++) {
      const slot = inners.search(node, 1, 0, source, start, end) - 1
      path.nodes[depth] = node
      path.slots[depth] = slot
      node = inners.links[node * slotsPerNode + slot]
    }
    leaves.foundEqual = false
    this.foundLeaf = node
    this.foundPosition = leaves.search(node, 0, 1, source, start, end)
    return leaves.foundEqual
  }

  private insertFirst(entry: number, keyLength: number): void {
    this.edges.begin(entry, keyLength)
    this.leftPrefixMax = keyLength
    this.rightPrefixMax = keyLength
    this.leaves.prefixLengths[0] = keyLength
    this.leaves.insertSlot(0, 0, entry)
    this.newestEntry = entry
    this.entryCount = 1
    this.modificationCount++
  }

  /** Makes an entry the smallest (side -1) or greatest (side 1) of the tree. */
  private moveEdge(side: number, entry: number): void {
    const length = this.edges.beyondLength
    if (length < (side > 0 ? this.rightPrefixMax : this.leftPrefixMax)) {
      this.shortenPrefixes(side, length)
    }
    this.edges.move(side, entry)
  }

  /** Limits all prefix lengths along one edge to `length`. */
  private shortenPrefixes(side: number, length: number): void {
    const { inners, leaves, path } = this
    const leaf = path.followEdge(this.root, this.height, side)
    for (let depth = 0; depth < this.height; depth++) {
      const node = path.nodes[depth]
      if (inners.prefixLengths[node] > length) inners.setPrefixLength(node, length)
    }
    if (leaves.prefixLengths[leaf] > length) leaves.setPrefixLength(leaf, length)
    this.measureEdges()
  }

  /** Updates the bounds of the prefix lengths along both edges. */
  private measureEdges(): void {
    this.leftPrefixMax = this.edgePrefixMax(-1)
    this.rightPrefixMax = this.edgePrefixMax(1)
  }

  private edgePrefixMax(side: number): number {
    const leaf = this.path.followEdge(this.root, this.height, side)
    let longest = this.leaves.prefixLengths[leaf]
    for (let depth = 0; depth < this.height; depth++) {
      longest = Math.max(longest, this.inners.prefixLengths[this.path.nodes[depth]])
    }
    return longest
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
    leaves.insertSlot(target, goesRight ? position - split : position, entry)
    this.path.findFences(this.height)
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
    let node = this.path.nodes[depth]
    let slot = this.path.slots[depth] + 1
    if (inners.counts[node] === slotsPerNode) {
      this.path.findFences(depth)
      // Ascending keys leave full nodes at the right edge of the tree.
      const atEnd = slot === slotsPerNode && this.path.highFence === this.edges.lastEntry
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
    inners.insertSlot(node, slot, separator)
  }

  private growRoot(left: number, separator: number, right: number): void {
    const { inners } = this
    assert(this.height < heightMax, 'the tree of a memtable is too high')
    const root = inners.allocate()
    inners.prefixLengths[root] = this.edges.sharedLength
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
    const leftLength = this.arena.sharedKeyLength(this.path.lowFence, separator)
    if (leftLength >= nodes.prefixLengths[left] + prefixGainMin) {
      nodes.setPrefixLength(left, leftLength)
    }
    const rightLength = this.arena.sharedKeyLength(separator, this.path.highFence)
    if (rightLength >= nodes.prefixLengths[right] + prefixGainMin) {
      nodes.setPrefixLength(right, rightLength)
    }
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
