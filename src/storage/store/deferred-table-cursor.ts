/**
 * A cursor over an SSTable with lazy seek (as in HBase), for reading named columns of one row.
 * Until the merge needs its entry, the cursor is positioned at a lower bound: the first possible
 * cell of the next requested column, at the newest timestamp of the SSTable.
 *
 * So a get whose newest version is in a newer source reads no block of SSTables with older cells
 * only. REQUIRES that the SSTable has no marker of the family, which would sort before the columns.
 * Cells of other columns are skipped.
 */
import { compareBytes, copyBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import {
  keySuffixBytes,
  terminatorBytes,
  writeBehind,
  writeKeySuffix,
  writeTerminator,
  writeTimestamp,
} from '../cell/cell-key.js'
import { CellType } from '../cell/cell-type.js'
import { timestampHigh, timestampLow } from '../cell/timestamp.js'
import { ShownEntry, type DeferredCursor } from '../cursor/cursor.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'

export class DeferredTableCursor extends ShownEntry implements DeferredCursor {
  deferred = false
  private readonly cursor: SsTableCursor
  private readonly newestHigh: number
  private readonly newestLow: number
  /** Sequence of the newest cell if all cells are puts; else -1. */
  private readonly newestPut: number
  private columns: readonly Buffer[] = []
  private rowLength = 0
  /** The row with its terminator; borrowed. */
  private row: Buffer = emptyBytes
  /** The key to seek while deferred; `bound` holds the key that is shown until then. */
  private key: Buffer = Buffer.allocUnsafe(256)
  private keyLength = 0
  private bound: Buffer = Buffer.allocUnsafe(256)

  constructor(table: SsTableReader, cursor: SsTableCursor) {
    super()
    const { maxTimestamp, deleteCount, maxSequence } = table.properties
    this.cursor = cursor
    this.newestHigh = timestampHigh(maxTimestamp)
    this.newestLow = timestampLow(maxTimestamp)
    this.newestPut = deleteCount === 0 ? maxSequence : -1
  }

  /**
   * Prepares to read columns (escaped, ascending) of the row `row[0, rowLength)`, which is followed
   * by a terminator. `row` is borrowed while the cursor is used.
   */
  begin(row: Buffer, rowLength: number, columns: readonly Buffer[]): void {
    this.row = row
    this.rowLength = rowLength
    this.columns = columns
    this.valid = false
    this.deferred = false
  }

  seek(key: Buffer, length: number): void {
    const start = this.rowLength + terminatorBytes
    this.deferred = false
    if (length < start || !equalBytes(key, 0, this.rowLength, this.row, 0, this.rowLength)) {
      this.seekNow(key, length)
      return
    }
    if (!equalBytes(key, 0, start, this.row, 0, start)) {
      // The key is after the row.
      this.valid = false
      return
    }
    for (const column of this.columns) {
      this.reserve(start + column.length + terminatorBytes + keySuffixBytes + length)
      const target = this.key
      copyBytes(this.row, 0, start, target, 0)
      const end = start + column.copy(target, start)
      const behind = writeBehind(target, end)
      if (compareBytes(target, 0, behind, key, 0, length) <= 0) continue
      this.defer(key, length, writeTerminator(target, end))
      return
    }
    this.valid = false
  }

  settle(): void {
    this.seekNow(this.key, this.keyLength)
    this.deferred = false
  }

  seekBefore(key: Buffer, length: number): void {
    this.cursor.seekBefore(key, length)
    this.deferred = false
    this.showEntryOf(this.cursor)
  }

  next(): void {
    this.cursor.next()
    this.showEntryOf(this.cursor)
  }

  /** Positions at the later of `key` and the lower bound of the column `this.key[0, end)`. */
  private defer(key: Buffer, length: number, end: number): void {
    const { bound, newestHigh, newestLow, newestPut } = this
    copyBytes(this.key, 0, end, bound, 0)
    const boundLength =
      newestPut < 0
        ? writeTimestamp(bound, end, newestHigh, newestLow)
        : writeKeySuffix(bound, end, newestHigh, newestLow, CellType.put, newestPut, 0)
    this.keyLength = end
    this.keyEnd = boundLength
    if (compareBytes(this.key, 0, end, key, 0, length) < 0) {
      // The key is within the column.
      copyBytes(key, 0, length, this.key, 0)
      this.keyLength = length
      if (compareBytes(bound, 0, boundLength, key, 0, length) < 0) {
        copyBytes(key, 0, length, bound, 0)
        this.keyEnd = length
      }
    }
    this.buffer = bound
    this.keyStart = 0
    this.valueStart = this.keyEnd
    this.valueEnd = this.keyEnd
    this.valid = true
    this.deferred = true
  }

  private seekNow(key: Buffer, length: number): void {
    this.cursor.seek(key, length)
    this.showEntryOf(this.cursor)
  }

  private reserve(bytes: number): void {
    if (this.key.length >= bytes) return
    this.key = Buffer.allocUnsafe(2 * bytes)
    this.bound = Buffer.allocUnsafe(2 * bytes)
  }
}
