/**
 * Applies a retention matcher to a sorted stream of cells. Finds the ends of rows and columns, and
 * skips dropped cells. Counts them, so that a job can prove that its numbers add up.
 *
 * REQUIRES that the memory of a cell stays unchanged until a later cell has entered another row.
 * Filter and matcher refer to cells of the current row in place.
 */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import type { CellView } from '../cell/cell-view.js'
import { MatchCode } from '../scan/query.js'
import {
  RetentionMatcher,
  type DropReason,
  type RetentionScope,
} from '../scan/retention-matcher.js'
import { noDrops, type DropCounts } from './job.js'

export class RetentionFilter {
  /** Number of cells dropped so far. */
  dropped = 0
  readonly droppedBy: DropCounts = noDrops()
  private readonly matcher: RetentionMatcher
  private readonly sequenceKept: number
  private readonly dropsMarkers: boolean
  private readonly ttlSeconds: number
  /** The current row is `row[rowStart, rowEnd)`; an end of -1 stands for none. */
  private row: Buffer = emptyBytes
  private rowStart = 0
  private rowEnd = -1
  private skippingColumn = false
  private skipReason: DropReason = 'versions'
  /** The qualifier that is being skipped is `column[columnStart, columnEnd)`. */
  private column: Buffer = emptyBytes
  private columnStart = 0
  private columnEnd = 0

  constructor(scope: RetentionScope) {
    this.matcher = new RetentionMatcher(scope)
    this.sequenceKept = scope.sequenceKept
    this.dropsMarkers = scope.dropsMarkers
    this.ttlSeconds = scope.options.ttlSeconds
  }

  /**
   * Whether the cell is the first of its row. Must be called for each cell before {@link keeps}.
   */
  entersRow(cell: CellView): boolean {
    const { buffer, keyStart, rowEnd } = cell
    if (equalBytes(buffer, keyStart, rowEnd, this.row, this.rowStart, this.rowEnd)) return false
    this.row = buffer
    this.rowStart = keyStart
    this.rowEnd = rowEnd
    this.skippingColumn = false
    this.matcher.startRow()
    return true
  }

  /** Whether no rule drops the only put of a column without TTL of its own. */
  get keepsPlainRows(): boolean {
    return this.ttlSeconds === Infinity
  }

  /** Whether the cell is kept. REQUIRES key order. */
  keeps(cell: CellView): boolean {
    if (cell.sequence <= this.sequenceKept) return true
    if (this.skippingColumn) {
      if (!this.inSkippedColumn(cell)) this.skippingColumn = false
      else if (!this.mayKeepBehindSkipped(cell)) {
        this.count(isDeleteMarker(cell.type) ? 'markers' : this.skipReason)
        return false
      }
    }
    const code = this.matcher.match(cell)
    if (code === MatchCode.include) return true
    this.count(this.matcher.reason)
    // Markers of the family follow in the empty column, so that column is never skipped as a whole.
    if (code === MatchCode.seekNextColumn && cell.qualifierEnd > cell.qualifierStart) {
      this.skippingColumn = true
      this.skipReason = this.matcher.reason
      this.column = cell.buffer
      this.columnStart = cell.qualifierStart
      this.columnEnd = cell.qualifierEnd
    }
    return false
  }

  /**
   * Whether the matcher must decide on a cell after dropped versions of its column: on a marker,
   * which may mask cells of other files. If all files of the store are merged, there are no such
   * cells. Then the marker is dropped with the versions, as in HBase, however long markers are to
   * be kept.
   */
  private mayKeepBehindSkipped(cell: CellView): boolean {
    return isDeleteMarker(cell.type) && !this.dropsMarkers
  }

  private count(reason: DropReason): void {
    this.dropped++
    this.droppedBy[reason]++
  }

  private inSkippedColumn(cell: CellView): boolean {
    return equalBytes(
      cell.buffer,
      cell.qualifierStart,
      cell.qualifierEnd,
      this.column,
      this.columnStart,
      this.columnEnd,
    )
  }
}
