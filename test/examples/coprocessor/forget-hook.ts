/**
 * The half of the example that runs inside flushes and compactions, in a worker thread: drops the
 * rows of customers that were forgotten. Rows are `<customer>/<order>`.
 */
import type { CellDecision, CellHook, CellHookSetup, CellView } from '../../../src/entries/index.js'

/** What the observer supplies when a job starts. */
export interface ForgetContext {
  readonly customers: readonly string[]
}

class ForgetHook implements CellHook {
  private readonly forgotten: ReadonlySet<string>
  private dropsRow = false
  private rows = 0

  constructor({ customers }: ForgetContext) {
    this.forgotten = new Set(customers)
  }

  /** All cells of a row have one fate, so it is decided once. */
  startRow(cell: CellView): void {
    const [customer] = cell.copyRow().toString().split('/')
    this.dropsRow = this.forgotten.has(customer)
    if (this.dropsRow) this.rows++
  }

  /** Drop or keep; plain numbers, so that the worker has nothing of the package to load. */
  decide(): CellDecision {
    return this.dropsRow ? 1 : 0
  }

  /** Arrives at the observer's `postFlush` or `postCompact`. */
  finish(): { readonly rows: number } {
    return { rows: this.rows }
  }
}

export function createCellHook({ context }: CellHookSetup): CellHook {
  return new ForgetHook(context as ForgetContext)
}
