/** What the engine asks of the coprocessors of its tables; the table layer keeps them. */
import type { HookOutcome, HookPlan } from './hook-chain.js'
import type { StoreJob } from './cell-hook.js'
import type { JobRetention, StoreFileInfo, StoreJobOutcome } from './job-observer.js'

/** What a job did, for all coprocessors of its table. */
export interface JobSummary extends Omit<
  StoreJobOutcome,
  'hookDropped' | 'hookReplaced' | 'hookNotAsked' | 'reports'
> {
  readonly hooks: readonly HookOutcome[]
}

/** Cells that the hook of a coprocessor dropped and replaced in installed jobs since the open. */
export interface HookCounters {
  readonly dropped: number
  readonly replaced: number
}

/** The coprocessors of all tables, as the engine sees them. */
export interface JobCoprocessors {
  /**
   * A job is about to run: tells the observers and gathers the hooks with their contexts.
   * `protectedSequence`: see {@link HookPlan}. Undefined if the job has no hooks. Throws
   * `ERR_COPROCESSOR`.
   */
  startJob(job: StoreJob, protectedSequence: number): HookPlan | undefined
  /** Lets the observers change the rules of a job, in place. Throws `ERR_COPROCESSOR`. */
  changeRetention(job: StoreJob, retention: JobRetention): void
  /** A job is installed. Does not throw. */
  finishJob(job: StoreJob, summary: JobSummary): void
  /** False if an observer wants no compaction now. Throws `ERR_COPROCESSOR`. */
  maySelect(table: string, family: string, files: readonly StoreFileInfo[]): boolean
  /** Files were chosen for a compaction. Throws `ERR_COPROCESSOR`. */
  selected(
    table: string,
    family: string,
    files: readonly StoreFileInfo[],
    chosen: readonly StoreFileInfo[],
  ): void
  /** Counters by the coprocessors' names. */
  countersOf(table: string): Readonly<Record<string, HookCounters>>
}
