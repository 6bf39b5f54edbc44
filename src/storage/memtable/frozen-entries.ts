/**
 * The contents of a frozen memtable in a form that another thread can read without a copy.
 *
 * Invariants
 * 1. `offsets[i]` is the arena offset of entry i divided by four; keys ascend strictly with i.
 * 2. Both buffers are immutable, so any number of threads may read them.
 *
 * Failure: the buffers come from the same process and are trusted; `next` on an invalid cursor is
 * an assertion failure. Ownership: both buffers are shared; they live as long as a thread refers to
 * them.
 */
import { assert } from '../../base/assert.js'
import { compareBytes } from '../../base/bytes.js'
import { noPlainRow, type Cursor } from '../cursor/cursor.js'
import { entryHeaderBytes } from './arena.js'

/** The input of a flush job; can be sent with `postMessage`. */
export interface FrozenEntries {
  /** Entries as `[u32 key length][u32 value length][key][value]`, four-byte aligned. */
  readonly arena: SharedArrayBuffer
  /** Uint32 in machine order: arena offsets divided by four, in ascending order of keys. */
  readonly offsets: SharedArrayBuffer
  readonly entryCount: number
  /** Bytes of the arena in use; the rest is zero. */
  readonly arenaBytes: number
}

/** Number of entries that `next` prefetches into the processor's cache at a time. */
const touchedEntries = 32

/** Iterates over frozen entries in key order. Invalid until a seek. */
export class FrozenEntriesCursor implements Cursor {
  valid = false
  readonly buffer: Buffer
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  private readonly lengths: Int32Array
  private readonly offsets: Int32Array
  private readonly entryCount: number
  private index = 0
  /** Index of the entry at which `next` has to prefetch again. */
  private touchedEnd = 0
  /** @internal Keeps the compiler from dropping the reads of `touch`. */
  touched = 0

  constructor(entries: FrozenEntries) {
    this.buffer = Buffer.from(entries.arena, 0, entries.arenaBytes)
    this.lengths = new Int32Array(entries.arena, 0, entries.arenaBytes / 4)
    this.offsets = new Int32Array(entries.offsets, 0, entries.entryCount)
    this.entryCount = entries.entryCount
  }

  seek(key: Uint8Array, length: number): void {
    this.moveTo(this.lowerBound(key, length))
  }

  seekBefore(key: Uint8Array, length: number): void {
    this.moveTo(this.lowerBound(key, length) - 1)
  }

  /** Cells of a memtable are not marked. */
  plainRowEnd(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  next(): void {
    assert(this.valid, 'next needs a valid cursor')
    const index = this.index + 1
    if (index >= this.touchedEnd) {
      if (index === this.entryCount) {
        this.valid = false
        return
      }
      this.touch(index)
    }
    this.load(index)
  }

  /** Prefetches the next entries: independent reads let the processor fetch them in parallel. */
  private touch(index: number): void {
    const { offsets, lengths } = this
    const end = Math.min(index + touchedEntries, this.entryCount)
    let sum = 0
    for (let i = index; i < end; i++) sum ^= lengths[offsets[i]]
    this.touched = sum
    this.touchedEnd = end
  }

  private moveTo(index: number): void {
    this.valid = index >= 0 && index < this.entryCount
    this.touchedEnd = index + 1
    if (this.valid) this.load(index)
  }

  private load(index: number): void {
    const entry = this.offsets[index]
    const keyStart = entry * 4 + entryHeaderBytes
    const keyEnd = keyStart + this.lengths[entry]
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = keyEnd + this.lengths[entry + 1]
    this.index = index
  }

  private lowerBound(key: Uint8Array, length: number): number {
    const { buffer, lengths, offsets } = this
    if (length === 0) return 0
    let low = 0
    let high = this.entryCount
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = offsets[middle]
      const start = entry * 4 + entryHeaderBytes
      if (compareBytes(buffer, start, start + lengths[entry], key, 0, length) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
