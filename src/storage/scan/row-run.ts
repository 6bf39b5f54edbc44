/**
 * The fast path of gets and scans: one loop over rows of one store that consist of plain puts
 * visible to the read, of which the newest of each column is wanted. The loop needs no matcher, and
 * seeks past a column with many versions.
 *
 * The loop stops at any other entry. Within a row `openRow` is then true, the fields describe the
 * cell collected last, and the scanner continues with the matcher. The same holds if a block is
 * missing or damaged.
 *
 * Ownership: `buffer` refers to the memory of the last cell collected, see `row-collector.ts`.
 */
import { compareBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
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
import { SeekKey } from './seek-key.js'

/**
 * Whether an entry is a put visible at `readPoint`, without TTL or value reference, and with a
 * timestamp that is not in the far future.
 */
export function isVisiblePut(
  buffer: Buffer,
  keyEnd: number,
  valueStart: number,
  readPoint: number,
): boolean {
  // The high byte of a timestamp is zero except in the far future; it is stored as 0x7f.
  return (
    valueStart === keyEnd &&
    buffer[valueStart] === plainValueFlags &&
    buffer[keyEnd - keySuffixBytes] === 0x7f &&
    typeOf(buffer, keyEnd) === CellType.put &&
    sequenceOf(buffer, keyEnd) <= readPoint
  )
}

/** The end of a scan: a row (escaped); undefined: no bound. */
export interface RowEnd {
  readonly stop: Buffer | undefined
  readonly stopInclusive: boolean
}

/**
 * Maximum number of buffered cells of a row that is read backwards; longer rows are read forward.
 */
const cellsBackMax = 64

/** Numbers per buffered cell: start and end of its key, end of its value. */
const numbersBack = 3

/** Number of older versions of a column that are stepped over before a seek past the column. */
const stepsBeforeSeek = 4

/** The fast path over successive rows; see the file header. */
export class RowRun {
  /** Number of rows started by the last call. */
  rows = 0
  /** Whether a row is open: the matcher decides on the cell at or after the cursor. */
  openRow = false
  /** Memory of the last cell collected; its row is `buffer[rowStart, rowEnd)`. */
  buffer: Buffer = emptyBytes
  rowStart = 0
  rowEnd = 0
  /** End of that cell's qualifier; 0: no cell of the row was collected. */
  qualifierEnd = 0
  /** Whether a call that threw was seeking {@link seekKey}; otherwise it was stepping. */
  isSeeking = false
  readonly seekKey = new SeekKey()
  /**
   * Whether the empty column has no markers of the family among its cells, so that it may be
   * skipped.
   */
  jumpsEmptyColumn = false
  /** Index of the first requested column that is not complete. */
  columnIndex = 0
  /**
   * Whether a step is tried before a seek. False with deferred cursors, since a step makes them
   * seek.
   */
  mayStep = true
  /** The cells of the row that is read backwards, last cell first: their memory and numbers. */
  private readonly buffers: Buffer[] = Array<Buffer>(cellsBackMax).fill(emptyBytes)
  private readonly places = new Float64Array(cellsBackMax * numbersBack)

  /** Drops references to the cells read, because their memory is about to be released. */
  forget(): void {
    this.buffer = emptyBytes
    this.buffers.fill(emptyBytes)
  }

  /**
   * Sets the row for {@link readRow} and its column collected last. The row is `buffer[rowStart,
   * rowEnd)`, followed by a terminator and the qualifier up to `qualifierEnd`; 0: no cell of the
   * row was collected yet.
   */
  enterRow(buffer: Buffer, rowStart: number, rowEnd: number, qualifierEnd: number): void {
    this.buffer = buffer
    this.rowStart = rowStart
    this.rowEnd = rowEnd
    this.qualifierEnd = qualifierEnd
  }

  /**
   * Continues in the row of {@link enterRow}, until the collector is full or an entry is no plain
   * put. `openRow` is false afterwards if the row has ended; the collector's row is not ended.
   */
  readRow(cursor: Cursor, familyIndex: number, readPoint: number, collector: RowTarget): void {
    this.openRow = true
    this.run(cursor, familyIndex, readPoint, undefined, collector)
  }

  /**
   * Reads and ends rows until the collector wants no more, a row is out of bounds, or an entry is
   * no plain put.
   */
  readRows(
    cursor: Cursor,
    familyIndex: number,
    readPoint: number,
    bounds: RowEnd,
    collector: RowTarget,
  ): void {
    this.openRow = false
    this.run(cursor, familyIndex, readPoint, bounds, collector)
  }

  /** Without bounds, reads one row, which is open. */
  private run(
    cursor: Cursor,
    familyIndex: number,
    readPoint: number,
    bounds: RowEnd | undefined,
    collector: RowTarget,
  ): void {
    let { buffer: last, rowStart, rowEnd, qualifierEnd, openRow: open } = this
    let rows = 0
    let versions = 0
    this.isSeeking = false
    try {
      while (cursor.valid) {
        const { buffer, keyStart, keyEnd } = cursor
        const end = rowEndOf(buffer, keyStart, keyEnd)
        if (open && !equalBytes(last, rowStart, rowEnd, buffer, keyStart, end)) {
          open = false
          if (bounds === undefined) break
          collector.endRow()
          if (!collector.wantsRows) break
        }
        if (!isVisiblePut(buffer, keyEnd, cursor.valueStart, readPoint)) break
        if (!open) {
          if (isBehind(buffer, keyStart, end, bounds!)) break
          rows++
          open = true
        } else if (isSameColumn(last, rowEnd, qualifierEnd, buffer, end, keyEnd)) {
          if (versions++ < stepsBeforeSeek) cursor.next()
          else if (!this.leaveColumn(cursor, end)) break
          continue
        }
        if (collector.full) break
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
        if (bounds !== undefined) collector.endRow()
      }
    } finally {
      this.rows = rows
      this.openRow = open
      this.buffer = last
      this.rowStart = rowStart
      this.rowEnd = rowEnd
      this.qualifierEnd = qualifierEnd
    }
  }

  /**
   * Collects the cell under the cursor, of the only requested column. Returns false without a
   * change if the cell is no plain put.
   */
  readFirst(cursor: Cursor, familyIndex: number, readPoint: number, collector: RowTarget): boolean {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    if (!isVisiblePut(buffer, keyEnd, valueStart, readPoint)) return false
    collector.addRange(familyIndex, buffer, keyStart, keyEnd, valueEnd)
    return true
  }

  /**
   * Collects the newest put of each column of a list (escaped, ascending), from {@link columnIndex}
   * on, in the row of {@link enterRow}. Of older versions and other columns at most the next entry
   * is read. `openRow` is false afterwards if all columns are complete or the row has ended.
   */
  readColumns(
    cursor: Cursor,
    familyIndex: number,
    readPoint: number,
    columns: readonly Buffer[],
    collector: RowTarget,
  ): void {
    const { buffer: row, rowStart, rowEnd } = this
    let steps = 0
    this.openRow = true
    this.isSeeking = false
    while (this.columnIndex < columns.length) {
      if (!cursor.valid) break
      const { buffer, keyStart, keyEnd } = cursor
      const start = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
      if (!equalBytes(row, rowStart, rowEnd, buffer, keyStart, start - terminatorBytes)) break
      if (!isVisiblePut(buffer, keyEnd, cursor.valueStart, readPoint)) return
      const column = columns[this.columnIndex]
      const end = qualifierEndOf(keyEnd)
      const order = compareBytes(buffer, start, end, column, 0, column.length)
      if (order < 0) {
        const mayJump = start < end || this.jumpsEmptyColumn
        if (!mayJump || (this.mayStep && steps++ === 0)) cursor.next()
        else {
          this.seekKey.setColumn(buffer, keyStart, start, column)
          this.seek(cursor)
        }
        continue
      }
      steps = 0
      this.columnIndex++
      if (order > 0) continue
      if (collector.full) {
        this.columnIndex--
        return
      }
      collector.addRange(familyIndex, buffer, keyStart, keyEnd, cursor.valueEnd)
      if (!this.mayStep || this.columnIndex === columns.length) continue
      cursor.next()
      steps = 1
    }
    this.openRow = false
  }

  private seek(cursor: Cursor): void {
    this.isSeeking = true
    cursor.seek(this.seekKey.buffer, this.seekKey.length)
    this.isSeeking = false
  }

  /**
   * Seeks past the column of the cell under the cursor; false if the column must not be skipped.
   */
  private leaveColumn(cursor: Cursor, rowEnd: number): boolean {
    const { buffer, keyStart, keyEnd } = cursor
    const end = qualifierEndOf(keyEnd)
    if (end === rowEnd + terminatorBytes && !this.jumpsEmptyColumn) return false
    this.seekKey.setBehindColumn(buffer, keyStart, end)
    this.seek(cursor)
    return true
  }

  /**
   * As {@link readRows}, backwards from the last cell of a row. An open row has no collected cells
   * and has to be read from its start.
   */
  readBack(
    cursor: BackwardCursor,
    familyIndex: number,
    readPoint: number,
    bounds: RowEnd,
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
          if (isBefore(buffer, keyStart, end, bounds)) break
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

  /** Collects the newest cell of each column of a buffered row. */
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

function isBefore(buffer: Buffer, start: number, end: number, bounds: RowEnd): boolean {
  const { stop, stopInclusive } = bounds
  if (stop === undefined) return false
  const order = compareBytes(buffer, start, end, stop, 0, stop.length)
  return stopInclusive ? order < 0 : order <= 0
}

function isBehind(buffer: Buffer, start: number, end: number, bounds: RowEnd): boolean {
  const { stop, stopInclusive } = bounds
  if (stop === undefined) return false
  const order = compareBytes(buffer, start, end, stop, 0, stop.length)
  return stopInclusive ? order > 0 : order >= 0
}

/** Whether two cells of one row, given by the ends of their parts, are in the same column. */
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
