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
import type { BackwardCursor, Cursor } from '../cursor/cursor.js'
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

/** Cells of a row that are remembered on the way to its start; longer rows are read forward. */
const cellsBackMax = 64

/** Numbers of such a cell: start and end of its key, end of its value. */
const numbersBack = 3

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
  /** The cells of the row that is read backwards, from its last: their memory and numbers. */
  private readonly buffers: Buffer[] = Array<Buffer>(cellsBackMax).fill(emptyBytes)
  private readonly places = new Float64Array(cellsBackMax * numbersBack)

  /** Forgets the cells that were read: their memory is about to go. */
  forget(): void {
    this.buffer = emptyBytes
    this.buffers.fill(emptyBytes)
  }

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

  /**
   * As {@link read}, backwards from the last cell of a row. Of an open row nothing was collected;
   * it has to be read from its start.
   */
  readBack(
    cursor: BackwardCursor,
    familyIndex: number,
    readPoint: number,
    stop: Buffer | undefined,
    stopInclusive: boolean,
    collector: RowTarget,
  ): void {
    const { buffers, places } = this
    let { buffer: last, rowStart, rowEnd } = this
    let rows = 0
    let cells = 0
    try {
      while (cursor.valid) {
        const { buffer, keyStart, keyEnd } = cursor
        const end = rowEndOf(buffer, keyStart, keyEnd)
        if (cells > 0 && !equalBytes(last, rowStart, rowEnd, buffer, keyStart, end)) {
          this.collectBack(cells, familyIndex, collector)
          cells = 0
          if (!collector.wantsRows) break
        }
        if (cells === cellsBackMax) break
        if (!isVisiblePut(buffer, keyEnd, cursor.valueStart, readPoint)) break
        if (cells === 0) {
          if (stop !== undefined && isBefore(buffer, keyStart, end, stop, stopInclusive)) break
          rows++
          last = buffer
          rowStart = keyStart
          rowEnd = end
        }
        buffers[cells] = buffer
        places[numbersBack * cells] = keyStart
        places[numbersBack * cells + 1] = keyEnd
        places[numbersBack * cells + 2] = cursor.valueEnd
        cells++
        cursor.previous()
      }
      if (cells > 0 && !cursor.valid) {
        this.collectBack(cells, familyIndex, collector)
        cells = 0
      }
    } finally {
      this.rows = rows
      this.openRow = cells > 0
      this.buffer = last
      this.rowStart = rowStart
      this.rowEnd = rowEnd
    }
  }

  /** Collects the newest cell of each column of a row. */
  private collectBack(cells: number, familyIndex: number, collector: RowTarget): void {
    const { buffers, places } = this
    let last: Buffer | undefined
    let lastRowEnd = 0
    let lastQualifierEnd = 0
    for (let i = cells - 1; i >= 0; i--) {
      const buffer = buffers[i]
      const keyStart = places[numbersBack * i]
      const keyEnd = places[numbersBack * i + 1]
      const rowEnd = rowEndOf(buffer, keyStart, keyEnd)
      if (
        last !== undefined &&
        isSameColumn(last, lastRowEnd, lastQualifierEnd, buffer, rowEnd, keyEnd)
      ) {
        continue
      }
      last = buffer
      lastRowEnd = rowEnd
      lastQualifierEnd = qualifierEndOf(keyEnd)
      collector.addRange(familyIndex, buffer, keyStart, keyEnd, places[numbersBack * i + 2])
    }
    collector.endRow()
  }
}

function isBefore(
  buffer: Buffer,
  start: number,
  end: number,
  stop: Buffer,
  stopInclusive: boolean,
): boolean {
  const order = compareBytes(buffer, start, end, stop, 0, stop.length)
  return stopInclusive ? order < 0 : order <= 0
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
