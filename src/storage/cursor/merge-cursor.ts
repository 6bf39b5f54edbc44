/**
 * Merges sorted cursors into one, with an array of child numbers sorted by the children's current
 * keys.
 *
 * A step costs one comparison while the entries come from one child; otherwise the child is
 * reinserted by binary search. Reads have few sources, for which this needs fewer comparisons than
 * a heap. The six bytes after a prefix shared by the current keys, read as one number, decide
 * nearly every comparison. The caller may give the prefix of all keys that it reads. Otherwise the
 * prefix is chosen from the current keys after some steps, and again when all keys have left it.
 *
 * Invariants
 * 1. `sorted[0, size)` holds the valid children, least current key first; equal keys are ordered by
 *    child number, so callers list newer sources first. Backwards the order is reversed.
 * 2. While `numbered`, with more than one child in `sorted`, `heads[i]` is the number of child i's
 *    current key. It is `left` if the key does not begin with the prefix; then the key is after all
 *    keys that do.
 * 3. The public fields show the entry of the first child, which is settled if it is a deferred
 *    cursor (cursor.ts).
 *
 * Failure behaviour: after `BlockMissing` from a child the same call can be repeated (see
 * cursor.ts). `seek` starts over with all children; `next` continues with the child that was being
 * moved. Any other error leaves the cursor invalid.
 *
 * Ownership: the merge owns no memory; entries are borrowed from the children.
 */
import { assert } from '../../base/assert.js'
import {
  commonPrefixLength,
  compareBytes,
  emptyBytes,
  equalBytes,
  readPrefix48,
} from '../../base/bytes.js'
import { ShownEntry, type BackwardCursor, type Cursor, type DeferredCursor } from './cursor.js'

const noneDeferred: readonly (DeferredCursor | undefined)[] = []

/** Forwards, the number of a key that has left the prefix: above all others. */
const left = 2 ** 48
/** Backwards, the number of a key that has left the prefix: below all others. */
const leftBackwards = -1

/** Number of steps since a seek after which a prefix is chosen. */
const stepsBeforePrefix = 8

/** Number of last bytes of the shared prefix that stay in the numbers, because they change soon. */
const soonBytes = 2

export class MergeCursor extends ShownEntry implements BackwardCursor {
  protected children: readonly Cursor[] = []
  protected sorted: Int32Array = new Int32Array(8)
  private heads: Float64Array = new Float64Array(8)
  /** The children of {@link placeMoved}. */
  private moved: Int32Array = new Int32Array(8)
  protected size = 0
  /** Whether {@link sorted} is in order. */
  protected ordered = false
  /** The children that can be deferred, by child number; empty if none can. */
  protected deferring: readonly (DeferredCursor | undefined)[] = noneDeferred
  /** Whether a move is complete except for settling the first child. */
  private unsettled = false
  private prefixLength = 0
  private prefix: Buffer = Buffer.allocUnsafe(64)
  /** Whether there is a prefix, so that `heads` are valid. */
  private numbered = false
  /** Number of steps without a prefix since the last seek. */
  private steps = 0
  /** Whether a child that leaves the prefix is removed from the merge. */
  private within = false
  /** Whether the last seek was backwards, so that the greatest key comes first. */
  protected backward = false

  /**
   * Replaces the children, newer sources first; the cursor is invalid until the next seek.
   * `deferring` holds those that can be deferred, by child number.
   */
  setChildren(children: readonly Cursor[], deferring = noneDeferred): void {
    this.children = children
    this.deferring = deferring
    this.unsettled = false
    this.within = false
    this.backward = false
    if (this.sorted.length < children.length) {
      this.sorted = new Int32Array(children.length * 2)
      this.heads = new Float64Array(children.length * 2)
      this.moved = new Int32Array(children.length * 2)
    }
    this.size = 0
    this.ordered = false
    this.valid = false
    this.buffer = emptyBytes
  }

  /**
   * Begins with children that are positioned already, for a caller that only reads entries that
   * start with `key[0, length)`: other children are left out, and the cursor is invalid if none
   * remains.
   */
  startWithin(key: Uint8Array, length: number): void {
    if (this.prefix.length < length) this.prefix = Buffer.allocUnsafe(2 * length)
    const { children, prefix } = this
    for (let i = 0; i < length; i++) prefix[i] = key[i]
    this.prefixLength = length
    this.within = true
    this.numbered = true
    this.backward = false
    this.unsettled = false
    this.valid = false
    let size = 0
    for (let i = 0; i < children.length; i++) {
      if (this.takesPart(children[i])) this.sorted[size++] = i
    }
    this.sort(size)
  }

  /** Whether a child has a wanted entry. */
  private takesPart(child: Cursor): boolean {
    return child.valid && (!this.within || this.hasPrefix(child))
  }

  private hasPrefix({ buffer, keyStart, keyEnd }: Cursor): boolean {
    const { prefixLength } = this
    const end = keyStart + prefixLength
    return end <= keyEnd && equalBytes(buffer, keyStart, end, this.prefix, 0, prefixLength)
  }

  seek(key: Uint8Array, length: number): void {
    this.unsettled = false
    if (this.valid && this.ordered && !this.backward && this.compareFirst(key, length) <= 0) {
      this.seekForward(key, length)
      return
    }
    this.valid = false
    const children = this.children
    for (let i = 0; i < children.length; i++) children[i].seek(key, length)
    this.rebuild(false)
  }

  /** Moves only the children before the key. */
  private seekForward(key: Uint8Array, length: number): void {
    // If a child throws, the repeated call starts over with all children.
    this.valid = false
    while (this.size > 0 && this.compareFirst(key, length) < 0) {
      const child = this.children[this.sorted[0]]
      child.seek(key, length)
      this.placeFirst(child)
    }
    if (this.size > 0) this.settleFirst()
  }

  /** Compares the key of the first child with `key`. REQUIRES size > 0. */
  private compareFirst(key: Uint8Array, length: number): number {
    const first = this.children[this.sorted[0]]
    return compareBytes(first.buffer, first.keyStart, first.keyEnd, key, 0, length)
  }

  seekBefore(key: Uint8Array, length: number): void {
    this.valid = false
    this.ordered = false
    this.unsettled = false
    const children = this.children
    for (let i = 0; i < children.length; i++) children[i].seekBefore(key, length)
    this.rebuild(true)
  }

  /** See {@link BackwardCursor}. REQUIRES that all children are such cursors. */
  previous(): void {
    assert(this.backward && this.size > 0, 'previous follows seekBefore or previous')
    const child = this.children[this.sorted[0]] as BackwardCursor
    child.previous()
    this.placeFirst(child)
    if (this.size === 0) this.valid = false
    else this.showEntryOf(this.children[this.sorted[0]])
  }

  next(): void {
    this.nextEntry()
  }

  /** As {@link next}, for subclasses: V8 inlines it, but not a call of `super`. */
  protected nextEntry(): void {
    if (!this.unsettled) {
      assert(this.size > 0 && !this.backward, 'next needs a valid merge that goes forward')
      const child = this.children[this.sorted[0]]
      child.next()
      this.placeFirst(child)
    }
    if (this.size === 0) this.valid = false
    else this.settleFirst()
  }

  /** Restores the order after moves of the first `count` children. */
  protected placeMoved(count: number): void {
    const { children, sorted, moved } = this
    const rest = this.size - count
    for (let i = 0; i < count; i++) moved[i] = sorted[i]
    for (let i = 0; i < rest; i++) sorted[i] = sorted[count + i]
    this.size = rest
    for (let i = 0; i < count; i++) {
      const child = moved[i]
      if (!this.takesPart(children[child])) continue
      if (this.numbered) this.readHead(child)
      let at = this.size++
      for (; at > 0 && this.isBefore(child, sorted[at - 1]); at--) sorted[at] = sorted[at - 1]
      sorted[at] = child
    }
    if (this.size === 0) {
      this.valid = false
      return
    }
    const choosesPrefix = !this.numbered && ++this.steps === stepsBeforePrefix
    if (choosesPrefix || this.hasLeft(sorted[0])) this.choosePrefix()
    this.showEntryOf(children[sorted[0]])
  }

  /** Restores the order after a move of the first child. */
  private placeFirst(child: Cursor): void {
    const { sorted, size } = this
    const moved = sorted[0]
    if (!this.takesPart(child)) {
      this.size = size - 1
      for (let i = 1; i < size; i++) sorted[i - 1] = sorted[i]
      return
    }
    if (size === 1) return
    if (this.numbered) this.readHead(moved)
    else if (++this.steps === stepsBeforePrefix) this.choosePrefix()
    if (this.isBefore(moved, sorted[1])) {
      if (this.hasLeft(moved)) this.choosePrefix()
      return
    }
    let low = 2
    let high = size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.isBefore(sorted[middle], moved)) low = middle + 1
      else high = middle
    }
    for (let i = 1; i < low; i++) sorted[i - 1] = sorted[i]
    sorted[low - 1] = moved
    if (this.hasLeft(sorted[0])) this.choosePrefix()
  }

  /** Settles deferred children while one comes first. REQUIRES size > 0. */
  private settleFirst(): void {
    const { deferring } = this
    if (deferring.length > 0) {
      this.unsettled = true
      while (this.size > 0) {
        const child = deferring[this.sorted[0]]
        if (child === undefined || !child.deferred) break
        child.settle()
        this.placeFirst(child)
      }
      this.unsettled = false
      if (this.size === 0) {
        this.valid = false
        return
      }
    }
    this.showEntryOf(this.children[this.sorted[0]])
  }

  private rebuild(backward: boolean): void {
    const { children, sorted } = this
    this.within = false
    this.numbered = false
    this.steps = 0
    this.backward = backward
    let size = 0
    for (let i = 0; i < children.length; i++) if (children[i].valid) sorted[size++] = i
    this.sort(size)
  }

  /** Chooses the bytes shared by the current keys as the prefix, and computes the numbers. */
  private choosePrefix(): void {
    const { children, sorted, size } = this
    const { buffer, keyStart, keyEnd } = children[sorted[0]]
    let end = keyEnd
    for (let i = 1; i < size; i++) {
      const child = children[sorted[i]]
      const { keyStart: start } = child
      end = keyStart + commonPrefixLength(buffer, keyStart, end, child.buffer, start, child.keyEnd)
    }
    const length = Math.max(0, end - keyStart - soonBytes)
    if (this.prefix.length < length) this.prefix = Buffer.allocUnsafe(2 * length)
    const { prefix } = this
    for (let i = 0; i < length; i++) prefix[i] = buffer[keyStart + i]
    this.prefixLength = length
    this.numbered = true
    for (let i = 0; i < size; i++) this.readHead(sorted[i])
  }

  /** Sorts the first children in `sorted`, which are in order of child number. */
  private sort(size: number): void {
    const { sorted } = this
    this.size = size
    this.ordered = true
    for (let i = 0; i < size; i++) {
      const child = sorted[i]
      if (this.within) this.readHead(child)
      let at = i
      for (; at > 0 && this.isBefore(child, sorted[at - 1]); at--) sorted[at] = sorted[at - 1]
      sorted[at] = child
    }
    if (size > 0) this.settleFirst()
  }

  private readHead(index: number): void {
    const child = this.children[index]
    const { buffer, keyStart, keyEnd } = child
    if (this.within || this.hasPrefix(child)) {
      this.heads[index] = readPrefix48(buffer, keyStart + this.prefixLength, keyEnd)
    } else this.heads[index] = this.backward ? leftBackwards : left
  }

  /** Whether a child has left the prefix. */
  private hasLeft(index: number): boolean {
    if (!this.numbered) return false
    const head = this.heads[index]
    return head === left || head === leftBackwards
  }

  /** Whether a child precedes another one in the order of {@link sorted}. */
  private isBefore(a: number, b: number): boolean {
    const { heads, backward } = this
    if (this.numbered && heads[a] !== heads[b]) return heads[a] < heads[b] !== backward
    const order = this.compareKeys(a, b)
    return (order === 0 ? a < b : order < 0) !== backward
  }

  /** Compares the current keys of two children with equal numbers, or without numbers. */
  private compareKeys(a: number, b: number): number {
    const first = this.children[a]
    const second = this.children[b]
    const prefixLength = !this.numbered || this.hasLeft(a) ? 0 : this.prefixLength
    return compareBytes(
      first.buffer,
      first.keyStart + prefixLength,
      first.keyEnd,
      second.buffer,
      second.keyStart + prefixLength,
      second.keyEnd,
    )
  }
}
