/**
 * Decides which columns, and how many versions of each, a read or a flush keeps. Counts VERSIONS
 * and MIN_VERSIONS; cells of one column and timestamp count once.
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
  /** Index in the list of requested columns. */
  private index = 0
  private count = 0
  /**
   * Qualifier of the current column, as a range within a key of the row; undefined at the start of
   * a row.
   */
  columnBuffer: Buffer | undefined = undefined
  columnStart = 0
  columnEnd = 0
  /** Timestamp and type counted last, to drop duplicates; type 0: no cell was counted. */
  private lastHigh = 0
  private lastLow = 0
  private lastType = 0

  /**
   * Prepares for a query. Puts older than `oldest` are expired by the family's TTL; (0, 0): no put
   * is.
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

  /** Starts a row. */
  reset(): void {
    this.index = 0
    this.count = 0
    this.columnBuffer = undefined
    this.lastType = 0
  }

  /** Copies the borrowed qualifier, because its memory is about to be released. */
  detach(): void {
    if (this.columnBuffer === undefined) return
    this.columnBuffer = Buffer.from(this.columnBuffer.subarray(this.columnStart, this.columnEnd))
    this.columnEnd -= this.columnStart
    this.columnStart = 0
  }

  /** Whether all requested columns of the row are complete. */
  get done(): boolean {
    return this.columns !== undefined && this.index >= this.columns.length
  }

  /**
   * The requested column to seek next; undefined if all columns are requested. REQUIRES not done.
   */
  get nextColumn(): Buffer | undefined {
    return this.columns?.[this.index]
  }

  /** Index of the first requested column that is not complete. */
  get position(): number {
    return this.index
  }

  /** Skips the requested columns before an index, which the fast path has served. */
  moveTo(position: number): void {
    this.index = position
  }

  /** Whether the age of the cell excludes the rest of its column (there is no MIN_VERSIONS). */
  expiredForGood(cell: CellView): boolean {
    return this.versionsMin <= 0 && this.isExpired(cell)
  }

  /** Decides on a put (or, in raw scans and compactions, a marker) and counts it. */
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

  /** Whether the column of the cell already has the maximum number of puts. */
  isFull(cell: CellView): boolean {
    const { buffer, qualifierStart, qualifierEnd } = cell
    if (!this.isCurrent(buffer, qualifierStart, qualifierEnd)) return false
    if (this.count >= this.versionsMax) return true
    const { lastHigh, lastLow, oldestHigh, oldestLow } = this
    if (this.count === 0 || this.count < this.versionsMin) return false
    return compareTimestamps(lastHigh, lastLow, oldestHigh, oldestLow) < 0
  }

  /** Whether a qualifier is that of the current column. */
  private isCurrent(buffer: Buffer, start: number, end: number): boolean {
    return (
      this.columnBuffer !== undefined &&
      equalBytes(this.columnBuffer, this.columnStart, this.columnEnd, buffer, start, end)
    )
  }

  /** Counts the first put of a column without further checks. REQUIRES no requested columns. */
  countFirst(buffer: Buffer, qualifierStart: number, qualifierEnd: number): void {
    this.columnBuffer = buffer
    this.columnStart = qualifierStart
    this.columnEnd = qualifierEnd
    this.count = 1
    this.lastType = 0
  }

  /** Leaves the cell's column: the rest of it is not wanted. */
  skipColumn(cell: CellView): MatchCode {
    this.finishColumn(cell)
    return this.done ? MatchCode.seekNextRow : MatchCode.seekNextColumn
  }

  /** Advances the list of requested columns past the cell's column. */
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
