/**
 * Decides what a job writes: first HBase's retention rules, then the cell hooks of coprocessors, as
 * HBase's `preCompact` wraps the scanner that applies the rules. Counts what goes by reason, so
 * that a job can prove that its numbers add up.
 */
import type { CellView } from '../cell/cell-view.js'
import { HookChain, type HookOutcome, type HookPlan } from '../coprocessor/hook-chain.js'
import type { RetentionScope } from '../scan/retention-matcher.js'
import type { DropCounts } from './job.js'
import { RetentionFilter } from './retention-filter.js'

/** What a judge has decided in the whole of a job. */
export interface Judgement {
  readonly entriesDropped: number
  readonly dropped: DropCounts
  readonly hooks: readonly HookOutcome[]
}

export class CellJudge {
  private readonly filter: RetentionFilter
  private readonly chain: HookChain | undefined
  /** Number of the row, for hooks. */
  private row = 0

  /** Throws `ERR_COPROCESSOR` if a hook cannot be made. */
  constructor(scope: RetentionScope, hooks: HookPlan | undefined) {
    this.filter = new RetentionFilter(scope)
    this.chain = hooks === undefined ? undefined : new HookChain(hooks)
  }

  /** Whether the cell is the first one of its row. Call it for each cell before {@link judge}. */
  entersRow(cell: CellView): boolean {
    if (!this.filter.entersRow(cell)) return false
    this.row++
    return true
  }

  /** The cell to write, borrowed: `cell` itself or what a hook made of it; undefined = none. */
  judge(cell: CellView): CellView | undefined {
    if (!this.filter.keeps(cell)) return undefined
    return this.chain === undefined ? cell : this.chain.apply(cell, this.row)
  }

  /** Ends the hooks. */
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
