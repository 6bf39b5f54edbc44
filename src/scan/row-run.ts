/**
 * The fast path of scans: rows of one store that are made of nothing but puts that everybody sees,
 * of which the newest of each column is wanted. No matcher is asked and no row is chosen; one loop
 * goes from entry to entry.
 *
 * It stops where anything else comes. If that is within a row, `openRow` tells which one and what
 * was last collected of it, and the scanner reads on from there by the rules. So also if a block is
 * missing or damaged.
 *
 * Ownership: `buffer` refers to the memory of the last cell collected, see `row-collector.ts`.
 */
import { compareBytes, emptyBytes, equalBytes } from '../base/bytes.js'
import {
  keySuffixBytes,
  qualifierEndOf,
  rowEndOf,
  sequenceOf,
  terminatorBytes,
  typeOf,
} from '../cell/cell-key.js'
import { CellType } from '../cell/cell-type.js'
import { plainValueFlags } from '../cell/cell-value.js'
import type { Cursor } from '../cursor/cursor.js'
import type { RowTarget } from './cell-collector.js'

/**
 * Whether an entry is a put without a TTL or a reference, not of the far future, that a read at
 * `readPoint` sees.
 */
export function isVisiblePut(
  buffer: Buffer,
  keyEnd: number,
  valueStart: number,
  readPoint: number,
): boolean {
  // The highest byte of the timestamp is zero, and so stored as 0x7f, but for far futures.
  return (
    valueStart === keyEnd &&
    buffer[valueStart] === plainValueFlags &&
    buffer[keyEnd - keySuffixBytes] === 0x7f &&
    typeOf(buffer, keyEnd) === CellType.put &&
    sequenceOf(buffer, keyEnd) <= readPoint
  )
}

/** Reads rows one after the other; see the file header. */
export class RowRun {
  /** Rows that were begun by the last call. */
  rows = 0
  /** A row was begun that may go on, and the cell under the cursor or behind it is to be judged. */
  openRow = false
  /** The last cell collected: its row is `buffer[rowStart, rowEnd)`. */
  buffer: Buffer = emptyBytes
  rowStart = 0
  rowEnd = 0
  qualifierEnd = 0
  /** Older versions of that cell's column that were passed over. */
  versions = 0

  /**
   * Goes on until the collector wants no more rows, which it ends, or row `stop` or something else
   * comes. Passes over up to `versionsMax` older versions of a column one by one.
   */
  read(
    cursor: Cursor,
    familyIndex: number,
    readPoint: number,
    stop: Buffer | undefined,
    stopInclusive: boolean,
    versionsMax: number,
    collector: RowTarget,
  ): void {
    let { buffer: last, rowStart, rowEnd, qualifierEnd } = this
    let rows = 0
    let open = false
    let versions = 0
    try {
      while (cursor.valid) {
        const { buffer, keyStart, keyEnd } = cursor
        const end = rowEndOf(buffer, keyStart, keyEnd)
        if (open && !equalBytes(last, rowStart, rowEnd, buffer, keyStart, end)) {
          open = false
          collector.endRow()
          if (!collector.wantsRows) break
        }
        if (!isVisiblePut(buffer, keyEnd, cursor.valueStart, readPoint)) break
        if (!open) {
          if (stop !== undefined && isBehind(buffer, keyStart, end, stop, stopInclusive)) break
          rows++
          open = true
        } else if (isSameColumn(last, rowEnd, qualifierEnd, buffer, end, keyEnd)) {
          if (versions === versionsMax) break
          versions++
          cursor.next()
          continue
        }
        last = buffer
        rowStart = keyStart
        rowEnd = end
        qualifierEnd = qualifierEndOf(keyEnd)
        versions = 0
        collector.addRange(familyIndex, buffer, keyStart, keyEnd, cursor.valueEnd)
        cursor.next()
      }
      if (open && !cursor.valid) {
        open = false
        collector.endRow()
      }
    } finally {
      this.rows = rows
      this.openRow = open
      this.buffer = last
      this.rowStart = rowStart
      this.rowEnd = rowEnd
      this.qualifierEnd = qualifierEnd
      this.versions = versions
    }
  }
}

function isBehind(
  buffer: Buffer,
  start: number,
  end: number,
  stop: Buffer,
  stopInclusive: boolean,
): boolean {
  const order = compareBytes(buffer, start, end, stop, 0, stop.length)
  return stopInclusive ? order > 0 : order >= 0
}

/** Whether two cells of one row, given by the ends of their parts, are of one column. */
function isSameColumn(
  last: Buffer,
  lastRowEnd: number,
  lastQualifierEnd: number,
  buffer: Buffer,
  rowEnd: number,
  keyEnd: number,
): boolean {
  return equalBytes(
    last,
    lastRowEnd + terminatorBytes,
    lastQualifierEnd,
    buffer,
    rowEnd + terminatorBytes,
    qualifierEndOf(keyEnd),
  )
}
