/**
 * Decides which SSTables of a store may hold a row, by key range and filter. False positives are
 * possible, false negatives are not.
 *
 * Ownership: the row is borrowed until the next {@link RowProbe.setRow}.
 */
import { compareBytes, emptyBytes } from '../../base/bytes.js'
import { Hash64, hashRange } from '../../base/hash.js'
import { terminatorBytes, writeTerminator } from '../cell/cell-key.js'
import { escapedPrefixEnd, FilterKind, filterPrefixBytes } from '../cell/row-filter.js'
import type { SsTableReader } from '../sstable/reader.js'

/** Index of the first of `tables[start, end)` whose last key is at or above `key[0, length)`. */
export function findTable(
  tables: readonly SsTableReader[],
  start: number,
  end: number,
  key: Uint8Array,
  length: number,
): number {
  let low = start
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    const { lastKey } = tables[middle].properties
    if (compareBytes(lastKey, 0, lastKey.length, key, 0, length) < 0) low = middle + 1
    else high = middle
  }
  return low
}

export class RowProbe {
  row: Buffer = emptyBytes
  rowLength = 0
  /** Whether a filter has refused columns of the row: its SSTable may have others of them. */
  refusedColumns = false
  private readonly rowHash = new Hash64()
  /** Whether {@link rowHash} is valid for the row. */
  private hashed = false
  private readonly keyHash = new Hash64()
  private key: Buffer = Buffer.allocUnsafe(128)

  /** Sets the row `row[0, rowLength)` (escaped), which is followed by a terminator. */
  setRow(row: Buffer, rowLength: number): void {
    this.row = row
    this.rowLength = rowLength
    this.hashed = false
    this.refusedColumns = false
  }

  /** Whether the row is between the first and the last key of an SSTable. */
  isInRange({ properties: { firstKey, lastKey } }: SsTableReader): boolean {
    const { row } = this
    const length = this.rowLength + terminatorBytes
    // Out of range: after the last key, or before the first key without being its row.
    if (compareBytes(lastKey, 0, lastKey.length, row, 0, length) < 0) return false
    const firstEnd = Math.min(firstKey.length, length)
    return compareBytes(firstKey, 0, firstEnd, row, 0, length) <= 0
  }

  /**
   * Whether the SSTable's filter admits the row, or one of its columns (escaped; undefined: all).
   * The filter may be of another kind than the family's present setting.
   */
  passesFilter(table: SsTableReader, columns: readonly Buffer[] | undefined): boolean {
    const kind = table.properties.filterKind
    if (kind === FilterKind.none) return true
    const { row, rowLength } = this
    if (!this.hashed) hashRange(row, 0, rowLength, this.rowHash)
    this.hashed = true
    if (kind === FilterKind.row) return table.mayContain(this.rowHash)
    const prefixBytes = filterPrefixBytes(kind)
    if (prefixBytes > 0) return this.passesPrefix(table, row, rowLength, prefixBytes)
    if (kind !== FilterKind.rowColumn || columns === undefined) return true
    // Markers of the family have the row as key and affect every column.
    if (table.properties.familyDeleteCount > 0 && table.mayContain(this.rowHash)) return true
    for (let i = 0; i < columns.length; i++) {
      // First, because it may give the key other memory.
      const length = this.columnKey(columns[i])
      hashRange(this.key, 0, length, this.keyHash)
      if (table.mayContain(this.keyHash)) return true
    }
    this.refusedColumns = true
    return false
  }

  /**
   * As `passesFilter`, for a row prefix of `prefixBytes` bytes, the length of the SSTable's filter.
   */
  passesPrefix(table: SsTableReader, row: Buffer, length: number, prefixBytes: number): boolean {
    hashRange(row, 0, escapedPrefixEnd(row, 0, length, prefixBytes), this.keyHash)
    return table.mayContain(this.keyHash)
  }

  private columnKey(qualifier: Buffer): number {
    const { row, rowLength } = this
    const length = rowLength + terminatorBytes + qualifier.length
    if (this.key.length < length) this.key = Buffer.allocUnsafe(2 * length)
    row.copy(this.key, 0, 0, rowLength)
    qualifier.copy(this.key, writeTerminator(this.key, rowLength))
    return length
  }
}
