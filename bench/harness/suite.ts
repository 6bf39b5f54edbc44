/**
 * What a suite is to the entry: a name and a function that measures.
 *
 * Most suites are lists of workloads (workload.ts) that `workloadSuite` runs on all engines; one
 * that measures something else, such as single structures or a whole service, implements {@link
 * Suite} itself.
 */
import type { Progress } from './progress.js'
import type { BenchOptions } from './options.js'
import type { LeftOut, ResultRecord } from './report/record.js'
import type { RunLog } from './run-log.js'

/** What a suite is run with. */
export interface SuiteContext {
  readonly options: BenchOptions
  readonly progress: Progress
  /** The steps that are finished. */
  readonly log: RunLog
  /** An empty directory, removed after the suite. */
  readonly directory: string
}

/** What a suite gives back. */
export interface SuiteOutcome {
  readonly results: readonly ResultRecord[]
  /** Versions of the engines that took part, by name. */
  readonly engines: Readonly<Record<string, string>>
  readonly leftOut: readonly LeftOut[]
  /** What went wrong; with anything in it the run fails with exit code 1. */
  readonly failures: readonly string[]
}

/** A named measurement. */
export interface Suite {
  readonly name: string
  /** One line for the usage text. */
  readonly summary: string
  run(context: SuiteContext): Promise<SuiteOutcome>
}
