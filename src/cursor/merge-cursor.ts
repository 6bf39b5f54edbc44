/**
 * Merges sorted cursors into one: the numbers of the children lie sorted by their current keys.
 *
 * A step costs one comparison while the entries come from one child; else the child finds its new
 * place by binary search. Reads have few sources, and then this takes fewer comparisons than a
 * heap. Where all keys share a known prefix, the next six bytes, read as one number, decide nearly
 * every comparison.
 *
 * Invariants
 * 1. `sorted[0, size)` holds the valid children, least current key first; equal keys are ordered by
 *    child number, so callers list newer sources first.
 * 2. With a prefix, `heads[i]` is the number of child i's current key.
 * 3. The public fields show the entry of the first child, which is settled if it is a deferred one
 *    (deferred-cursor.ts).
 *
 * Failure behaviour: a child that throws `BlockMissing` leaves the merge such that the same call
 * can be repeated (see cursor.ts): `seek` starts over with all children, `next` continues with the
 * child that was being moved. Any other error leaves the cursor invalid.
 *
 * Ownership: the merge owns nothing; entries are borrowed from the children.
 */
import { assert } from '../base/assert.js'
import { compareBytes, emptyBytes, equalBytes, readPrefix48 } from '../base/bytes.js'
import type { BackwardCursor, Cursor } from './cursor.js'
import type { DeferredCursor } from './deferred-cursor.js'

const noneDeferred: readonly (DeferredCursor | undefined)[] = []

export class MergeCursor implements BackwardCursor {
  valid = false
  buffer: Buffer = emptyBytes
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  private children: readonly Cursor[] = []
  private sorted: Int32Array = new Int32Array(8)
  private heads: Float64Array = new Float64Array(8)
  private size = 0
  /** Whether {@link sorted} describes where the children are. */
  private ordered = false
  /** The children that can be deferred, at their positions; empty if none can. */
  private deferring: readonly (DeferredCursor | undefined)[] = noneDeferred
  /** A move is done but for settling the first child. */
  private unsettled = false
  /**
   * Bytes that all valid children begin with, in `prefix`; a child that leaves them takes no part
   * any more. 0 = none.
   */
  private prefixLength = 0
  private prefix: Buffer = Buffer.allocUnsafe(64)
  /** While going backwards: the child whose entry is shown, as all others stand before it. */
  private greatest = -1

  /**
   * Replaces the children; the cursor is invalid until the next seek. Newer sources come first.
   * `deferring` names those that can be deferred, at their positions.
   */
  setChildren(children: readonly Cursor[], deferring = noneDeferred): void {
    this.children = children
    this.deferring = deferring
    this.unsettled = false
    this.prefixLength = 0
    this.greatest = -1
    if (this.sorted.length < children.length) {
      this.sorted = new Int32Array(children.length * 2)
      this.heads = new Float64Array(children.length * 2)
    }
    this.size = 0
    this.ordered = false
    this.valid = false
    this.buffer = emptyBytes
  }

  /**
   * As {@link seek} for a caller that reads no entry behind those that start with `key[0, length)`:
   * children without one take no part, and the cursor is invalid if there is none at all.
   */
  seekWithin(key: Uint8Array, length: number): void {
    const children = this.children
    this.unsettled = false
    this.valid = false
    for (let i = 0; i < children.length; i++) children[i].seek(key, length)
    this.startWithin(key, length)
  }

  /** As {@link seekWithin}, with children that have done the seek already. */
  startWithin(key: Uint8Array, length: number): void {
    if (this.prefix.length < length) this.prefix = Buffer.allocUnsafe(2 * length)
    const { children, prefix } = this
    for (let i = 0; i < length; i++) prefix[i] = key[i]
    this.prefixLength = length
    this.unsettled = false
    this.valid = false
    let size = 0
    for (let i = 0; i < children.length; i++) {
      if (this.takesPart(children[i])) this.sorted[size++] = i
    }
    this.sort(size)
  }

  /** Whether a child has an entry that is asked for. */
  private takesPart({ valid, buffer, keyStart, keyEnd }: Cursor): boolean {
    if (!valid) return false
    const { prefixLength } = this
    if (prefixLength === 0) return true
    const end = keyStart + prefixLength
    return end <= keyEnd && equalBytes(buffer, keyStart, end, this.prefix, 0, prefixLength)
  }

  seek(key: Uint8Array, length: number): void {
    this.unsettled = false
    this.greatest = -1
    if (this.valid && this.ordered && this.compareFirst(key, length) <= 0) {
      this.seekForward(key, length)
      return
    }
    this.valid = false
    this.prefixLength = 0
    const children = this.children
    for (let i = 0; i < children.length; i++) children[i].seek(key, length)
    this.rebuild()
  }

  /** Moves only the children that are behind; the others stay where they are. */
  private seekForward(key: Uint8Array, length: number): void {
    // If a child throws, the repeated call starts over with all of them.
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

  /** Moves to the last entry before the key; afterwards only `seek` and `seekBefore` may follow. */
  seekBefore(key: Uint8Array, length: number): void {
    this.valid = false
    this.unsettled = false
    this.prefixLength = 0
    const children = this.children
    for (let i = 0; i < children.length; i++) children[i].seekBefore(key, length)
    this.size = 0
    this.ordered = false
    this.chooseGreatest()
  }

  /** See {@link BackwardCursor}; the children have to be such cursors. */
  previous(): void {
    assert(this.greatest >= 0, 'previous follows seekBefore or previous')
    const child = this.children[this.greatest] as BackwardCursor
    child.previous()
    this.chooseGreatest()
  }

  private chooseGreatest(): void {
    const children = this.children
    let best = -1
    for (let i = 0; i < children.length; i++) {
      if (children[i].valid && (best < 0 || this.compareKeys(i, best) >= 0)) best = i
    }
    this.greatest = best
    if (best >= 0) this.showEntryOf(children[best])
    else this.valid = false
  }

  next(): void {
    if (!this.unsettled) {
      assert(this.size > 0, 'next needs a valid merge that goes forward')
      const child = this.children[this.sorted[0]]
      child.next()
      this.placeFirst(child)
    }
    if (this.size === 0) this.valid = false
    else this.settleFirst()
  }

  /** Restores the order after the first child has moved. */
  private placeFirst(child: Cursor): void {
    const { sorted, size } = this
    const moved = sorted[0]
    if (!this.takesPart(child)) {
      this.size = size - 1
      for (let i = 1; i < size; i++) sorted[i - 1] = sorted[i]
      return
    }
    this.readHead(moved)
    if (size === 1 || this.isBefore(moved, sorted[1])) return
    let low = 2
    let high = size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.isBefore(sorted[middle], moved)) low = middle + 1
      else high = middle
    }
    for (let i = 1; i < low; i++) sorted[i - 1] = sorted[i]
    sorted[low - 1] = moved
  }

  /** Lets deferred children that come first seek. REQUIRES size > 0. */
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

  private showEntryOf(child: Cursor): void {
    this.buffer = child.buffer
    this.keyStart = child.keyStart
    this.keyEnd = child.keyEnd
    this.valueStart = child.valueStart
    this.valueEnd = child.valueEnd
    this.valid = true
  }

  private rebuild(): void {
    const children = this.children
    let size = 0
    for (let i = 0; i < children.length; i++) if (children[i].valid) this.sorted[size++] = i
    this.sort(size)
  }

  /** Sorts the first children in `sorted`, which come by number. */
  private sort(size: number): void {
    const { sorted } = this
    this.size = size
    this.ordered = true
    for (let i = 0; i < size; i++) {
      const child = sorted[i]
      this.readHead(child)
      let at = i
      for (; at > 0 && this.isBefore(child, sorted[at - 1]); at--) sorted[at] = sorted[at - 1]
      sorted[at] = child
    }
    if (size > 0) this.settleFirst()
  }

  private readHead(index: number): void {
    const { prefixLength } = this
    if (prefixLength === 0) return
    const { buffer, keyStart, keyEnd } = this.children[index]
    this.heads[index] = readPrefix48(buffer, keyStart + prefixLength, keyEnd)
  }

  private isBefore(a: number, b: number): boolean {
    if (this.prefixLength > 0) {
      const { heads } = this
      if (heads[a] !== heads[b]) return heads[a] < heads[b]
    }
    const order = this.compareKeys(a, b)
    return order === 0 ? a < b : order < 0
  }

  /** Compares the current keys of two children, of which the bytes of the prefix are equal. */
  private compareKeys(a: number, b: number): number {
    const first = this.children[a]
    const second = this.children[b]
    const { prefixLength } = this
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
