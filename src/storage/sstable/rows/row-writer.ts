/**
 * Writes the cells of one row as adjacent entries (FORMAT.md, "Data block"): the first one as the
 * row entry, the others as column entries.
 *
 * Ownership: the entries lie in memory of the writer until the next row is begun.
 */
import { copySharedBytes, equalBytes } from '../../../base/bytes.js'
import { readVarint, writeVarint } from '../../../base/varint.js'
import {
  keySuffixBytes,
  qualifierEndOf,
  rowEndOf,
  terminatorBytes,
  writeTerminator,
} from '../../cell/cell-key.js'
import { growBuffer } from '../grow.js'
import { keyStartAt } from './row-entries.js'
import type { RowWalk } from './row-walk.js'

/** Most bytes of the two lengths of an entry. */
const lengthBytesMax = 10

/** Bytes of the memory at first, and most that is kept from one row to the next. */
const firstBytes = 4 * 1024
const keptBytesMax = 64 * 1024

export class RowWriter {
  /** The entries are `buffer[0, length)`. */
  buffer: Buffer = Buffer.allocUnsafe(firstBytes)
  length = 0
  /** End of the key of the row entry. */
  private keyEnd = 0

  /** Begins a row. */
  begin(): void {
    this.length = 0
    if (this.buffer.length > keptBytesMax) this.buffer = Buffer.allocUnsafe(firstBytes)
  }

  /** Appends the cell at which a walk is. REQUIRES a cell after the last one, of the same row. */
  addEntry(walk: RowWalk): void {
    const { buffer, keyStart, rowBytes, columnStart, columnEnd, suffixEnd } = walk
    const { valueStart, valueEnd } = walk
    this.reserve(lengthBytesMax + walk.keyBytes + valueEnd - valueStart)
    if (this.length === 0) {
      this.addLengths(walk.keyBytes, valueEnd - valueStart)
      this.append(buffer, keyStart, keyStart + rowBytes)
      this.append(buffer, columnStart, columnEnd)
      this.length = writeTerminator(this.buffer, this.length)
      this.append(buffer, suffixEnd - keySuffixBytes, suffixEnd)
      this.keyEnd = this.length
      this.append(buffer, valueStart, valueEnd)
    } else this.addColumn(buffer, columnStart, columnEnd, suffixEnd, valueStart, valueEnd)
  }

  /** Appends a cell with a whole key, which its value follows. REQUIRES as {@link addEntry}. */
  addCell(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    this.reserve(lengthBytesMax + valueEnd - keyStart)
    if (this.length === 0) {
      this.addLengths(keyEnd - keyStart, valueEnd - keyEnd)
      this.keyEnd = this.length + keyEnd - keyStart
      this.append(buffer, keyStart, valueEnd)
    } else {
      const column = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
      this.addColumn(buffer, column, qualifierEndOf(keyEnd), keyEnd, keyEnd, valueEnd)
    }
  }

  /**
   * Appends entries of a row as they are, `buffer[start, end)`. REQUIRES that they begin the row,
   * or that all entries so far were appended in this way or as cells after such.
   */
  addRun(buffer: Buffer, start: number, end: number): void {
    this.reserve(end - start)
    const at = this.length
    this.append(buffer, start, end)
    if (at > 0) return
    const keyBytes = readVarint(this.buffer, 0, this.length)
    this.keyEnd = keyStartAt(this.buffer, 0) + keyBytes
  }

  private addColumn(
    buffer: Buffer,
    start: number,
    end: number,
    suffixEnd: number,
    valueStart: number,
    valueEnd: number,
  ): void {
    const { keyEnd } = this
    const suffix = suffixEnd - keySuffixBytes
    const isShared = equalBytes(
      buffer,
      suffix,
      suffixEnd,
      this.buffer,
      keyEnd - keySuffixBytes,
      keyEnd,
    )
    this.addLengths(2 * (end - start) + (isShared ? 0 : 1), valueEnd - valueStart)
    this.append(buffer, start, end)
    if (!isShared) this.append(buffer, suffix, suffixEnd)
    this.append(buffer, valueStart, valueEnd)
  }

  private addLengths(first: number, second: number): void {
    const { buffer } = this
    this.length = writeVarint(buffer, writeVarint(buffer, this.length, first), second)
  }

  private append(buffer: Buffer, start: number, end: number): void {
    copySharedBytes(buffer, start, end, this.buffer, this.length)
    this.length += end - start
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes
    if (needed > this.buffer.length) this.buffer = growBuffer(this.buffer, this.length, needed)
  }
}
