/** Compares what engines answered: equal checksums for equal operations, or the run fails. */
import type { PhaseOutcome } from '../runner.js'

/** What one engine answered to one sequence, once. */
export interface Answered {
  readonly sequence: string
  readonly engine: string
  readonly outcomes: readonly PhaseOutcome[]
  /** Undefined if it was too large to be read. */
  readonly state: { readonly rows: number; readonly checksum: string } | undefined
}

/** Differences to what the first one of the same sequence answered, one sentence each. */
export function compareAnswers(answers: readonly Answered[]): string[] {
  const differences: string[] = []
  const first = new Map<string, Answered>()
  for (const answer of answers) {
    const expected = first.get(answer.sequence)
    if (expected === undefined) {
      first.set(answer.sequence, answer)
      continue
    }
    differences.push(...differencesOf(expected, answer))
  }
  return [...new Set(differences)]
}

function differencesOf(expected: Answered, found: Answered): string[] {
  const differences: string[] = []
  const place = `${found.engine}: ${found.sequence}`
  const seen = expected.engine === found.engine ? 'an earlier run' : expected.engine
  for (const [at, outcome] of found.outcomes.entries()) {
    const other = expected.outcomes[at]
    // Of a phase that ended early only the answers to the calls that both have made can be
    // compared, and of those behind it none.
    if (outcome.checksum === undefined || (other !== undefined && other.checksum === undefined)) {
      const difference = differenceOfMarks(outcome, other)
      if (difference !== undefined) {
        differences.push(`${place}: ${outcome.workload}: ${difference} as ${seen} says`)
      }
      continue
    }
    if (outcome.checksum !== other?.checksum) {
      differences.push(
        `${place}: ${outcome.workload}: answers have checksum ${outcome.checksum}, ` +
          `those of ${seen} ${other?.checksum}`,
      )
    }
  }
  if (found.state !== undefined && expected.state !== undefined) {
    const { rows, checksum } = found.state
    if (rows !== expected.state.rows || checksum !== expected.state.checksum) {
      differences.push(
        `${place}: after a reopen ${rows} rows with checksum ${checksum}, ` +
          `${seen} has ${expected.state.rows} with ${expected.state.checksum}`,
      )
    }
  }
  return differences
}

/** Compares the answers up to the last mark that both have. */
function differenceOfMarks(found: PhaseOutcome, expected: PhaseOutcome): string | undefined {
  for (const { calls, checksum } of [...(found.marks ?? [])].reverse()) {
    const other = expected.marks?.find((mark) => mark.calls === calls)
    if (other === undefined) continue
    if (other.checksum === checksum) return undefined
    return `answers to ${calls} calls have checksum ${checksum}, not ${other.checksum}`
  }
  return undefined
}
