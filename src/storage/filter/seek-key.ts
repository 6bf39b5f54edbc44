/**
 * A reusable buffer for a key to seek. The setters take an escaped row or a cell of the row, and
 * form the key of the target.
 */
import { compareBytes, copyBytes, equalBytes } from '../../base/bytes.js'
import {
  terminatorBytes,
  writeBehind,
  writeEscaped,
  writeTerminator,
  writeTimestamp,
} from '../cell/cell-key.js'
import type { CellView, EntryRanges } from '../cell/cell-view.js'
import type { CellHint } from './filter.js'

/** Bytes of a timestamp in a key. */
const timestampBytes = 8

/** The key of an entry. */
type EntryKey = Pick<EntryRanges, 'buffer' | 'keyStart' | 'keyEnd'>

/** The key is `buffer[0, length)`. */
export class SeekKey {
  buffer: Buffer = Buffer.allocUnsafe(256)
  length = 0

  /**
   * Sets the first cell of a column (escaped) in the row of an entry, whose qualifier starts there.
   */
  setColumn(source: Buffer, keyStart: number, qualifierStart: number, column: Buffer): void {
    const length = qualifierStart - keyStart
    this.reserve(length + column.length + terminatorBytes)
    copyBytes(source, keyStart, qualifierStart, this.buffer, 0)
    copyBytes(column, 0, column.length, this.buffer, length)
    this.length = writeTerminator(this.buffer, length + column.length)
  }

  /** Sets the key after all keys that begin with `source[start, end)` and a terminator. */
  setBehind(source: Buffer, start: number, end: number): void {
    const length = end - start
    this.reserve(length + terminatorBytes)
    copyBytes(source, start, end, this.buffer, 0)
    this.length = writeBehind(this.buffer, length)
  }

  /** Sets the first version of a cell's column that is older than a timestamp above 0. */
  setOlderThan({ buffer, keyStart, qualifierEnd }: CellView, high: number, low: number): void {
    const length = qualifierEnd - keyStart
    this.reserve(length + terminatorBytes + timestampBytes)
    copyBytes(buffer, keyStart, qualifierEnd, this.buffer, 0)
    const at = writeTerminator(this.buffer, length)
    this.length = writeTimestamp(this.buffer, at, low === 0 ? high - 1 : high, (low - 1) >>> 0)
  }

  /** Sets the target of a filter's hint; its timestamp is used only `withTime`. */
  setHint(hint: CellHint, withTime: boolean): void {
    const { row, qualifier, timestampHigh, timestampLow } = hint
    this.reserve(2 * (row.length + (qualifier?.length ?? 0)) + 2 * terminatorBytes + timestampBytes)
    const { buffer } = this
    let at = writeTerminator(buffer, writeEscaped(buffer, 0, row))
    if (qualifier !== undefined) {
      at = writeTerminator(buffer, writeEscaped(buffer, at, qualifier))
      if (timestampHigh !== undefined && timestampLow !== undefined && withTime) {
        at = writeTimestamp(buffer, at, timestampHigh, timestampLow)
      }
    }
    this.length = at
  }

  /** Sets the key of an entry. An additional zero byte would make the successor of the key. */
  setEntry({ buffer, keyStart, keyEnd }: EntryKey): void {
    const length = keyEnd - keyStart
    this.reserve(length + 1)
    copyBytes(buffer, keyStart, keyEnd, this.buffer, 0)
    this.buffer[length] = 0
    this.length = length
  }

  /** Copies another key. */
  copyFrom({ buffer, length }: SeekKey): void {
    this.reserve(length)
    copyBytes(buffer, 0, length, this.buffer, 0)
    this.length = length
  }

  /** Whether the key is in the row of a cell. */
  isInRowOf(cell: CellView): boolean {
    return this.startsWith(cell, cell.qualifierStart)
  }

  /** Whether the key is in the column of a cell. */
  isInColumnOf(cell: CellView): boolean {
    return this.startsWith(cell, cell.qualifierEnd + terminatorBytes)
  }

  /** Whether the key starts as the key of a cell does up to `end`. */
  private startsWith({ buffer, keyStart }: CellView, end: number): boolean {
    const length = end - keyStart
    return length <= this.length && equalBytes(this.buffer, 0, length, buffer, keyStart, end)
  }

  /** Compares the key of an entry with this key. */
  compare({ buffer, keyStart, keyEnd }: EntryKey): number {
    return compareBytes(buffer, keyStart, keyEnd, this.buffer, 0, this.length)
  }

  private reserve(bytes: number): void {
    if (this.buffer.length < bytes) this.buffer = Buffer.allocUnsafe(2 * bytes)
  }
}
