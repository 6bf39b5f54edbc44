/**
 * A cursor over a memtable that may be written between two calls.
 *
 * Invariants
 * 1. While valid, and without a modification of the tree since, the current entry is in `slot`, and
 *    the views held here are the tree's current ones.
 * 2. After a modification the next move first finds the current key again. The current entry stays
 *    readable, even if a newer version has replaced it in the tree.
 *
 * Failure: never throws, except for `next` on an invalid cursor, which is an assertion failure.
 * Ownership: `buffer` is lent by the arena; a move may replace it by that of a larger arena.
 */
import { assert } from '../../base/assert.js'
import { noPlainRow, type BackwardCursor } from '../cursor/cursor.js'
import { entryHeaderBytes } from './arena.js'
import { numberBytes, slotsPerNode } from './nodes.js'
import type { EntryTree } from './tree.js'

/** Number of entries that `next` prefetches into the processor's cache at a time. */
const touchedEntries = 32

/** Number of steps since a seek after which a scan is assumed. */
const untouchedEntries = 4

/**
 * Iterates over a {@link Memtable} in key order; made by its `cursor` method. Invalid until a seek.
 */
export class MemtableCursor implements BackwardCursor {
  valid = false
  buffer: Buffer
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  /**
   * After a seek only entries that share this number of first bytes are wanted. The cursor may
   * become invalid instead of moving to another entry. 0: all entries are wanted.
   */
  rowBytes = 0
  private readonly tree: EntryTree
  private lengths: Int32Array
  private entries: Int32Array
  private modificationCount: number
  private leaf = 0
  private slot = 0
  private slotEnd = 0
  /** The slot at which `next` has to prefetch again; at most `slotEnd`. */
  private touchedEnd = 0
  /** The slot below which `previous` has to prefetch; at least the first of the leaf. */
  private touchedStart = 0
  /** @internal Keeps the compiler from dropping the reads of `touch`. */
  touched = 0

  constructor(tree: EntryTree) {
    this.buffer = tree.arena.buffer
    this.tree = tree
    this.lengths = tree.arena.lengths
    this.entries = tree.leaves.entries
    this.modificationCount = tree.modificationCount
  }

  seek(key: Uint8Array, length: number): void {
    this.tree.find(key, 0, length)
    this.takeFound()
    this.loadFound()
  }

  /** Loads the entry at the position found by the tree. */
  private loadFound(): void {
    if (this.slot < this.slotEnd) this.load(this.entries[this.slot])
    else this.enterNextLeaf()
  }

  seekBefore(key: Uint8Array, length: number): void {
    this.tree.find(key, 0, length)
    this.takeFound()
    if (this.tree.foundPosition === 0 && !this.enterPreviousLeaf()) return
    this.slot--
    this.touchedEnd = Math.min(this.slot + untouchedEntries, this.slotEnd)
    this.touchedStart = Math.max(this.slot - untouchedEntries, this.leaf * slotsPerNode)
    this.load(this.entries[this.slot])
  }

  previous(): void {
    assert(this.valid, 'previous needs a valid cursor')
    if (this.modificationCount !== this.tree.modificationCount) this.findAgain()
    if (this.slot === this.leaf * slotsPerNode && !this.enterPreviousLeaf()) return
    this.slot--
    if (this.slot < this.touchedStart) this.touchBefore()
    this.load(this.entries[this.slot])
  }

  /** Sets the slot after the last one of the previous leaf; false if there is none. */
  private enterPreviousLeaf(): boolean {
    const { counts, links } = this.tree.leaves
    let leaf = links[this.leaf * 2 + 1]
    while (leaf !== -1 && counts[leaf] === 0) leaf = links[leaf * 2 + 1]
    if (leaf === -1) {
      this.valid = false
      return false
    }
    this.leaf = leaf
    this.slotEnd = leaf * slotsPerNode + counts[leaf]
    this.slot = this.slotEnd
    this.touchedStart = this.slotEnd
    this.touchedEnd = this.slotEnd
    return true
  }

  /** As {@link touch}, for the current entry and its predecessors. */
  private touchBefore(): void {
    const { entries, lengths } = this
    const start = Math.max(this.slot + 1 - touchedEntries, this.leaf * slotsPerNode)
    let sum = 0
    for (let i = start; i <= this.slot; i++) sum ^= lengths[entries[i]]
    this.touched = sum
    this.touchedStart = start
  }

  /** Cells of a memtable are not marked. */
  plainRowEnd(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  /** As {@link plainRowEnd}. */
  plainRowBack(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  next(): void {
    assert(this.valid, 'next needs a valid cursor')
    if (this.modificationCount !== this.tree.modificationCount && !this.findAgain()) {
      this.loadFound()
      return
    }
    if (this.rowBytes > 0 && this.leavesPrefix(this.rowBytes)) {
      this.valid = false
      return
    }
    const slot = this.slot + 1
    if (slot >= this.touchedEnd) {
      if (slot >= this.slotEnd) {
        this.enterNextLeaf()
        return
      }
      this.touch(slot)
    }
    this.slot = slot
    this.load(this.entries[slot])
  }

  /**
   * Whether the next entry certainly differs from the current one in its first `bytes` bytes;
   * decided without reading the entry. REQUIRES an up-to-date position.
   */
  private leavesPrefix(bytes: number): boolean {
    const { leaves } = this.tree
    const slot = this.slot + 1
    if (slot >= this.slotEnd || leaves.prefixLengths[this.leaf] + numberBytes > bytes) return false
    return leaves.numbers[slot] !== leaves.numbers[slot - 1]
  }

  /** Prefetches the next entries: independent reads let the processor fetch them in parallel. */
  private touch(slot: number): void {
    const { entries, lengths } = this
    const end = Math.min(slot + touchedEntries, this.slotEnd)
    let sum = 0
    for (let i = slot; i < end; i++) sum ^= lengths[entries[i]]
    this.touched = sum
    this.touchedEnd = end
  }

  private load(entry: number): void {
    const { lengths } = this
    const keyStart = entry * 4 + entryHeaderBytes
    const keyEnd = keyStart + lengths[entry]
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = keyEnd + lengths[entry + 1]
  }

  private enterNextLeaf(): void {
    const { leaves } = this.tree
    let following = leaves.links[this.leaf * 2]
    while (following !== -1 && leaves.counts[following] === 0) {
      following = leaves.links[following * 2]
    }
    if (following === -1) {
      this.valid = false
      return
    }
    this.leaf = following
    this.slot = following * slotsPerNode
    this.slotEnd = this.slot + leaves.counts[following]
    this.touch(this.slot)
    this.load(this.entries[this.slot])
  }

  /** Takes over the position found by the tree, and the tree's current views. */
  private takeFound(): void {
    const { foundLeaf, foundPosition } = this.tree
    this.leaf = foundLeaf
    this.slot = foundLeaf * slotsPerNode + foundPosition
    this.takeViews()
  }

  private takeViews(): void {
    const { arena, leaves, modificationCount } = this.tree
    this.buffer = arena.buffer
    this.lengths = arena.lengths
    this.entries = leaves.entries
    this.modificationCount = modificationCount
    this.slotEnd = this.leaf * slotsPerNode + leaves.counts[this.leaf]
    this.touchedEnd = Math.min(this.slot + untouchedEntries, this.slotEnd)
    this.touchedStart = this.leaf * slotsPerNode
    this.valid = true
  }

  /**
   * Updates the position after inserts, most of which are in other leaves. False if a newer version
   * has replaced the current entry; the position is then that of the next entry.
   */
  private findAgain(): boolean {
    const { counts, entries } = this.tree.leaves
    const inLeaf = this.slot < this.leaf * slotsPerNode + counts[this.leaf]
    if (inLeaf && entries[this.slot] * 4 + entryHeaderBytes === this.keyStart) {
      this.takeViews()
      return true
    }
    const exact = this.tree.find(this.buffer, this.keyStart, this.keyEnd)
    this.takeFound()
    return exact
  }
}
