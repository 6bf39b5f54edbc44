/**
 * Builds the payloads of data blocks. See FORMAT.md, "Data block".
 *
 * Ownership: added bytes are copied. A finished payload lies in memory of the builder until the
 * next block is begun.
 */
import { assert } from '../../../base/assert.js'
import { commonPrefixLength, copySharedBytes } from '../../../base/bytes.js'
import { varintLength, writeVarint } from '../../../base/varint.js'
import {
  beginsRowMark,
  narrowOffsetBits,
  narrowOffsetMax,
  plainRowMark,
  wideOffsetBits,
  wideOffsetMax,
  wideSlotsFlag,
} from '../format.js'
import { growBuffer, growNumbers } from '../grow.js'
import { wordSlackBytes } from './block-memory.js'
import type { RowEntries } from './row-entries.js'

/** Builds successive blocks in the same memory. */
export class BlockBuilder {
  /** @internal The payload so far; after {@link finish}, the whole payload. */
  buffer: Buffer = Buffer.allocUnsafeSlow(32 * 1024)
  /** Number of entries in the open block. */
  count = 0
  /** Size of the entries in the open block, without slots. */
  entryBytes = 0
  private words = new DataView(this.buffer.buffer)
  private slots = new Uint32Array(512)
  private lastKeyStart = 0
  private lastKeyEnd = 0

  /** Size of the payload if it were finished now. */
  get payloadBytes(): number {
    return this.sizeWith(0, 0)
  }

  /** Size of the payload after adding an entry with these lengths. */
  sizeAfter(keyLength: number, valueLength: number): number {
    const header = varintLength(keyLength) + varintLength(valueLength)
    return this.sizeWith(header + keyLength + valueLength, 1)
  }

  /** Size of the payload after adding this number of entries, of so many bytes together. */
  sizeWith(moreBytes: number, moreEntries: number): number {
    const entryBytes = this.entryBytes + moreBytes
    const slotBytes = entryBytes > narrowOffsetMax ? 4 : 2
    return entryBytes + (this.count + moreEntries) * slotBytes + 4
  }

  /**
   * Length of the common prefix of the last key and `source[start, end)`; -1 if the latter is not
   * greater. REQUIRES count > 0. `words` as in `SsTableWriter.add`.
   */
  sharedWithLastKey(source: Buffer, start: number, end: number, words?: DataView): number {
    const { buffer, lastKeyStart, lastKeyEnd } = this
    const whole = words === undefined ? 0 : this.sharedWords(words, start, end)
    const shared =
      whole +
      commonPrefixLength(buffer, lastKeyStart + whole, lastKeyEnd, source, start + whole, end)
    const at = start + shared
    if (at === end) return -1
    const lastAt = lastKeyStart + shared
    return lastAt === lastKeyEnd || buffer[lastAt] < source[at] ? shared : -1
  }

  /** Length of the common prefix of the two keys in whole words of four bytes. */
  private sharedWords(words: DataView, start: number, end: number): number {
    const { lastKeyStart } = this
    const own = this.words
    const limit = Math.min(end - start, this.lastKeyEnd - lastKeyStart) - 4
    let shared = 0
    while (
      shared <= limit &&
      own.getInt32(lastKeyStart + shared, true) === words.getInt32(start + shared, true)
    ) {
      shared += 4
    }
    return shared
  }

  /** Marks an entry ({@link rowMarks}). REQUIRES its slot. */
  mark(slot: number, marks: number): void {
    this.slots[slot] |= marks << wideOffsetBits
  }

  /** A copy of the last key added. REQUIRES count > 0. */
  copyLastKey(): Buffer {
    return Buffer.from(this.buffer.subarray(this.lastKeyStart, this.lastKeyEnd))
  }

  /**
   * Appends a copy of an entry. REQUIRES a key greater than the last. `words` as in
   * `SsTableWriter.add`.
   */
  add(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    words?: DataView,
  ): void {
    const keyLength = keyEnd - keyStart
    const valueLength = valueEnd - valueStart
    let at = this.entryBytes
    const needed = at + keyLength + valueLength + 10 + wordSlackBytes
    if (needed > this.buffer.length) this.grow(needed)
    if (this.count === this.slots.length) this.slots = growNumbers(this.slots, this.count + 1)
    const target = this.buffer
    this.slots[this.count++] = at
    if (keyLength < 0x80) target[at++] = keyLength
    else at = writeVarint(target, at, keyLength)
    if (valueLength < 0x80) target[at++] = valueLength
    else at = writeVarint(target, at, valueLength)
    this.lastKeyStart = at
    this.lastKeyEnd = at + keyLength
    if (valueStart === keyEnd) {
      if (words !== undefined && valueEnd - keyStart <= wordCopyBytesMax) {
        copyWords(words, keyStart, valueEnd, this.words, at)
      } else {
        copySharedBytes(source, keyStart, valueEnd, target, at)
      }
    } else {
      source.copy(target, at, keyStart, keyEnd)
      source.copy(target, at + keyLength, valueStart, valueEnd)
    }
    this.entryBytes = at + keyLength + valueLength
  }

  /** Appends a copy of a plain row, and marks it. REQUIRES keys greater than the last. */
  addRow({ buffer, start, end, count: cells, starts, keyStart, keyEnd }: RowEntries): void {
    const { count, entryBytes } = this
    const needed = entryBytes + end - start + wordSlackBytes
    if (needed > this.buffer.length) this.grow(needed)
    if (count + cells > this.slots.length) this.slots = growNumbers(this.slots, count + cells)
    const { slots } = this
    const shift = entryBytes - start
    for (let i = 0; i < cells; i++) slots[count + i] = starts[i] + shift
    copySharedBytes(buffer, start, end, this.buffer, entryBytes)
    this.count = count + cells
    this.entryBytes = entryBytes + end - start
    this.lastKeyStart = keyStart + shift
    this.lastKeyEnd = keyEnd + shift
    this.mark(count, beginsRowMark | plainRowMark)
  }

  /**
   * Appends slots and count; returns the payload length. The payload is `buffer[0, length)` until
   * {@link reset}.
   */
  finish(): number {
    const { count, slots } = this
    assert(count > 0, 'block: no entry')
    const wide = this.entryBytes > narrowOffsetMax
    const length = this.payloadBytes
    let at = this.entryBytes
    if (length > this.buffer.length) this.grow(length)
    const target = this.buffer
    for (let i = 0; i < count; i++) {
      const offset = slots[i] & wideOffsetMax
      const marks = slots[i] >>> wideOffsetBits
      if (wide) at = target.writeUInt32LE(slots[i], at)
      else at = target.writeUInt16LE(offset | (marks << narrowOffsetBits), at)
    }
    target.writeUInt32LE((wide ? count | wideSlotsFlag : count) >>> 0, at)
    return length
  }

  /** Starts a new block in the same memory. */
  reset(): void {
    this.count = 0
    this.entryBytes = 0
  }

  private grow(needed: number): void {
    this.buffer = growBuffer(this.buffer, this.entryBytes, needed)
    this.words = new DataView(this.buffer.buffer)
  }
}

/** Up to this length a loop over words is faster than `Buffer.copy`. */
const wordCopyBytesMax = 256

/** Copies `source[start, end)` and up to seven more bytes to `target[offset, …)`. */
function copyWords(
  source: DataView,
  start: number,
  end: number,
  target: DataView,
  offset: number,
): void {
  for (let from = start, to = offset; from < end; from += 8, to += 8) {
    target.setInt32(to, source.getInt32(from, true), true)
    target.setInt32(to + 4, source.getInt32(from + 4, true), true)
  }
}
