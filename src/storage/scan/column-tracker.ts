/**
 * Decides which columns and how many versions of each a read or a flush keeps. Duplicates of one
 * timestamp count once. VERSIONS and MIN_VERSIONS are counted here.
 *
 * One class serves both "all columns" and an explicit list, so that the hot loop stays monomorphic.
 */
import { compareBytes, equalBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { MatchCode } from './query.js'

export class ColumnTracker {
  private columns: readonly Buffer[] | undefined = undefined
  private versionsMax = 1
  private versionsMin = 0
  private oldestHigh = 0
  private oldestLow = 0
  /** Position in the list of asked columns. */
  private index = 0
  private count = 0
  /**
   * Qualifier of the column being counted, within a key of the row; undefined at the start of a
   * row.
   */
  columnBuffer: Buffer | undefined = undefined
  columnStart = 0
  columnEnd = 0
  /** Timestamp and type last counted, to drop duplicates; type 0 = nothing yet. */
  private lastHigh = 0
  private lastLow = 0
  private lastType = 0

  /**
   * Prepares for a query. Puts older than `oldest` have outlived the family's TTL; (0, 0) = none
   * have.
   */
  configure(
    columns: readonly Buffer[] | undefined,
    versionsMax: number,
    versionsMin: number,
    oldestHigh: number,
    oldestLow: number,
  ): void {
    this.columns = columns
    this.versionsMax = versionsMax
    this.versionsMin = versionsMin
    this.oldestHigh = oldestHigh
    this.oldestLow = oldestLow
    this.reset()
  }

  /** A new row begins. */
  reset(): void {
    this.index = 0
    this.count = 0
    this.columnBuffer = undefined
    this.lastType = 0
  }

  /** Copies the qualifier that is remembered by where it lies: that memory is about to go. */
  detach(): void {
    if (this.columnBuffer === undefined) return
    this.columnBuffer = Buffer.from(this.columnBuffer.subarray(this.columnStart, this.columnEnd))
    this.columnEnd -= this.columnStart
    this.columnStart = 0
  }

  /** All asked columns of the row have been served. */
  get done(): boolean {
    return this.columns !== undefined && this.index >= this.columns.length
  }

  /**
   * The asked column to jump to next, or undefined if all columns are wanted. REQUIRES not done.
   */
  get nextColumn(): Buffer | undefined {
    return this.columns?.[this.index]
  }

  /** Position of the first asked column that was not served yet. */
  get position(): number {
    return this.index
  }

  /** Another reader served the asked columns before a position. */
  moveTo(position: number): void {
    this.index = position
  }

  /** Whether the cell's age alone rules out its column from here on (no MIN_VERSIONS). */
  expiredForGood(cell: CellView): boolean {
    return this.versionsMin <= 0 && this.isExpired(cell)
  }

  /** Checks a put (or, in raw scans and compactions, a marker) and counts it. */
  check(cell: CellView): MatchCode {
    if (this.columns !== undefined) {
      const code = this.checkExplicit(cell, this.columns)
      if (code !== MatchCode.include) return code
    }
    if (!this.isCurrent(cell.buffer, cell.qualifierStart, cell.qualifierEnd)) this.startColumn(cell)
    if (
      this.lastType === cell.type &&
      this.lastHigh === cell.timestampHigh &&
      this.lastLow === cell.timestampLow
    ) {
      return MatchCode.skip
    }
    if (!isDeleteMarker(cell.type)) this.count++
    if (this.count > this.versionsMax) return this.leaveColumn()
    const expired = this.isExpired(cell)
    if (this.count > this.versionsMin && expired) return this.leaveColumn()
    this.lastType = cell.type
    this.lastHigh = cell.timestampHigh
    this.lastLow = cell.timestampLow
    if (this.columns === undefined) return MatchCode.include
    if (this.count < this.versionsMax && !(this.count >= this.versionsMin && expired)) {
      return MatchCode.include
    }
    this.index++
    return this.done ? MatchCode.includeAndSeekNextRow : MatchCode.includeAndSeekNextColumn
  }

  /** Whether the column of the cell has all the puts that are kept of it. */
  isFull(cell: CellView): boolean {
    const { buffer, qualifierStart, qualifierEnd } = cell
    if (!this.isCurrent(buffer, qualifierStart, qualifierEnd)) return false
    if (this.count >= this.versionsMax) return true
    const { lastHigh, lastLow, oldestHigh, oldestLow } = this
    if (this.count === 0 || this.count < this.versionsMin) return false
    return compareTimestamps(lastHigh, lastLow, oldestHigh, oldestLow) < 0
  }

  /** Whether a qualifier is that of the column being counted. */
  private isCurrent(buffer: Buffer, start: number, end: number): boolean {
    return (
      this.columnBuffer !== undefined &&
      equalBytes(this.columnBuffer, this.columnStart, this.columnEnd, buffer, start, end)
    )
  }

  /** Counts the first put of a column without looking at it further. REQUIRES no asked columns. */
  countFirst(buffer: Buffer, qualifierStart: number, qualifierEnd: number): void {
    this.columnBuffer = buffer
    this.columnStart = qualifierStart
    this.columnEnd = qualifierEnd
    this.count = 1
    this.lastType = 0
  }

  /** The rest of the cell's column is not wanted. */
  skipColumn(cell: CellView): MatchCode {
    this.finishColumn(cell)
    return this.done ? MatchCode.seekNextRow : MatchCode.seekNextColumn
  }

  /** Moves the list of asked columns after the cell's column. */
  finishColumn(cell: CellView): void {
    const columns = this.columns
    if (columns === undefined) return
    while (this.index < columns.length && compareQualifier(cell, columns[this.index]) >= 0) {
      this.index++
    }
  }

  private checkExplicit(cell: CellView, columns: readonly Buffer[]): MatchCode {
    while (this.index < columns.length) {
      const order = compareQualifier(cell, columns[this.index])
      if (order === 0) return MatchCode.include
      if (order < 0) return MatchCode.seekNextColumn
      this.index++
    }
    return MatchCode.seekNextRow
  }

  private leaveColumn(): MatchCode {
    if (this.columns === undefined) return MatchCode.seekNextColumn
    this.index++
    return this.done ? MatchCode.seekNextRow : MatchCode.seekNextColumn
  }

  private startColumn(cell: CellView): void {
    this.columnBuffer = cell.buffer
    this.columnStart = cell.qualifierStart
    this.columnEnd = cell.qualifierEnd
    this.count = 0
    this.lastType = 0
  }

  private isExpired(cell: CellView): boolean {
    return (
      compareTimestamps(cell.timestampHigh, cell.timestampLow, this.oldestHigh, this.oldestLow) < 0
    )
  }
}

/** Compares the qualifier of a cell with an escaped qualifier. */
export function compareQualifier(cell: CellView, column: Buffer): number {
  return compareBytes(cell.buffer, cell.qualifierStart, cell.qualifierEnd, column, 0, column.length)
}
