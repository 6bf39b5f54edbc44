/**
 * The interface between the engine and the coprocessors of its tables, which the table layer keeps.
 */
import type { HookOutcome, HookPlan } from './hook-chain.js'
import type { StoreJob } from './cell-hook.js'
import type { JobRetention, StoreFileInfo, StoreJobOutcome } from './job-observer.js'

/** The counts of a finished job, for all coprocessors of its table. */
export interface JobSummary extends Omit<
  StoreJobOutcome,
  'hookDropped' | 'hookReplaced' | 'hookNotAsked' | 'reports'
> {
  readonly hooks: readonly HookOutcome[]
}

/** Cells that the hook of a coprocessor dropped and replaced in finished jobs since the open. */
export interface HookCounters {
  /** Cells that the hook dropped. */
  readonly dropped: number
  /** Cells whose value the hook replaced. */
  readonly replaced: number
}

/** The coprocessors of one table, as the engine uses them. */
export interface TableJobs {
  /** Whether the table has no coprocessor. */
  readonly isEmpty: boolean
  /**
   * Called before a job runs: notifies the observers, and returns the hooks with their contexts;
   * undefined if there are none. `protectedSequence`: see {@link HookPlan}. Throws
   * `ERR_COPROCESSOR`.
   */
  startJob(job: StoreJob, protectedSequence: number): HookPlan | undefined
  /** Lets the observers change the retention rules of a job, in place. Throws `ERR_COPROCESSOR`. */
  changeRetention(job: StoreJob, retention: JobRetention): void
  /** Called when the result of a job is in use. Does not throw. */
  finishJob(job: StoreJob, summary: JobSummary): void
  /** Whether all observers allow a compaction now. Throws `ERR_COPROCESSOR`. */
  maySelect(family: string, files: readonly StoreFileInfo[]): boolean
  /** Called when files were chosen for a compaction. Throws `ERR_COPROCESSOR`. */
  selected(family: string, files: readonly StoreFileInfo[], chosen: readonly StoreFileInfo[]): void
  /** Counters by name of the coprocessor. */
  counters(): Readonly<Record<string, HookCounters>>
}

/** The coprocessors of all tables. */
export interface JobCoprocessors {
  /** The coprocessors of a table; undefined if the table never had one. */
  jobsOf(table: string): TableJobs | undefined
}
