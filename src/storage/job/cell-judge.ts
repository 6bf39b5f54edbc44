/**
 * Decides which cells of a sorted stream a job writes: first HBase's retention rules apply, then
 * the cell hooks of coprocessors. HBase's `preCompact` wraps the scanner in the same order. Finds
 * the ends of rows and columns, and skips dropped cells. Counts them by reason, so that a job can
 * prove that its numbers add up.
 *
 * REQUIRES that the memory of a cell stays unchanged until a later cell has entered another row:
 * the cells of the current row are referred to in place.
 */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { CellView } from '../cell/cell-view.js'
import { HookChain, type HookOutcome, type HookPlan } from '../coprocessor/hook-chain.js'
import { MatchCode } from '../scan/query.js'
import {
  RetentionMatcher,
  type DropReason,
  type RetentionScope,
} from '../scan/retention-matcher.js'
import type { ValueSource } from '../scan/store-read.js'
import { noDrops, type DropCounts } from './job.js'

/** The totals of a judge after a job. */
export interface Judgement {
  readonly entriesDropped: number
  readonly dropped: DropCounts
  readonly hooks: readonly HookOutcome[]
}

export class CellJudge {
  private readonly scope: RetentionScope
  private readonly matcher: RetentionMatcher
  private readonly chain: HookChain | undefined
  private readonly values: ValueSource | undefined
  private readonly dropped = noDrops()
  /** A cell with its value in place of a reference, for hooks. */
  private readonly resolved = new CellView()
  /** Number of the row within the job, for hooks. */
  private rowNumber = 0
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

  /**
   * `values` follows the references of cells; undefined = there are none. Throws `ERR_COPROCESSOR`
   * if a hook cannot be made.
   */
  constructor(scope: RetentionScope, hooks: HookPlan | undefined, values?: ValueSource) {
    this.scope = scope
    this.matcher = new RetentionMatcher(scope)
    this.chain = hooks === undefined ? undefined : new HookChain(hooks)
    this.values = values
  }

  /**
   * Whether the cell is the first of its row. Must be called for each cell before {@link judge}.
   */
  entersRow(cell: CellView): boolean {
    const { buffer, keyStart, rowEnd } = cell
    if (equalBytes(buffer, keyStart, rowEnd, this.row, this.rowStart, this.rowEnd)) return false
    this.row = buffer
    this.rowStart = keyStart
    this.rowEnd = rowEnd
    this.rowNumber++
    this.skippingColumn = false
    this.matcher.startRow()
    return true
  }

  /**
   * Whether all cells of a plain row are kept, if no other input has cells of the row. Such a row
   * has one put of each column and no marker, so that only age or a hook could drop a cell.
   */
  get keepsPlainRows(): boolean {
    return this.chain === undefined && this.scope.options.ttlSeconds === Infinity
  }

  /**
   * The cell to write, borrowed: `cell` itself or the result of a hook; undefined = drop the cell.
   * REQUIRES key order.
   */
  judge(cell: CellView): CellView | undefined {
    if (!this.keeps(cell)) return undefined
    if (this.chain === undefined) return cell
    if (this.values === undefined || !cell.isReference) {
      return this.chain.apply(cell, this.rowNumber)
    }
    return this.judgeResolved(this.chain, this.values, cell)
  }

  /** Lets hooks see the value itself. A cell that they keep unchanged keeps its reference. */
  private judgeResolved(
    chain: HookChain,
    values: ValueSource,
    cell: CellView,
  ): CellView | undefined {
    const { resolved } = this
    resolved.set(cell)
    resolved.family = cell.family
    resolved.familyIndex = cell.familyIndex
    values.resolve(resolved, true)
    const kept = chain.apply(resolved, this.rowNumber)
    return kept === resolved ? cell : kept
  }

  /** Whether the retention rules keep the cell. */
  private keeps(cell: CellView): boolean {
    if (cell.sequence <= this.scope.sequenceKept) return true
    if (this.skippingColumn) {
      if (!this.inSkippedColumn(cell)) this.skippingColumn = false
      else if (!this.mayKeepBehindSkipped(cell)) {
        this.dropped[isDeleteMarker(cell.type) ? 'markers' : this.skipReason]++
        return false
      }
    }
    const code = this.matcher.match(cell)
    if (code === MatchCode.include) return true
    this.dropped[this.matcher.reason]++
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
    return isDeleteMarker(cell.type) && !this.scope.dropsMarkers
  }

  private inSkippedColumn({ buffer, qualifierStart, qualifierEnd }: CellView): boolean {
    const { column, columnStart, columnEnd } = this
    return equalBytes(buffer, qualifierStart, qualifierEnd, column, columnStart, columnEnd)
  }

  /** Ends the hooks and returns the totals. */
  finish(): Judgement {
    const hooks = this.chain?.finish() ?? []
    const dropped = { ...this.dropped, hooks: this.chain?.dropped ?? 0 }
    const entriesDropped = Object.values(dropped).reduce((sum, count) => sum + count, 0)
    return { entriesDropped, dropped, hooks }
  }
}
