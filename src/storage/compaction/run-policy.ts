/**
 * The common part of the policies that merge neighbouring runs. They choose among idle runs, notice
 * when running jobs prevent a choice, and make one file of everything in a major compaction.
 */
import {
  blocked,
  nothing,
  type CompactionChoice,
  type CompactionDebt,
  type CompactionPolicy,
  type PolicyInput,
  type PolicyName,
} from './choice.js'
import { majorChoice } from './major.js'
import { deepestLevel, mergeRuns, type Run } from './runs.js'

/** The part in which these policies differ. */
export interface RunRules {
  readonly name: PolicyName
  /** The runs to choose among, newest first. */
  runsOf(input: PolicyInput): readonly Run[]
  /** The neighbouring idle runs to merge; none if there is nothing to do. */
  chooseRuns(runs: readonly Run[], input: PolicyInput): readonly Run[]
  debt(input: Pick<PolicyInput, 'levels'>): CompactionDebt
}

function choose(input: PolicyInput, rules: RunRules): CompactionChoice {
  const runs = rules.runsOf(input)
  const chosen = rules.chooseRuns(runs, input)
  if (chosen.length > 0) return mergeRuns(input, chosen)
  if (!runs.some((run) => run.busy)) return nothing
  const idle = runs.map((run) => ({ ...run, busy: false }))
  return rules.chooseRuns(idle, input).length > 0 ? blocked : nothing
}

/** Makes a policy from its rules. */
export function runPolicy(rules: RunRules): CompactionPolicy {
  return {
    name: rules.name,
    choose: (input) => choose(input, rules),
    chooseMajor: (input, rows = {}) =>
      majorChoice(input, rows, {
        outputLevel: deepestLevel(input.levels),
        outputBytesMax: Infinity,
      }),
    debt: (input) => rules.debt(input),
  }
}
