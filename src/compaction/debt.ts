/** How much work a store has put off: what back-pressure is measured by. */
import type { CompactionDebt, PolicyInput } from './choice.js'
import { totalBytes } from './rows.js'

/** Nothing waits. */
export const noDebt: CompactionDebt = { runs: 0, bytes: 0 }

/** Files of level 0 beyond those that the policy has at rest; the newest are the ones that wait. */
export function flushedDebt({ levels }: PolicyInput, filesAtRest: number): CompactionDebt {
  const waiting = Math.max(0, levels[0].length - filesAtRest)
  return waiting === 0 ? noDebt : { runs: waiting, bytes: totalBytes(levels[0].slice(0, waiting)) }
}
