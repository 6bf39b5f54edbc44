/**
 * Walks over the adjacent entries of one row, in the memory of a block or copied from there
 * (FORMAT.md, "Data block"). The first one is a row entry, which has the whole key. The others are
 * column entries: their keys are put together from the first key and the bytes of their own.
 *
 * Failure behaviour: lengths are compared with the end of the range before use. At lengths that do
 * not lead to the end the walk stops, and {@link RowWalk.isComplete} is false.
 */
import { copyBytes, copySharedBytes, emptyBytes } from '../../../base/bytes.js'
import { readVarint, varintLength } from '../../../base/varint.js'
import { copyWords, wordCopyBytesMax, wordSlackBytes } from '../blocks/block-memory.js'
import { keySuffixBytes, rowEndOf, terminatorBytes, writeTerminator } from '../../cell/cell-key.js'

/** Bytes of a key that a column entry without a suffix of its own does not store, but the row. */
export const sharedEndBytes = terminatorBytes + keySuffixBytes

export class RowWalk {
  buffer: Buffer = emptyBytes
  /** The key of the row entry. */
  keyStart = 0
  keyEnd = 0
  /** Length of the row with its terminator; -1: the key has no parts, and is alone. */
  rowBytes = 0
  /** Offset of the current entry; that of the next one is {@link valueEnd}. */
  start = 0
  /** Length of the whole key of the current entry. */
  keyBytes = 0
  /** The escaped qualifier of the current entry, without its terminator. */
  columnStart = 0
  columnEnd = 0
  /** End of the suffix of the current key: timestamp, type, sequence, length of the row. */
  suffixEnd = 0
  valueStart = 0
  valueEnd = 0
  private end = 0

  /** Goes to the row entry, the first in `buffer[start, end)`; false: its lengths are not valid. */
  begin(buffer: Buffer, start: number, end: number): boolean {
    this.buffer = buffer
    this.end = end
    this.start = start
    let at = start
    let keyLength = buffer[at++]
    if (keyLength >= 0x80) {
      keyLength = readVarint(buffer, at - 1, end)
      at += varintLength(keyLength) - 1
    }
    let valueLength = buffer[at++]
    if (valueLength >= 0x80) {
      valueLength = readVarint(buffer, at - 1, end)
      at += varintLength(valueLength) - 1
    }
    const keyEnd = at + keyLength
    this.keyStart = at
    this.keyEnd = keyEnd
    this.keyBytes = keyLength
    this.suffixEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = keyEnd + valueLength
    // Negated, because a length from behind the memory is no number.
    if (keyLength < 0 || valueLength < 0 || !(this.valueEnd <= end)) return this.fail()
    this.columnStart = rowEndOf(buffer, at, keyEnd) + terminatorBytes
    this.columnEnd = keyEnd - sharedEndBytes
    this.rowBytes = this.columnStart <= this.columnEnd ? this.columnStart - at : -1
    return true
  }

  /** Goes to the next column entry; false: none is left, or its lengths are not valid. */
  next(): boolean {
    const { buffer, end } = this
    let at = this.valueEnd
    if (!(at < end)) return false
    if (this.rowBytes < 0) return this.fail()
    this.start = at
    let head = buffer[at++]
    if (head >= 0x80) {
      head = readVarint(buffer, at - 1, end)
      at += varintLength(head) - 1
    }
    let valueLength = buffer[at++]
    if (valueLength >= 0x80) {
      valueLength = readVarint(buffer, at - 1, end)
      at += varintLength(valueLength) - 1
    }
    this.columnStart = at
    at += head >>> 1
    this.columnEnd = at
    this.keyBytes = this.rowBytes + (head >>> 1) + sharedEndBytes
    if ((head & 1) === 0) this.suffixEnd = this.keyEnd
    else {
      at += keySuffixBytes
      this.suffixEnd = at
    }
    this.valueStart = at
    this.valueEnd = at + valueLength
    if (head < 0 || valueLength < 0 || !(this.valueEnd <= end)) return this.fail()
    return at === this.columnEnd || this.endsAsRow(at) || this.fail()
  }

  /** Whether the current entry is the row entry. */
  get isAtRow(): boolean {
    return this.valueStart === this.keyEnd
  }

  /** Whether the walk has passed the last entry, which ends at the end of the range. */
  get isComplete(): boolean {
    return this.valueEnd === this.end
  }

  /**
   * Writes the whole key of the current entry, and its value behind, to `target[at, …)`. Returns
   * the end of the value.
   */
  write(target: Buffer, at: number): number {
    if (this.isAtRow) {
      copySharedBytes(this.buffer, this.keyStart, this.valueEnd, target, at)
      return at + this.valueEnd - this.keyStart
    }
    const end = this.writeKey(target, at)
    copySharedBytes(this.buffer, this.valueStart, this.valueEnd, target, end)
    return end + this.valueEnd - this.valueStart
  }

  /**
   * As {@link write}, for a column entry, from a view of {@link buffer} to another view; overwrites
   * up to seven bytes behind the value. False: the entry is too long for that, or its block ends.
   */
  writeWords(source: DataView, target: DataView, at: number): boolean {
    const { keyStart, keyEnd, rowBytes, columnStart, columnEnd } = this
    const { suffixEnd, valueStart, valueEnd } = this
    if (valueEnd - valueStart > wordCopyBytesMax) return false
    if (valueEnd + wordSlackBytes > source.byteLength) return false
    copyWords(source, keyStart, keyStart + rowBytes, target, at)
    let to = at + rowBytes
    copyWords(source, columnStart, columnEnd, target, to)
    to += columnEnd - columnStart
    if (suffixEnd === keyEnd) {
      copyWords(source, keyEnd - sharedEndBytes, keyEnd, target, to)
      copyWords(source, valueStart, valueEnd, target, to + sharedEndBytes)
    } else {
      target.setUint16(to, 1)
      copyWords(source, suffixEnd - keySuffixBytes, valueEnd, target, to + terminatorBytes)
    }
    return true
  }

  /** Writes the whole key of a column entry to `target[at, …)`. Returns its end. */
  writeKey(target: Buffer, at: number): number {
    const { buffer, keyStart, rowBytes, columnStart, columnEnd, suffixEnd } = this
    copyBytes(buffer, keyStart, keyStart + rowBytes, target, at)
    copyBytes(buffer, columnStart, columnEnd, target, at + rowBytes)
    const end = writeTerminator(target, at + rowBytes + columnEnd - columnStart)
    copyBytes(buffer, suffixEnd - keySuffixBytes, suffixEnd, target, end)
    return end + keySuffixBytes
  }

  /** Whether the suffix that ends at `end` names the length of the row, as the first key does. */
  private endsAsRow(end: number): boolean {
    const { buffer, keyEnd } = this
    return buffer[end - 1] === buffer[keyEnd - 1] && buffer[end - 2] === buffer[keyEnd - 2]
  }

  private fail(): false {
    this.valueEnd = -1
    return false
  }
}
