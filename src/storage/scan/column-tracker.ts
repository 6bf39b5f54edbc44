/**
 * Decides which columns, and how many versions of each, a read or a flush keeps. Counts VERSIONS
 * and MIN_VERSIONS; cells of one column and timestamp count once.
 *
 * One class serves both "all columns" and an explicit list, so that the hot loop stays monomorphic.
 */
import { compareBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { MatchCode } from './query.js'
import type { ReadPosition } from './read-position.js'

export class ColumnTracker {
  private columns: readonly Buffer[] | undefined = undefined
  private versionsMax = 1
  private versionsMin = 0
  private oldestHigh = 0
  private oldestLow = 0
  /** Number of puts counted of the column reached. */
  private count = 0
  /** Holds the column reached, and the index of the first requested one that is not complete. */
  readonly position: ReadPosition
  /** Timestamp and type counted last, to drop duplicates; type 0: no cell was counted. */
  private lastHigh = 0
  private lastLow = 0
  private lastType = 0

  constructor(position: ReadPosition) {
    this.position = position
  }

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
  }

  /** Continues at the position, which has reached a column by its first put, or none. */
  resume(): void {
    this.count = this.position.qualifierEnd === 0 ? 0 : 1
    this.lastType = 0
  }

  /** Whether all requested columns of the row are complete. */
  get done(): boolean {
    return this.columns !== undefined && this.position.columnIndex >= this.columns.length
  }

  /**
   * The requested column to seek next; undefined if all columns are requested. REQUIRES not done.
   */
  get nextColumn(): Buffer | undefined {
    return this.columns?.[this.position.columnIndex]
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
    const { position } = this
    if (!position.isReached(cell.buffer, cell.qualifierStart, cell.qualifierEnd)) {
      position.reach(cell)
      this.count = 0
      this.lastType = 0
    }
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
    position.columnIndex++
    return this.done ? MatchCode.includeAndSeekNextRow : MatchCode.includeAndSeekNextColumn
  }

  /** Whether the column of the cell already has the maximum number of puts. */
  isFull(cell: CellView): boolean {
    const { buffer, qualifierStart, qualifierEnd } = cell
    if (!this.position.isReached(buffer, qualifierStart, qualifierEnd)) return false
    if (this.count >= this.versionsMax) return true
    const { lastHigh, lastLow, oldestHigh, oldestLow } = this
    if (this.count === 0 || this.count < this.versionsMin) return false
    return compareTimestamps(lastHigh, lastLow, oldestHigh, oldestLow) < 0
  }

  /** Leaves the cell's column: the rest of it is not wanted. */
  skipColumn(cell: CellView): MatchCode {
    this.finishColumn(cell)
    return this.done ? MatchCode.seekNextRow : MatchCode.seekNextColumn
  }

  /** Advances the list of requested columns past the cell's column. */
  finishColumn(cell: CellView): void {
    const { columns, position } = this
    if (columns === undefined) return
    while (position.columnIndex < columns.length) {
      if (compareQualifier(cell, columns[position.columnIndex]) < 0) return
      position.columnIndex++
    }
  }

  private checkExplicit(cell: CellView, columns: readonly Buffer[]): MatchCode {
    const { position } = this
    while (position.columnIndex < columns.length) {
      const order = compareQualifier(cell, columns[position.columnIndex])
      if (order === 0) return MatchCode.include
      if (order < 0) return MatchCode.seekNextColumn
      position.columnIndex++
    }
    return MatchCode.seekNextRow
  }

  private leaveColumn(): MatchCode {
    if (this.columns === undefined) return MatchCode.seekNextColumn
    this.position.columnIndex++
    return this.done ? MatchCode.seekNextRow : MatchCode.seekNextColumn
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
