/** Compaction debt: the work that a store has put off, which back-pressure measures. */
import type { CompactionDebt, PolicyInput } from './choice.js'
import { totalBytes } from './rows.js'

/** No debt. */
export const noDebt: CompactionDebt = { runs: 0, bytes: 0 }

/** The newest files of level 0, beyond the number that the policy keeps at rest. */
export function flushedDebt(
  { levels }: Pick<PolicyInput, 'levels'>,
  filesAtRest: number,
): CompactionDebt {
  const waiting = Math.max(0, levels[0].length - filesAtRest)
  return waiting === 0 ? noDebt : { runs: waiting, bytes: totalBytes(levels[0].slice(0, waiting)) }
}
