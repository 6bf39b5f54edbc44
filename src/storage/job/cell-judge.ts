/**
 * Decides which cells a job writes: first HBase's retention rules apply, then the cell hooks of
 * coprocessors. HBase's `preCompact` wraps the scanner in the same order. Counts dropped cells by
 * reason, so that a job can prove that its numbers add up.
 */
import { CellView } from '../cell/cell-view.js'
import { HookChain, type HookOutcome, type HookPlan } from '../coprocessor/hook-chain.js'
import type { ValueSource } from '../scan/store-read.js'
import type { RetentionScope } from '../scan/retention-matcher.js'
import type { DropCounts } from './job.js'
import { RetentionFilter } from './retention-filter.js'

/** The totals of a judge after a job. */
export interface Judgement {
  readonly entriesDropped: number
  readonly dropped: DropCounts
  readonly hooks: readonly HookOutcome[]
}

export class CellJudge {
  private readonly filter: RetentionFilter
  private readonly chain: HookChain | undefined
  /** Number of the row within the job, for hooks. */
  private row = 0
  private readonly values: ValueSource | undefined
  /** A cell with its value in place of a reference, for hooks. */
  private readonly resolved = new CellView()

  /**
   * `values` follows the references of cells; undefined = there are none. Throws `ERR_COPROCESSOR`
   * if a hook cannot be made.
   */
  constructor(scope: RetentionScope, hooks: HookPlan | undefined, values?: ValueSource) {
    this.values = values
    this.filter = new RetentionFilter(scope)
    this.chain = hooks === undefined ? undefined : new HookChain(hooks)
  }

  /**
   * Whether the cell is the first of its row. Must be called for each cell before {@link judge}.
   */
  entersRow(cell: CellView): boolean {
    if (!this.filter.entersRow(cell)) return false
    this.row++
    return true
  }

  /**
   * Whether all cells of a plain row are kept, if no other input has cells of the row. Such a row
   * has one put of each column and no marker, so that only age or a hook could drop a cell.
   */
  get keepsPlainRows(): boolean {
    return this.chain === undefined && this.filter.keepsPlainRows
  }

  /**
   * The cell to write, borrowed: `cell` itself or the result of a hook; undefined = drop the cell.
   */
  judge(cell: CellView): CellView | undefined {
    if (!this.filter.keeps(cell)) return undefined
    if (this.chain === undefined) return cell
    if (this.values === undefined || !cell.isReference) return this.chain.apply(cell, this.row)
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
    const kept = chain.apply(resolved, this.row)
    return kept === resolved ? cell : kept
  }

  /** Ends the hooks and returns the totals. */
  finish(): Judgement {
    const { filter, chain } = this
    const hooks = chain === undefined ? [] : chain.finish()
    const droppedByHooks = chain === undefined ? 0 : chain.dropped
    return {
      entriesDropped: filter.dropped + droppedByHooks,
      dropped: { ...filter.droppedBy, hooks: droppedByHooks },
      hooks,
    }
  }
}
