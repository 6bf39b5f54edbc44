/**
 * Remembers the finished steps of a run in the file of its results, so that a run that was broken
 * off can be resumed (`--resume`).
 *
 * While a suite runs, its out file holds {@link UnfinishedRun}; the report replaces that at the
 * end. Steps are taken over only if everything that the figures depend on is the same: options,
 * machine, Node version and commit.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeEnvironment } from '../environment.js'
import type { ChildAnswer } from './processes/child.js'
import { describeOptions } from './report/report.js'
import { UsageError, type BenchOptions } from './options.js'

/** One engine that ran one sequence once. */
export interface FinishedStep {
  readonly sequence: string
  readonly engine: string
  readonly round: number
  readonly answer: Extract<ChildAnswer, { readonly kind: 'done' }>
}

/** The content of an out file before the suite has ended. */
export interface UnfinishedRun {
  /** What must be the same for the steps to count. */
  readonly unfinished: string
  readonly steps: readonly FinishedStep[]
}

/** See the file header. */
export class RunLog {
  private readonly path: string | undefined
  private readonly conditions: string
  private readonly steps: FinishedStep[]

  private constructor(path: string | undefined, conditions: string, steps: FinishedStep[]) {
    this.path = path
    this.conditions = conditions
    this.steps = steps
  }

  /**
   * The log of a run that writes to `path`; undefined remembers nothing. Resuming takes over what
   * the file holds of an unfinished run. @throws UsageError if its conditions were others.
   */
  static open(suite: string, options: BenchOptions, path: string | undefined): RunLog {
    const conditions = conditionsOf(suite, options)
    const found = options.resumes && path !== undefined ? readUnfinished(path) : undefined
    if (found === undefined) return new RunLog(path, conditions, [])
    if (found.unfinished !== conditions) {
      throw new UsageError(
        `${path} was begun under other conditions: ${found.unfinished}; these are ${conditions}`,
      )
    }
    return new RunLog(path, conditions, [...found.steps])
  }

  /** A step that was finished before. */
  find(sequence: string, engine: string, round: number): FinishedStep['answer'] | undefined {
    return this.steps.find(
      (step) => step.sequence === sequence && step.engine === engine && step.round === round,
    )?.answer
  }

  /** Writes a finished step down. */
  add(step: FinishedStep): void {
    this.steps.push(step)
    if (this.path === undefined) return
    const content: UnfinishedRun = { unfinished: this.conditions, steps: this.steps }
    mkdirSync(dirname(this.path), { recursive: true })
    const draft = `${this.path}.draft`
    writeFileSync(draft, `${JSON.stringify(content)}\n`)
    renameSync(draft, this.path)
  }
}

function conditionsOf(suite: string, options: BenchOptions): string {
  const { cpu, cores, node, commit } = describeEnvironment()
  return JSON.stringify({ ...describeOptions(suite, options), cpu, cores, node, commit })
}

/** Undefined if the file is absent or holds the report of a run that has ended. */
function readUnfinished(path: string): UnfinishedRun | undefined {
  if (!existsSync(path)) return undefined
  const content = JSON.parse(readFileSync(path, 'utf8')) as Partial<UnfinishedRun>
  const { unfinished, steps } = content
  return unfinished === undefined || steps === undefined ? undefined : { unfinished, steps }
}

/** Whether a file holds the report of a run that has ended, under the same conditions. */
export function isFinished(suite: string, options: BenchOptions, path: string): boolean {
  if (!existsSync(path)) return false
  const report = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  if (report['results'] === undefined) return false
  const { cpu, cores } = report['machine'] as { cpu: string; cores: number }
  const { node, commit } = report
  const options_ = report['options'] as Record<string, unknown>
  const found = JSON.stringify({ ...options_, cpu, cores, node, commit })
  return found === conditionsOf(suite, options)
}
