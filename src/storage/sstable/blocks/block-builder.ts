/**
 * Builds the payloads of data blocks. See FORMAT.md, "Data block".
 *
 * Ownership: added bytes are copied. A finished payload lies in memory of the builder until the
 * next block is begun.
 */
import { assert } from '../../../base/assert.js'
import { commonPrefixLength, copySharedBytes, equalBytes } from '../../../base/bytes.js'
import { varintLength, writeVarint } from '../../../base/varint.js'
import { keySuffixBytes, terminatorBytes } from '../../cell/cell-key.js'
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
import { copyWords, wordCopyBytesMax, wordSlackBytes } from './block-memory.js'
import type { RowEntries } from '../rows/row-entries.js'

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
  /** End of the key of the last row entry. */
  private rowEnd = 0
  /** The last key is `lastKey[0, lastKeyBytes)`. */
  private lastKey: Buffer = Buffer.allocUnsafeSlow(256)
  private lastKeyWords = new DataView(this.lastKey.buffer)
  private lastKeyBytes = 0

  /** Size of the payload if it were finished now. */
  get payloadBytes(): number {
    return this.sizeWith(0, 0)
  }

  /**
   * Size of the payload after adding an entry with these lengths. `rowBytes` as in {@link add}; the
   * suffix counts.
   */
  sizeAfter(keyLength: number, valueLength: number, rowBytes: number): number {
    const header = varintLength(keyLength) + varintLength(valueLength)
    return this.sizeWith(header + keyLength - rowBytes + valueLength, 1)
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
    const { lastKey, lastKeyBytes } = this
    const whole = words === undefined ? 0 : this.sharedWords(words, start, end)
    const shared =
      whole + commonPrefixLength(lastKey, whole, lastKeyBytes, source, start + whole, end)
    const at = start + shared
    if (at === end) return -1
    return shared === lastKeyBytes || lastKey[shared] < source[at] ? shared : -1
  }

  /** Length of the common prefix of the two keys in whole words of four bytes. */
  private sharedWords(words: DataView, start: number, end: number): number {
    const { lastKeyWords } = this
    const limit = Math.min(end - start, this.lastKeyBytes) - 4
    let shared = 0
    while (
      shared <= limit &&
      lastKeyWords.getInt32(shared, true) === words.getInt32(start + shared, true)
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
    return Buffer.from(this.lastKey.subarray(0, this.lastKeyBytes))
  }

  /**
   * Appends a copy of an entry. REQUIRES a key greater than the last. `words` as in
   * `SsTableWriter.add`. `rowBytes`: length of the row with its terminator, if the entry goes on
   * with the row of the last one in the block; else 0.
   */
  add(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    words?: DataView,
    rowBytes = 0,
  ): void {
    const valueLength = valueEnd - valueStart
    const needed = this.entryBytes + keyEnd - keyStart + valueLength + 10 + wordSlackBytes
    if (needed > this.buffer.length) this.grow(needed)
    if (this.count === this.slots.length) this.slots = growNumbers(this.slots, this.count + 1)
    this.slots[this.count++] = this.entryBytes
    this.keepKey(source, keyStart, keyEnd, words)
    if (rowBytes === 0) {
      const at = this.addLengths(keyEnd - keyStart, valueLength)
      this.rowEnd = at + keyEnd - keyStart
      this.append(source, keyStart, keyEnd, words, at)
    } else {
      const suffix = keyEnd - keySuffixBytes
      const column = keyStart + rowBytes
      const columnEnd = suffix - terminatorBytes
      const isOwn = !this.hasRowSuffix(source, suffix, keyEnd)
      const at = this.addLengths(2 * (columnEnd - column) + (isOwn ? 1 : 0), valueLength)
      this.append(source, column, columnEnd, words, at)
      if (isOwn) this.append(source, suffix, keyEnd, words, this.entryBytes)
    }
    this.append(source, valueStart, valueEnd, words, this.entryBytes)
  }

  private addLengths(first: number, second: number): number {
    const { buffer } = this
    let at = this.entryBytes
    if (first < 0x80) buffer[at++] = first
    else at = writeVarint(buffer, at, first)
    if (second < 0x80) buffer[at++] = second
    else at = writeVarint(buffer, at, second)
    return at
  }

  /** Appends bytes at `at`, the end of what the entry has so far. */
  private append(
    source: Buffer,
    start: number,
    end: number,
    words: DataView | undefined,
    at: number,
  ): void {
    if (words !== undefined && end - start <= wordCopyBytesMax) {
      copyWords(words, start, end, this.words, at)
    } else copySharedBytes(source, start, end, this.buffer, at)
    this.entryBytes = at + end - start
  }

  /** Whether the key of the row entry has this suffix. */
  private hasRowSuffix(source: Buffer, suffix: number, keyEnd: number): boolean {
    const { buffer, rowEnd } = this
    return equalBytes(source, suffix, keyEnd, buffer, rowEnd - keySuffixBytes, rowEnd)
  }

  private keepKey(source: Buffer, start: number, end: number, words?: DataView): void {
    const bytes = end - start
    this.growKey(bytes)
    if (words !== undefined && bytes <= wordCopyBytesMax) {
      copyWords(words, start, end, this.lastKeyWords, 0)
    } else source.copy(this.lastKey, 0, start, end)
    this.lastKeyBytes = bytes
  }

  private growKey(bytes: number): void {
    if (bytes + wordSlackBytes <= this.lastKey.length) return
    this.lastKey = Buffer.allocUnsafeSlow(2 * bytes + wordSlackBytes)
    this.lastKeyWords = new DataView(this.lastKey.buffer)
  }

  /** Appends a copy of a plain row, and marks it. REQUIRES keys greater than the last. */
  addRow({ buffer, start, end, count: cells, starts, walk }: RowEntries): void {
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
    this.growKey(walk.keyBytes)
    if (cells > 1) this.lastKeyBytes = walk.writeKey(this.lastKey, 0)
    else this.keepKey(buffer, walk.keyStart, walk.keyEnd)
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
