/**
 * Merges the inputs of a compaction with a loser tree over numbers.
 *
 * All keys lie between the smallest first key and the largest last key, so they share the common
 * prefix of these two. The next six bytes of a key, read as a number, decide nearly every
 * comparison. Whole keys are compared only if the numbers are equal. A step costs one comparison
 * for each level of the tree, and only the winner's cursor is called. While successive entries come
 * from one input, a step costs a single comparison.
 *
 * Invariants
 * 1. `heads[i]` is the number of child i's key; Infinity when it has no more keys.
 * 2. `losers[1, size)` are the inner nodes of the tree: each holds the child that lost there.
 * `winner` lost nowhere. Equal keys are ordered by child number, so callers list newer inputs
 * first.
 * 3. No child but the winner has a head below `bound`.
 *
 * An error of a child is thrown; the merge cannot be used afterwards. The merge owns nothing;
 * entries are borrowed from the children.
 */
import { commonPrefixLength, compareBytes, equalBytes, readPrefix48 } from '../../base/bytes.js'
import type { RowEntries } from '../sstable/rows/row-entries.js'
import type { SsTableCursor } from '../sstable/cursor.js'

/** Bytes of a key that its head, a number, stands for. */
const headBytes = 6

/** A range of keys, both ends inclusive. */
export interface KeyRange {
  readonly firstKey: Buffer
  readonly lastKey: Buffer
}

export class InputMerge {
  private readonly children: readonly SsTableCursor[]
  private readonly prefixLength: number
  private readonly heads: Float64Array
  private readonly losers: Int32Array
  private winner = 0
  private bound = -1

  /** `ranges[i]` is the range of the keys of `children[i]`. REQUIRES at least one child. */
  constructor(children: readonly SsTableCursor[], ranges: readonly KeyRange[]) {
    this.children = children
    this.prefixLength = sharedPrefixLength(ranges)
    this.heads = new Float64Array(children.length)
    this.losers = new Int32Array(children.length)
  }

  /** Whether there is a current entry. */
  get valid(): boolean {
    return this.heads[this.winner] !== Infinity
  }

  /** The child with the current entry. REQUIRES valid. */
  get top(): SsTableCursor {
    return this.children[this.winner]
  }

  /** Moves to the first entry whose key is >= `key`. */
  seek(key: Buffer): void {
    const { children, losers } = this
    this.bound = -1
    for (let i = 0; i < children.length; i++) {
      children[i].seek(key, key.length)
      this.readHead(i)
    }
    // Each child moves up until it meets an empty node, where it waits for the child of the other
    // side.
    losers.fill(-1)
    for (let i = 0; i < children.length; i++) {
      let best = i
      let at = (i + children.length) >> 1
      for (; at > 0; at >>= 1) {
        const other = losers[at]
        if (other < 0) break
        if (this.less(other, best)) {
          losers[at] = best
          best = other
        }
      }
      if (at > 0) losers[at] = best
      else this.winner = best
    }
  }

  /**
   * Reads the plain row that begins with the current entry, if no other child has entries of the
   * row; else false, also for a row of one entry. The row with its terminator takes `rowBytes`
   * bytes. After it comes {@link passRow}, or the row is read entry by entry.
   */
  readRow(row: RowEntries, rowBytes: number): boolean {
    const { top } = this
    const end = top.plainRowEnd(Infinity, 0, rowBytes)
    return end > top.valueEnd && !this.isShared(top, rowBytes) && top.readRow(row, end)
  }

  /** Moves behind the row of {@link readRow}. */
  passRow(): void {
    this.top.passRow()
    this.next()
  }

  /** Whether another child is at an entry of the winner's row: that child lost to the winner. */
  private isShared({ buffer, keyStart }: SsTableCursor, rowBytes: number): boolean {
    const { losers, children, heads } = this
    const end = keyStart + rowBytes
    const head = readRowHead(buffer, keyStart + this.prefixLength, end)
    for (let at = (this.winner + children.length) >> 1; at > 0; at >>= 1) {
      const loser = losers[at]
      if (heads[loser] > head) continue
      const other = children[loser]
      const otherEnd = other.keyStart + rowBytes
      if (otherEnd > other.keyEnd) continue
      if (equalBytes(other.buffer, other.keyStart, otherEnd, buffer, keyStart, end)) return true
    }
    return false
  }

  /** Moves to the next entry. REQUIRES valid. */
  next(): void {
    const { losers, children, heads } = this
    const before = this.winner
    let best = before
    children[best].next()
    this.readHead(best)
    if (heads[best] < this.bound) return
    for (let at = (best + children.length) >> 1; at > 0; at >>= 1) {
      const other = losers[at]
      if (this.less(other, best)) {
        losers[at] = best
        best = other
      }
    }
    this.winner = best
    this.bound = best === before ? this.runnerUpHead() : -1
  }

  /** The smallest head apart from the winner's: that child lost to the winner itself. */
  private runnerUpHead(): number {
    const { losers, children, heads } = this
    let least = Infinity
    for (let at = (this.winner + children.length) >> 1; at > 0; at >>= 1) {
      const head = heads[losers[at]]
      if (head < least) least = head
    }
    return least
  }

  private readHead(index: number): void {
    const child = this.children[index]
    this.heads[index] = child.valid
      ? readPrefix48(child.buffer, child.keyStart + this.prefixLength, child.keyEnd)
      : Infinity
  }

  private less(a: number, b: number): boolean {
    const first = this.heads[a]
    const second = this.heads[b]
    return first === second ? this.lessOnTie(a, b) : first < second
  }

  private lessOnTie(a: number, b: number): boolean {
    if (this.heads[a] === Infinity) return a < b
    const { prefixLength } = this
    const first = this.children[a]
    const second = this.children[b]
    const order = compareBytes(
      first.buffer,
      first.keyStart + prefixLength,
      first.keyEnd,
      second.buffer,
      second.keyStart + prefixLength,
      second.keyEnd,
    )
    return order === 0 ? a < b : order < 0
  }
}

/** The largest head of a key that begins with `buffer[…, end)`, of which the head is at `at`. */
function readRowHead(buffer: Buffer, at: number, end: number): number {
  const missing = at + headBytes - end
  return readPrefix48(buffer, at, end) + (missing > 0 ? 2 ** (8 * Math.min(missing, 6)) - 1 : 0)
}

function sharedPrefixLength(ranges: readonly KeyRange[]): number {
  let first = ranges[0].firstKey
  let last = ranges[0].lastKey
  for (const { firstKey, lastKey } of ranges) {
    if (compareBytes(firstKey, 0, firstKey.length, first, 0, first.length) < 0) first = firstKey
    if (compareBytes(lastKey, 0, lastKey.length, last, 0, last.length) > 0) last = lastKey
  }
  return commonPrefixLength(first, 0, first.length, last, 0, last.length)
}
