/**
 * Plans the move after the decision of the matcher on a cell.
 *
 * Markers of the family carry the empty qualifier and are sorted by timestamp among the cells of
 * the empty column. So that column is stepped through if there are any: the matcher has to see
 * them. A filter's hint to leave the column is followed after its end.
 */
import { checkedHint } from '../filter/arguments.js'
import type { CellView } from '../cell/cell-view.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { MatchCode } from './query.js'
import { Move, type ReadPosition } from './read-position.js'
import { SeekKey } from '../filter/seek-key.js'
import type { StoreRead } from './store-read.js'
import type { UserMatcher } from './user-matcher.js'

export class RuleMoves {
  /** The read, set when it is opened. */
  read!: StoreRead
  private readonly cell: CellView
  private readonly position: ReadPosition
  private readonly matcher: UserMatcher
  /** Whether {@link hint} waits for the end of the empty column. */
  private hintWaits = false
  private readonly hint = new SeekKey()

  constructor(cell: CellView, position: ReadPosition, matcher: UserMatcher) {
    this.cell = cell
    this.position = position
    this.matcher = matcher
  }

  startRow(): void {
    this.hintWaits = false
  }

  /** Plans to follow a waiting hint if the empty column has ended; true if there is such a plan. */
  takeHint(): boolean {
    const { cell, hint, position } = this
    if (!this.hintWaits || cell.qualifierStart === cell.qualifierEnd) return false
    this.hintWaits = false
    if (hint.compare(cell) >= 0) return false
    position.target.copyFrom(hint)
    position.planSeek(Move.column)
    return true
  }

  /** Plans the move after a decision in the row `row[0, rowLength)`. REQUIRES not `endScan`. */
  plan(code: MatchCode, row: Buffer, rowLength: number): void {
    const { position } = this
    switch (code) {
      case MatchCode.includeAndSeekNextColumn:
      case MatchCode.seekNextColumn:
        this.planColumn()
        return
      case MatchCode.includeAndSeekNextRow:
      case MatchCode.seekNextRow:
        this.planRow(row, rowLength)
        return
      case MatchCode.seekUsingHint:
        this.planHint()
        return
      case MatchCode.skip:
        if (!this.planOlder()) position.move = Move.next
        return
      case MatchCode.include:
      case MatchCode.endScan:
        position.move = Move.next
    }
  }

  /** Plans to leave the row. */
  planRow(row: Buffer, rowLength: number): void {
    this.position.planSeek(Move.row)
    this.position.target.setBehind(row, 0, rowLength)
  }

  private planColumn(): void {
    const { cell, position } = this
    const { buffer, keyStart, qualifierStart, qualifierEnd } = cell
    if (qualifierStart === qualifierEnd && this.read.hasFamilyMarkers) {
      position.move = Move.next
      return
    }
    position.planSeek(Move.column)
    const next = this.matcher.nextColumn(cell)
    if (next === undefined) position.target.setBehind(buffer, keyStart, qualifierEnd)
    else position.target.setColumn(buffer, keyStart, qualifierStart, next)
  }

  /**
   * Skips the versions of the cell's column that are newer than the time range. Returns false if
   * the cell is not newer, or if there may be markers or counted versions among them.
   */
  private planOlder(): boolean {
    const { cell, position } = this
    const { hasMarkers, settings, query } = this.read
    const { maxHigh, maxLow } = query.timeRange
    const mayCount = hasMarkers || settings.newVersionBehavior || query.raw
    if (mayCount || maxHigh + maxLow === 0) return false
    if (compareTimestamps(cell.timestampHigh, cell.timestampLow, maxHigh, maxLow) < 0) return false
    position.planSeek(Move.column)
    position.target.setOlderThan(cell, maxHigh, maxLow)
    return true
  }

  private planHint(): void {
    const { cell, position } = this
    const { query, settings, hasFamilyMarkers } = this.read
    const { target } = position
    const hint = checkedHint(query.filter?.nextCellHint?.(cell))
    position.move = Move.next
    if (hint === undefined) return
    target.setHint(hint, !settings.newVersionBehavior)
    // A hint that does not lead forward would stop the scan from making progress.
    if (target.compare(cell) >= 0) return
    const inRow = target.isInRowOf(cell)
    if (inRow && cell.qualifierStart === cell.qualifierEnd && hasFamilyMarkers) {
      if (hint.qualifier?.length === 0) return
      this.matcher.leaveEmptyColumn(cell)
      this.hint.copyFrom(target)
      this.hintWaits = true
      return
    }
    // A column of the same row is often near, another row seldom.
    position.planSeek(inRow ? Move.column : Move.hint)
  }
}
