/**
 * Merges sorted cursors into one (k-way, binary heap of child numbers).
 *
 * Invariants
 * 1. `heap[0, size)` holds the valid children as a min-heap by current key; equal keys are ordered
 *    by child number, so callers list newer sources first.
 * 2. The public fields mirror the child at the top, which is settled if it is a deferred one
 *    (deferred-cursor.ts).
 *
 * Failure behaviour: a child that throws `BlockMissing` leaves the merge such that the same call
 * can be repeated (see cursor.ts): `seek` starts over with all children, `next` continues with the
 * child that was being moved. Any other error leaves the cursor invalid.
 *
 * Ownership: the merge owns nothing; entries are borrowed from the children.
 */
import { assert } from '../base/assert.js'
import { compareBytes, emptyBytes, equalBytes } from '../base/bytes.js'
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
  private heap: Int32Array = new Int32Array(8)
  private size = 0
  /** Whether the heap describes where the children are. */
  private ordered = false
  /** The children that can be deferred, at their positions; empty if none can. */
  private deferring: readonly (DeferredCursor | undefined)[] = noneDeferred
  /** A move is done but for settling the child at the top. */
  private unsettled = false
  /**
   * Bytes that all valid children begin with, in `prefix`; a child that leaves them takes no part
   * any more. 0 = none.
   */
  private prefixLength = 0
  private prefix: Buffer = Buffer.allocUnsafe(64)
  /** While going backwards: the child that is mirrored, as all others stand before it. */
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
    if (this.heap.length < children.length) this.heap = new Int32Array(children.length * 2)
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
      if (this.takesPart(children[i])) this.heap[size++] = i
    }
    this.order(size)
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
    if (this.valid && this.ordered && this.compareTop(key, length) <= 0) {
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
    while (this.size > 0 && this.compareTop(key, length) < 0) {
      const child = this.children[this.heap[0]]
      child.seek(key, length)
      if (!this.takesPart(child)) this.heap[0] = this.heap[--this.size]
      if (this.size > 1) this.siftDown(0)
    }
    if (this.size > 0) this.settleTop()
  }

  /** Compares the key of the child at the top with `key`. REQUIRES size > 0. */
  private compareTop(key: Uint8Array, length: number): number {
    const top = this.children[this.heap[0]]
    return compareBytes(top.buffer, top.keyStart, top.keyEnd, key, 0, length)
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
      if (children[i].valid && (best < 0 || this.compare(i, best) > 0)) best = i
    }
    this.greatest = best
    if (best >= 0) this.mirror(children[best])
    else this.valid = false
  }

  next(): void {
    if (!this.unsettled) {
      assert(this.size > 0, 'next needs a valid merge that goes forward')
      const child = this.children[this.heap[0]]
      child.next()
      this.placeTop(child)
    }
    if (this.size === 0) this.valid = false
    else this.settleTop()
  }

  /** Restores the order after the child at the top has moved. */
  private placeTop(child: Cursor): void {
    if (!this.takesPart(child)) {
      this.size--
      this.heap[0] = this.heap[this.size]
    }
    if (this.size > 1) this.siftDown(0)
  }

  /** Lets deferred children that come to the top seek. REQUIRES size > 0. */
  private settleTop(): void {
    const { deferring } = this
    if (deferring.length > 0) {
      this.unsettled = true
      while (this.size > 0) {
        const child = deferring[this.heap[0]]
        if (child === undefined || !child.deferred) break
        child.settle()
        this.placeTop(child)
      }
      this.unsettled = false
      if (this.size === 0) {
        this.valid = false
        return
      }
    }
    this.mirror(this.children[this.heap[0]])
  }

  private mirror(child: Cursor): void {
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
    for (let i = 0; i < children.length; i++) if (children[i].valid) this.heap[size++] = i
    this.order(size)
  }

  /** Makes a heap of the first children in `heap`. */
  private order(size: number): void {
    this.size = size
    this.ordered = true
    for (let i = (size >> 1) - 1; i >= 0; i--) this.siftDown(i)
    if (size > 0) this.settleTop()
  }

  private siftDown(start: number): void {
    const heap = this.heap
    const size = this.size
    const moving = heap[start]
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && this.compare(heap[child + 1], heap[child]) < 0) child++
      if (this.compare(moving, heap[child]) <= 0) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = moving
  }

  private compare(a: number, b: number): number {
    const first = this.children[a]
    const second = this.children[b]
    const { prefixLength } = this
    const order = compareBytes(
      first.buffer,
      first.keyStart + prefixLength,
      first.keyEnd,
      second.buffer,
      second.keyStart + prefixLength,
      second.keyEnd,
    )
    return order !== 0 ? order : a - b
  }
}
