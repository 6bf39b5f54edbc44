/**
 * The one loop over plain puts, of gets and of scans: rows of one store that are made of nothing
 * but puts that everybody sees, of which the newest of each column is wanted. The loop goes from
 * entry to entry, asks no matcher, and seeks after a column that has many versions.
 *
 * The loop stops where anything else comes. If that is within a row, `openRow` is true, the fields
 * tell what was last collected of the row, and the scanner reads on from there by the rules. The
 * same holds if a block is missing or damaged.
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

/** Where a scan ends: a row (escaped), or undefined = nowhere. */
export interface RowEnd {
  readonly stop: Buffer | undefined
  readonly stopInclusive: boolean
}

/** Cells of a row that are remembered on the way to its start; longer rows are read forward. */
const cellsBackMax = 64

/** Numbers of such a cell: start and end of its key, end of its value. */
const numbersBack = 3

/** Older versions of a column that are stepped over; then a seek leads after the column. */
const stepsBeforeSeek = 4

/** Reads rows one after the other; see the file header. */
export class RowRun {
  /** Rows that were begun by the last call. */
  rows = 0
  /** A row was begun that may go on, and the cell under the cursor or after it is to be judged. */
  openRow = false
  /** The last cell collected: its row is `buffer[rowStart, rowEnd)`. */
  buffer: Buffer = emptyBytes
  rowStart = 0
  rowEnd = 0
  /** End of that cell's qualifier; 0 = no cell of the row was collected. */
  qualifierEnd = 0
  /**
   * A call that threw was on its way to {@link seekKey}; else to the next entry.
   */
  isSeeking = false
  readonly seekKey = new SeekKey()
  /** Whether no marker of the family can lie among the cells of the empty column. */
  jumpsEmptyColumn = false
  /** Of named columns: position of the first that was not served. */
  columnIndex = 0
  /** Whether a step may be tried before a seek; not where steps carry out deferred seeks. */
  mayStep = true
  /** The cells of the row that is read backwards, from its last: their memory and numbers. */
  private readonly buffers: Buffer[] = Array<Buffer>(cellsBackMax).fill(emptyBytes)
  private readonly places = new Float64Array(cellsBackMax * numbersBack)

  /** Forgets the cells that were read: their memory is about to go. */
  forget(): void {
    this.buffer = emptyBytes
    this.buffers.fill(emptyBytes)
  }

  /**
   * Names the row for {@link readRow}, and its column that was collected last: the row is
   * `buffer[rowStart, rowEnd)`; a terminator and the qualifier, which ends at `qualifierEnd`,
   * follow. 0 = no cell of the row was collected yet.
   */
  enterRow(buffer: Buffer, rowStart: number, rowEnd: number, qualifierEnd: number): void {
    this.buffer = buffer
    this.rowStart = rowStart
    this.rowEnd = rowEnd
    this.qualifierEnd = qualifierEnd
  }

  /**
   * Reads on in the row given to {@link enterRow}, until the collector is full or something else
   * comes. `openRow` is false afterwards if the row has ended; the row itself is not ended in the
   * collector.
   */
  readRow(cursor: Cursor, familyIndex: number, readPoint: number, collector: RowTarget): void {
    this.openRow = true
    this.run(cursor, familyIndex, readPoint, undefined, collector)
  }

  /**
   * Reads rows until the collector wants no more, and ends them there, or until the row after the
   * bounds or something else comes.
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

  /** Without bounds one row is read, which is open. */
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
   * Collects the cell under the cursor, of the only column wanted; false, and nothing is changed,
   * if it is no plain put.
   */
  readFirst(cursor: Cursor, familyIndex: number, readPoint: number, collector: RowTarget): boolean {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    if (!isVisiblePut(buffer, keyEnd, valueStart, readPoint)) return false
    collector.addRange(familyIndex, buffer, keyStart, keyEnd, valueEnd)
    return true
  }

  /**
   * Collects the newest put of each column of a list (escaped, ascending), from the one at
   * {@link columnIndex} on, in the row given to {@link enterRow}; of older versions and other
   * columns none is looked at but the next one. `openRow` is false afterwards if all columns were
   * served or the row has ended.
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

  /** Seeks after the column of the cell under the cursor; false if it may not be jumped over. */
  private leaveColumn(cursor: Cursor, rowEnd: number): boolean {
    const { buffer, keyStart, keyEnd } = cursor
    const end = qualifierEndOf(keyEnd)
    if (end === rowEnd + terminatorBytes && !this.jumpsEmptyColumn) return false
    this.seekKey.setBehindColumn(buffer, keyStart, end)
    this.seek(cursor)
    return true
  }

  /**
   * As {@link readRows}, backwards from the last cell of a row. Of an open row nothing was
   * collected; it has to be read from its start.
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
