/**
 * A key to seek, in memory that is used again for the next one. The setters take a row (escaped)
 * or a cell of the row and make the key of what the cursor goes to.
 */
import { compareBytes, copyBytes, equalBytes } from '../../base/bytes.js'
import {
  terminatorBytes,
  writeBehind,
  writeEscaped,
  writeTerminator,
  writeTimestamp,
} from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import type { Cursor } from '../cursor/cursor.js'
import type { CellHint } from '../filter/filter.js'

/** Bytes of a timestamp in a key. */
const timestampBytes = 8

/** The key is `buffer[0, length)`. */
export class SeekKey {
  buffer: Buffer = Buffer.allocUnsafe(256)
  length = 0

  /** After all cells of a row. */
  setBehindRow(row: Buffer, rowLength: number): void {
    this.reserve(rowLength + terminatorBytes)
    copyBytes(row, 0, rowLength, this.buffer, 0)
    this.length = writeBehind(this.buffer, rowLength)
  }

  /** The first cell of a column (escaped) of the row of an entry, whose qualifier begins there. */
  setColumn(source: Buffer, keyStart: number, qualifierStart: number, column: Buffer): void {
    const length = qualifierStart - keyStart
    this.reserve(length + column.length + terminatorBytes)
    copyBytes(source, keyStart, qualifierStart, this.buffer, 0)
    copyBytes(column, 0, column.length, this.buffer, length)
    this.length = writeTerminator(this.buffer, length + column.length)
  }

  /** After all cells of the column of an entry. */
  setBehindColumn(source: Buffer, keyStart: number, qualifierEnd: number): void {
    const length = qualifierEnd - keyStart
    this.reserve(length + terminatorBytes)
    copyBytes(source, keyStart, qualifierEnd, this.buffer, 0)
    this.length = writeBehind(this.buffer, length)
  }

  /** The first version of a cell's column that is older than a timestamp above 0. */
  setOlderThan({ buffer, keyStart, qualifierEnd }: CellView, high: number, low: number): void {
    const length = qualifierEnd - keyStart
    this.reserve(length + terminatorBytes + timestampBytes)
    copyBytes(buffer, keyStart, qualifierEnd, this.buffer, 0)
    const at = writeTerminator(this.buffer, length)
    this.length = writeTimestamp(this.buffer, at, low === 0 ? high - 1 : high, (low - 1) >>> 0)
  }

  /** What a filter hints at; its timestamp counts `withTime`. */
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

  /** The key of an entry; a zero byte after it makes the key that comes next. */
  setEntry({ buffer, keyStart, keyEnd }: Pick<Cursor, 'buffer' | 'keyStart' | 'keyEnd'>): void {
    const length = keyEnd - keyStart
    this.reserve(length + 1)
    copyBytes(buffer, keyStart, keyEnd, this.buffer, 0)
    this.buffer[length] = 0
    this.length = length
  }

  /** Takes another key over. */
  copyFrom({ buffer, length }: SeekKey): void {
    this.reserve(length)
    copyBytes(buffer, 0, length, this.buffer, 0)
    this.length = length
  }

  /** Whether the key lies in the row of a cell. */
  isInRowOf({ buffer, keyStart, qualifierStart }: CellView): boolean {
    const rowBytes = qualifierStart - keyStart
    if (this.length < rowBytes) return false
    return equalBytes(this.buffer, 0, rowBytes, buffer, keyStart, qualifierStart)
  }

  /** Compares the key of an entry with this one. */
  compare({ buffer, keyStart, keyEnd }: Pick<Cursor, 'buffer' | 'keyStart' | 'keyEnd'>): number {
    return compareBytes(buffer, keyStart, keyEnd, this.buffer, 0, this.length)
  }

  private reserve(bytes: number): void {
    if (this.buffer.length < bytes) this.buffer = Buffer.allocUnsafe(2 * bytes)
  }
}
