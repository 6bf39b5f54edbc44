/**
 * Decides which cells of a store a get or scan sees, exactly as HBase does, one cell at a time in
 * store order. Covers raw scans and families with NEW_VERSION_BEHAVIOR.
 *
 * Steps per cell: read point, age (family TTL, cell TTL), delete markers, time range, masking,
 * column selection and versions, filter, versions again after the filter.
 *
 * Invariants: `startRow` is called before the first cell of each row; cells of a row arrive in
 * order. Position and matcher keep references into cell memory of the current row only.
 */
import { wrongAnswer } from '../filter/arguments.js'
import type { Moment } from '../../base/clock.js'
import { plainValueFlags } from '../cell/cell-value.js'
import type { CellView } from '../cell/cell-view.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { FilterCode, type Filter } from '../filter/filter.js'
import { BorrowedQualifier } from './borrowed-qualifier.js'
import { ColumnTracker, compareQualifier } from './column-tracker.js'
import { DeleteTracker, Masking } from './delete-tracker.js'
import { MatchCode, type RetentionOptions, type StoreQuery } from './query.js'
import type { ReadPosition } from './read-position.js'
import { WriteOrderTracker } from './write-order-tracker.js'

export class UserMatcher {
  private readonly deletes = new DeleteTracker()
  private readonly columns: ColumnTracker
  /** Replaces `deletes` with NEW_VERSION_BEHAVIOR. */
  private history: WriteOrderTracker | undefined = undefined
  private readonly ownHistory = new WriteOrderTracker()
  private query!: StoreQuery
  private options: RetentionOptions | undefined = undefined
  private filter: Filter | undefined = undefined
  private readPoint = 0
  private moment!: Moment
  private seesPastMarkers = false
  private versionsAfterFilter = 1
  /** Number of cells of the current column that passed the filter. */
  private passed = 0
  private readonly passedColumn = new BorrowedQualifier()
  /** Whether the filter has left the empty column of this row. */
  private emptyColumnLeft = false

  /** The matcher reaches and completes columns of `position`; its caller starts the rows there. */
  constructor(position: ReadPosition) {
    this.columns = new ColumnTracker(position)
  }

  /** Prepares for a read at `readPoint`; `moment` is the read time, which decides expiry. */
  configure(query: StoreQuery, options: RetentionOptions, readPoint: number, moment: Moment): void {
    const isSame = query === (this.query as StoreQuery | undefined) && options === this.options
    this.readPoint = readPoint
    this.moment = moment
    // Without a TTL the configuration does not depend on the time.
    if (isSame && options.ttlSeconds === Infinity) return
    const wanted = query.raw ? query.versions : Math.min(query.versions, options.versions)
    const kept = query.raw ? Infinity : options.versions
    const beforeFilter = query.filter === undefined ? wanted : kept
    const expires = options.ttlSeconds !== Infinity && !query.raw
    const oldest = expires ? oldestUnexpired(options, moment.milliseconds) : 0
    this.query = query
    this.options = options
    this.filter = query.filter
    this.seesPastMarkers = options.keepDeletedCells !== 'FALSE'
    this.versionsAfterFilter = wanted
    if (options.newVersionBehavior && !query.raw) {
      this.history = this.ownHistory
      this.history.configure(options.versions)
    } else {
      this.history = undefined
    }
    this.columns.configure(
      query.columns,
      beforeFilter,
      query.raw ? 0 : options.minVersions,
      Math.floor(oldest / 0x1_0000_0000),
      oldest >>> 0,
    )
  }

  /** Starts to follow the row of the position, which has reached a column only in plain puts. */
  startRow(): void {
    this.deletes.reset()
    this.history?.startRow()
    this.columns.resume()
    this.passedColumn.clear()
    this.emptyColumnLeft = false
  }

  /** Copies the state of the row, because the memory of the cells seen is about to be released. */
  detach(): void {
    this.deletes.detach()
    this.history?.detach()
    this.passedColumn.detach()
  }

  /** The column to seek after `seekNextColumn` at a cell, if query or filter name one. */
  nextColumn(cell: CellView): Buffer | undefined {
    const asked = this.columns.nextColumn
    const only = this.filter?.onlyColumn
    if (asked !== undefined || only === undefined || only.family !== cell.family) return asked
    return compareQualifier(cell, only.qualifier) < 0 ? only.qualifier : undefined
  }

  /** Follows the row again after the plain loop has reached another column. */
  resume(): void {
    this.columns.resume()
  }

  /** Whether no marker of the row can mask a later cell. */
  get unmasked(): boolean {
    return this.deletes.empty
  }

  match(cell: CellView): MatchCode {
    if (cell.sequence > this.readPoint) return MatchCode.skip
    const filter = this.filter
    if (filter !== undefined && filter.filterAllRemaining()) return MatchCode.endScan
    const columns = this.columns
    if (columns.done) return MatchCode.seekNextRow
    if (columns.expiredForGood(cell)) return columns.skipColumn(cell)
    if (hasOwnTtl(cell) && outlivedOwnTtl(cell, this.moment.milliseconds)) return MatchCode.skip
    if (this.history !== undefined) {
      const code = this.matchHistory(this.history, cell)
      if (code !== undefined) return code
    } else if (!this.query.raw) {
      if (isDeleteMarker(cell.type)) {
        if (this.markerApplies(cell)) this.deletes.add(cell)
        return MatchCode.skip
      }
      if (!this.deletes.empty) {
        const masking = this.deletes.masking(cell)
        if (masking === Masking.column) return columns.skipColumn(cell)
        if (masking === Masking.version) return MatchCode.skip
      }
    }
    const range = this.query.timeRange
    const high = cell.timestampHigh
    const low = cell.timestampLow
    if (compareTimestamps(high, low, range.maxHigh, range.maxLow) >= 0) return MatchCode.skip
    if (compareTimestamps(high, low, range.minHigh, range.minLow) < 0) {
      return columns.skipColumn(cell)
    }
    if (this.emptyColumnLeft && cell.qualifierStart === cell.qualifierEnd) return MatchCode.skip
    const code = columns.check(cell)
    if (filter === undefined || code > MatchCode.includeAndSeekNextRow) return code
    return this.applyFilter(filter, cell, code)
  }

  /** Undefined for a visible put. Versions are counted before the time range is applied. */
  private matchHistory(history: WriteOrderTracker, cell: CellView): MatchCode | undefined {
    if (isDeleteMarker(cell.type)) {
      if (this.markerApplies(cell)) history.addMarker(cell)
      return MatchCode.skip
    }
    if (history.sees(cell)) return undefined
    return history.isColumnFull ? this.columns.skipColumn(cell) : MatchCode.skip
  }

  /** Without KEEP_DELETED_CELLS a marker also masks if it is newer than the time range. */
  private markerApplies(cell: CellView): boolean {
    const range = this.query.timeRange
    const high = cell.timestampHigh
    const low = cell.timestampLow
    if (compareTimestamps(high, low, range.minHigh, range.minLow) < 0) return false
    return !this.seesPastMarkers || compareTimestamps(high, low, range.maxHigh, range.maxLow) < 0
  }

  private applyFilter(filter: Filter, cell: CellView, code: MatchCode): MatchCode {
    const answer = filter.filterCell(cell)
    switch (answer) {
      case FilterCode.skip:
        if (code === MatchCode.include) return MatchCode.skip
        return code === MatchCode.includeAndSeekNextColumn
          ? MatchCode.seekNextColumn
          : MatchCode.seekNextRow
      case FilterCode.nextColumn:
        this.leaveEmptyColumn(cell)
        return code === MatchCode.includeAndSeekNextRow
          ? MatchCode.seekNextRow
          : this.columns.skipColumn(cell)
      case FilterCode.nextRow:
        return MatchCode.seekNextRow
      case FilterCode.seekUsingHint:
        return MatchCode.seekUsingHint
      case FilterCode.includeAndNextRow:
        return this.countPassed(cell, MatchCode.includeAndSeekNextRow)
      case FilterCode.includeAndNextColumn: {
        this.leaveEmptyColumn(cell)
        if (code !== MatchCode.include) return this.countPassed(cell, code)
        this.columns.finishColumn(cell)
        return this.countPassed(
          cell,
          this.columns.done ? MatchCode.includeAndSeekNextRow : MatchCode.includeAndSeekNextColumn,
        )
      }
      case FilterCode.include:
        return this.countPassed(cell, code)
      default:
        throw wrongAnswer('filterCell', 'a FilterCode', answer)
    }
  }

  /**
   * Called when the filter has left the column of the cell, or has passed as many versions as are
   * wanted. The scanner steps through an empty column that may have markers of the family, so the
   * matcher skips the rest of that column without the filter.
   */
  leaveEmptyColumn(cell: CellView): void {
    if (cell.qualifierStart === cell.qualifierEnd) this.emptyColumnLeft = true
  }

  /** Applies the requested number of versions to the cells that passed the filter. */
  private countPassed(cell: CellView, code: MatchCode): MatchCode {
    if (!this.passedColumn.isOf(cell)) {
      this.passedColumn.set(cell)
      this.passed = 0
    }
    this.passed++
    if (this.passed <= this.versionsAfterFilter) return code
    this.leaveEmptyColumn(cell)
    return code === MatchCode.includeAndSeekNextRow
      ? MatchCode.seekNextRow
      : this.columns.skipColumn(cell)
  }
}

/** The oldest timestamp that is not expired by the family's TTL; 0 if the TTL is infinite. */
export function oldestUnexpired(options: RetentionOptions, now: number): number {
  return options.ttlSeconds === Infinity
    ? 0
    : Math.max(0, Math.round(now - options.ttlSeconds * 1000))
}

function hasOwnTtl(cell: CellView): boolean {
  return cell.buffer[cell.valueStart] !== plainValueFlags
}

/** Whether the cell's own TTL has passed (timestamp + TTL < now). */
export function outlivedOwnTtl(cell: CellView, now: number): boolean {
  const ttl = cell.ttlMilliseconds
  return ttl > 0 && cell.timestamp + ttl < now
}
