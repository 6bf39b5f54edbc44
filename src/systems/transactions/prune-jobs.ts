/**
 * The observer of pruned tables, for any cell hook. It gives each flush and compaction a context,
 * reports the counts of the hook, and records in a `PruneState` up to which pointer the job left no
 * data of invalid transactions.
 *
 * Failure behaviour: a source that throws never fails a job. The job then has no context, so its
 * hook keeps every cell, and `onError` receives the error. A listener that throws is ignored.
 */
import { callback, implementation, list, required, text } from '../../api/index.js'
import type {
  Observer,
  ObserverContext,
  StoreJob,
  StoreJobOutcome,
  Table,
} from '../../api/index.js'
import { tell } from '../../comfort/told.js'
import type { PruneState } from './manager/prune-state.js'
import type { PruneBounds, PruneJobReport } from './prune-job/job-data.js'

/** The declarations of the options of all prunings. */
export const pruneDeclarations = {
  /** Names of the tables; they need not exist yet. */
  tables: required(list(text(''))),
  /** Records up to which pointer invalid transactions may be forgotten. */
  state: implementation<PruneState>(['epoch', 'noteFlush']),
  /** Receives the error of a source. */
  onError: callback<(error: unknown) => void>(),
}

/** The parts in which prunings differ. */
export interface PruneJobs<Counts> {
  /**
   * The context of a job at its start; undefined if the transactions are unknown. `table` is
   * undefined for a table that was not opened since the registration.
   */
  context(job: StoreJob, epoch: number, table: Table | undefined): PruneBounds | undefined
  readonly state: PruneState | undefined
  /** Receives the counts of a finished job, if its hook has reported. */
  readonly onCounts: (job: StoreJob, counts: Counts) => void
  /** Receives the error of a source. */
  readonly onError: ((error: unknown) => void) | undefined
}

export class PruneObserver<
  Counts extends Readonly<Record<keyof Counts, number>>,
> implements Observer {
  readonly #jobs: PruneJobs<Counts>
  readonly #tables = new Map<string, Table>()

  constructor(jobs: PruneJobs<Counts>) {
    this.#jobs = jobs
  }

  postOpen({ table }: ObserverContext): void {
    this.#tables.set(table.name, table)
  }

  jobContext(job: StoreJob): PruneBounds | undefined {
    const { state, onError } = this.#jobs
    try {
      return this.#jobs.context(job, state?.epoch(job) ?? 0, this.#tables.get(job.table))
    } catch (error) {
      tell(onError, error)
      return undefined
    }
  }

  postFlush(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#reports(job, outcome)
    const { state } = this.#jobs
    const isClean =
      outcome.entriesRead === 0 ||
      (boundOf(reports, outcome) !== undefined &&
        reports.every(({ pointerLeft }) => pointerLeft === undefined))
    if (outcome.storeIsEmpty) state?.noteEmpty(job, job.now)
    else if (isClean) state?.noteFlush(job, job.now)
    else state?.noteUncleanFlush(job)
  }

  postCompact(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#reports(job, outcome)
    const { state } = this.#jobs
    const bound = boundOf(reports, outcome)
    if (outcome.storeIsEmpty) state?.noteEmpty(job, job.now)
    else if (job.wholeStore && bound !== undefined) {
      state?.noteRewrite(job, job.now, bound, reports[0].epoch)
    }
  }

  /** Reports the counts to the listener; returns the reports of the job's parts. */
  #reports(job: StoreJob, outcome: StoreJobOutcome): readonly PruneJobReport<Counts>[] {
    const reports = outcome.reports as readonly PruneJobReport<Counts>[]
    if (reports.length > 0) {
      const counts = reports.map((report) => report.counts).reduce(addCounts)
      tell(this.#jobs.onCounts, job, counts)
    }
    return reports
  }
}

function addCounts<Counts extends Readonly<Record<keyof Counts, number>>>(
  a: Counts,
  b: Counts,
): Counts {
  const sum = { ...a } as Record<keyof Counts, number>
  for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += b[name]
  return sum as Counts
}

/**
 * The largest pointer up to which the job left no invalid data. Undefined if the job had no
 * snapshot of the transactions, or if some cells bypassed the hook.
 */
function boundOf(
  reports: readonly PruneJobReport<unknown>[],
  outcome: StoreJobOutcome,
): bigint | undefined {
  if (outcome.hookNotAsked > 0) return undefined
  let lowest: bigint | undefined = undefined
  for (const { pruneBound, pointerLeft } of reports) {
    if (pruneBound === undefined) return undefined
    if (lowest === undefined || pruneBound < lowest) lowest = pruneBound
    if (pointerLeft !== undefined && pointerLeft <= lowest) lowest = pointerLeft - 1n
  }
  return lowest
}
