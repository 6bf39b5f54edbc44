/**
 * Brings the coprocessors of a table into the jobs of its stores: asks them when a job starts,
 * tells them when it is installed, and keeps what open snapshots see.
 *
 * A snapshot that is open when a job starts sees the cells up to its sequence; hooks are not asked
 * about those. A snapshot that was opened while the job ran, and is still open when it is done, may
 * see cells that the hooks have changed; then the job's outputs are thrown away and it runs again,
 * with that snapshot protected. From the third round on hooks change nothing, so that a job ends
 * whatever comes. (A snapshot opened while the manifest is being written is not noticed.)
 */
import type { StoreJob } from '../coprocessor/cell-hook.js'
import type { HookPlan } from '../coprocessor/hook-chain.js'
import type { JobCoprocessors, JobSummary } from '../coprocessor/job-coprocessors.js'
import type { StoreFileInfo } from '../coprocessor/job-observer.js'
import type { JobResult } from '../job/job.js'
import type { RetentionOptions } from '../scan/query.js'
import { retentionOf } from '../store/family-settings.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { Engine } from './engine.js'

/** Rounds in which hooks may change cells. */
const roundsMax = 2

/** A job as its coprocessors were told of it. */
export interface HookedJob {
  readonly job: StoreJob
  /** Undefined if the job has no hooks. */
  readonly plan: HookPlan | undefined
  /** By which the job keeps cells: the family's rules, unless an observer has changed them. */
  readonly retention: RetentionOptions
  /** Up to this sequence a flush drops nothing: open snapshots and scans see it. */
  readonly sequenceKept: number
}

export class JobHooks {
  private readonly engine: Engine
  private readonly coprocessors: JobCoprocessors

  constructor(engine: Engine, coprocessors: JobCoprocessors) {
    this.engine = engine
    this.coprocessors = coprocessors
  }

  /**
   * A job starts, for the `round`-th time counted from 1; open scans read its input, which see the
   * cells up to `sequenceKept`. Throws `ERR_COPROCESSOR`.
   */
  start(
    store: Store,
    kind: StoreJob['kind'],
    wholeStore: boolean,
    round: number,
    sequenceKept = 0,
  ): HookedJob {
    const { engine } = this
    const job: StoreJob = {
      kind,
      wholeStore,
      table: engine.tableNameOf(store),
      family: store.family,
      now: engine.now(),
      readPointOldest: engine.readPoints.oldest(engine.lastSequence),
    }
    const seen = Math.max(engine.readPoints.newest, sequenceKept)
    const newest = round > roundsMax ? Number.MAX_SAFE_INTEGER : seen
    const plan = this.coprocessors.startJob(job, newest)
    const retention = retentionOf(store.settings)
    this.coprocessors.changeRetention(job, retention)
    return { job, plan, retention, sequenceKept: kind === 'flush' ? newest : 0 }
  }

  /**
   * Whether an open snapshot may see what a finished flush has dropped, or what the hooks of a
   * finished job have changed.
   */
  conflicts(hooked: HookedJob, { entriesDropped, hooks }: JobResult): boolean {
    const { plan, job, sequenceKept } = hooked
    const { newest } = this.engine.readPoints
    if (job.kind === 'flush' && entriesDropped > 0 && newest > sequenceKept) return true
    if (plan === undefined || newest <= plan.protectedSequence) return false
    return hooks.some(({ dropped, replaced }) => dropped + replaced > 0)
  }

  /** A job is installed. */
  finish(store: Store, { job }: HookedJob, facts: Omit<JobSummary, 'storeIsEmpty'>): void {
    const inMemory = store.sources.memtables.some(({ isEmpty }) => !isEmpty)
    const storeIsEmpty = !inMemory && this.engine.filesOf(store).length === 0
    this.coprocessors.finishJob(job, { ...facts, storeIsEmpty })
  }

  /** A flush was asked for and there was nothing to flush. */
  finishIdleFlush(store: Store): void {
    const { table, family, now, readPointOldest } = {
      table: this.engine.tableNameOf(store),
      family: store.family,
      now: this.engine.now(),
      readPointOldest: this.engine.readPoints.oldest(this.engine.lastSequence),
    }
    const job: StoreJob = { kind: 'flush', wholeStore: false, table, family, now, readPointOldest }
    const nothing = { files: 0, entriesRead: 0, entriesWritten: 0, entriesDropped: 0, hooks: [] }
    const retention = retentionOf(store.settings)
    this.finish(store, { job, plan: undefined, retention, sequenceKept: 0 }, nothing)
  }

  /** Whether files may be chosen for a compaction now. Throws `ERR_COPROCESSOR`. */
  maySelect(store: Store): boolean {
    const { engine } = this
    const files = engine.filesOf(store).map(infoOf)
    return this.coprocessors.maySelect(engine.tableNameOf(store), store.family, files)
  }

  /** Files were chosen. Throws `ERR_COPROCESSOR`. */
  selected(store: Store, chosen: readonly FileMetadata[]): void {
    const { engine } = this
    const files = engine.filesOf(store).map(infoOf)
    const table = engine.tableNameOf(store)
    this.coprocessors.selected(table, store.family, files, chosen.map(infoOf))
  }
}

function infoOf({ fileNumber, fileBytes, level, entryCount }: FileMetadata): StoreFileInfo {
  return { fileNumber, fileBytes, level, entryCount }
}
