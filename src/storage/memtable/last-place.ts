/**
 * Remembers the position of the entry inserted last in the tree of a memtable. The cells of a row
 * are inserted one after the other, so the next key often belongs directly after that entry. Then
 * no search of the tree is needed.
 */
import { commonPrefixLength, readPrefix48 } from '../../base/bytes.js'
import { type EntryArena, entryHeaderBytes } from './arena.js'
import { compareBehind, type NodeArrays, slotsPerNode } from './nodes.js'

/** After this many consecutive misses, as with rows of one cell, {@link LastPlace} is not used. */
const missesMax = 2

export class LastPlace {
  /** The leaf of the entry; -1: unknown. */
  private leaf = -1
  private position = 0
  /** Number of consecutive keys that did not belong after their predecessor. */
  private misses = missesMax

  /** Remembers the position of an insert. REQUIRES `forget` before slots of the leaf change. */
  note(leaf: number, position: number): void {
    this.leaf = leaf
    this.position = position
  }

  forget(): void {
    this.leaf = -1
  }

  /**
   * Compares the remembered position with the result of a search, for a key not placed by
   * {@link leafBehind}.
   */
  compare(leaf: number, position: number): void {
    if (leaf === this.leaf && position === this.position + 1) this.misses = 0
    else if (this.misses < missesMax) this.misses++
  }

  /**
   * The leaf in which a key belongs directly after the entry inserted last, at
   * {@link positionBehind}. -1 if the key belongs elsewhere, the leaf cannot decide, or the leaf is
   * full.
   */
  leafBehind(
    arena: EntryArena,
    leaves: NodeArrays,
    source: Uint8Array,
    start: number,
    end: number,
  ): number {
    const { leaf } = this
    if (leaf < 0 || this.misses === missesMax) return -1
    const count = leaves.counts[leaf]
    const slot = leaf * slotsPerNode + this.position
    if (this.position + 1 >= count || count === slotsPerNode) return -1
    const { numbers, entries } = leaves
    const { lengths, buffer } = arena
    const prefixLength = leaves.prefixLengths[leaf]
    const number = readPrefix48(source, start + prefixLength, end)
    // The neighbours' numbers exclude the key, independent of its prefix.
    if (number < numbers[slot] || number > numbers[slot + 1]) return -1
    const before = entries[slot] * 4 + entryHeaderBytes
    const beforeEnd = before + lengths[entries[slot]]
    const shared = commonPrefixLength(source, start, end, buffer, before, beforeEnd)
    if (shared < prefixLength) return -1
    const byte = start + shared < end ? source[start + shared] : -1
    const byteBefore = before + shared < beforeEnd ? buffer[before + shared] : -1
    if (byte <= byteBefore) return -1
    if (number < numbers[slot + 1]) return this.hit(leaf)
    const order = compareBehind(arena, entries[slot + 1], prefixLength, source, start, end)
    return order < 0 ? this.hit(leaf) : -1
  }

  private hit(leaf: number): number {
    this.misses = 0
    return leaf
  }

  get positionBehind(): number {
    return this.position + 1
  }
}
