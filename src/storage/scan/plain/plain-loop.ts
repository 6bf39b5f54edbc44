/**
 * The fast path of gets and scans: one loop over cells of one store that are plain puts visible to
 * the read and not expired, of which the newest of each column is wanted. The loop needs no
 * matcher, takes a plain row as a whole, and seeks past a column with many versions. At any other
 * entry it returns, and the scanner continues by the rules, from the same {@link ReadPosition}.
 *
 * backward-loop.ts is the loop of reversed scans. It is a loop of its own because V8 compiles a
 * loop for the classes of cursors that it has seen: one loop for both directions made reversed
 * scans slower by a tenth.
 */
import { compareBytes, equalBytes } from '../../../base/bytes.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../../cell/cell-key.js'
import { isVisiblePut } from '../../cell/plain-put.js'
import type { Cursor } from '../../cursor/cursor.js'
import type { RowTarget } from '../cell-collector.js'
import type { PlainRows } from './plain-rows.js'
import type { ReadPosition } from '../read-position.js'
import type { RowBounds } from '../row-scanner.js'
import type { StoreRead } from '../store-read.js'

/** Why {@link readPlain} has returned. */
export const ReadStep = {
  /** The row has ended; the cursor is past it. */
  rowEnded: 0,
  /** All requested columns of the row are complete; the cursor is still in the row. */
  columnsEnded: 1,
  /**
   * The entry under the cursor is no plain put, begins a row of which more than the newest versions
   * are wanted, is to be shown to a filter while the collector is full, or is of a row that is too
   * long to be read backwards.
   */
  rulesNeeded: 2,
  /** The collector is full, and a cell of the row waits. */
  full: 3,
  /** The collector wants no more rows. */
  enough: 4,
  /** The row under the cursor is out of bounds, or no row is left. */
  bound: 5,
  /** The filter has ended the scan; the cursor is still in the row. */
  scanEnded: 6,
} as const
export type ReadStep = (typeof ReadStep)[keyof typeof ReadStep]

/** Number of older versions of a column that are stepped over before a seek past the column. */
const stepsBeforeSeek = 4

/**
 * Reads forward. With `bounds` reads and ends rows until the collector wants no more, or a row is
 * out of bounds; without, reads the row in progress, which is not ended. REQUIRES
 * {@link StoreRead.isNewest}; with bounds, that all columns are requested, and at least
 * {@link StoreRead.wantsPlainRows}. If a move throws, it stays planned.
 */
export function readPlain(
  cursor: Cursor,
  position: ReadPosition,
  read: StoreRead,
  rows: PlainRows,
  bounds: RowBounds | undefined,
  collector: RowTarget,
): ReadStep {
  const { readPoint, oldest } = read
  const { columns, filter } = read.query
  position.rows = 0
  try {
    while (cursor.valid) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
      const end = rowEndOf(buffer, keyStart, keyEnd)
      const { inRow, buffer: row } = position
      if (inRow && !equalBytes(row, position.rowStart, position.rowEnd, buffer, keyStart, end)) {
        position.inRow = false
        if (bounds === undefined) return ReadStep.rowEnded
        collector.endRow()
        if (!collector.wantsRows) return ReadStep.enough
      }
      const isPlain = isVisiblePut(buffer, keyEnd, valueStart, readPoint, oldest)
      if (!isPlain) return ReadStep.rulesNeeded
      if (!position.inRow) {
        if (isOutside(buffer, keyStart, end, bounds!)) return ReadStep.bound
        position.startRow(buffer, keyStart, end)
        position.rows++
      }
      const start = end + terminatorBytes
      const qualifierEnd = qualifierEndOf(keyEnd)
      if (columns !== undefined) {
        if (position.columnIndex === columns.length) return ReadStep.columnsEnded
        if (!findColumn(cursor, position, read, start, columns[position.columnIndex])) continue
      } else if (position.isReached(buffer, start, qualifierEnd)) {
        if (!passVersion(cursor, position, read, start)) return ReadStep.rulesNeeded
        continue
      }
      // A filter may exclude the rest of the row: then no cell waits.
      if (collector.full) return filter === undefined ? ReadStep.full : ReadStep.rulesNeeded
      position.passed = 0
      if (position.qualifierEnd === 0 && columns === undefined) {
        if (rows.take(cursor, position, read, start - keyStart, collector)) {
          if (rows.hasEnded) return ReadStep.scanEnded
          cursor.next()
          continue
        }
      }
      if (!read.isNewest) return ReadStep.rulesNeeded
      // An assignment of the same object costs a write barrier too.
      if (position.buffer !== buffer) position.buffer = buffer
      position.rowStart = keyStart
      position.rowEnd = end
      position.qualifierEnd = qualifierEnd
      collector.addRange(rows.familyIndex, buffer, keyStart, keyEnd, valueEnd)
      if (columns !== undefined) {
        if (++position.columnIndex === columns.length) return ReadStep.columnsEnded
        // A step would make deferred cursors seek for an unwanted version.
        if (!read.mayStep) continue
        position.passed = 1
      }
      cursor.next()
    }
  } catch (error) {
    position.planAgain()
    throw error
  }
  const isOpen = position.inRow
  position.inRow = false
  if (bounds === undefined) return ReadStep.rowEnded
  if (isOpen) collector.endRow()
  return collector.wantsRows ? ReadStep.bound : ReadStep.enough
}

/**
 * Moves from an older version of the column reached; false if the column has many and must not be
 * skipped.
 */
function passVersion(
  cursor: Cursor,
  position: ReadPosition,
  read: StoreRead,
  start: number,
): boolean {
  const { buffer, keyStart, keyEnd } = cursor
  const end = qualifierEndOf(keyEnd)
  if (position.passed++ < stepsBeforeSeek) cursor.next()
  else if (start === end && read.hasFamilyMarkers) return false
  else {
    position.target.setBehind(buffer, keyStart, end)
    position.seekNow(cursor)
  }
  return true
}

/**
 * Whether the cell under the cursor is in `column`, the first requested one that is not complete.
 * If not, moves towards the column, or completes it because the cell is after it.
 */
function findColumn(
  cursor: Cursor,
  position: ReadPosition,
  read: StoreRead,
  start: number,
  column: Buffer,
): boolean {
  const { buffer, keyStart, keyEnd } = cursor
  const end = qualifierEndOf(keyEnd)
  const order = compareBytes(buffer, start, end, column, 0, column.length)
  if (order === 0) return true
  if (order > 0) {
    position.columnIndex++
    position.passed = 0
  } else if (start === end && read.hasFamilyMarkers) cursor.next()
  else if (read.mayStep && position.passed++ === 0) cursor.next()
  else {
    position.target.setColumn(buffer, keyStart, start, column)
    position.seekNow(cursor)
  }
  return false
}

/** Whether a row is past the last one of the bounds. */
export function isOutside(buffer: Buffer, start: number, end: number, bounds: RowBounds): boolean {
  const { stop, stopInclusive, reversed } = bounds
  if (stop === undefined) return false
  const order = compareBytes(buffer, start, end, stop, 0, stop.length)
  if (order === 0) return !stopInclusive
  return reversed ? order < 0 : order > 0
}
