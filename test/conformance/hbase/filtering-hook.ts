/** A cell hook for the cases about coprocessors: drops odd rows, or everything. */
import { CellDecision, type CellHook, type CellHookSetup } from '../../../src/entries/index.js'

/** `options.drops`: 'odd' or 'all'; `options.job`: 'flush' or 'compaction'. */
export function createCellHook({ job, options }: CellHookSetup): CellHook {
  const mine = (options['job'] === 'flush') === (job.kind === 'flush')
  return {
    decide(cell) {
      if (!mine) return CellDecision.keep
      const odd = Number(cell.copyRow().toString()) % 2 === 1
      return options['drops'] === 'all' || odd ? CellDecision.drop : CellDecision.keep
    },
  }
}
