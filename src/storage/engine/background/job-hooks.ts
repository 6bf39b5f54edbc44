/**
 * Connects jobs with the coprocessors of a table. Coprocessors are asked when a job starts and told
 * when its result is in use. What open snapshots see stays unchanged.
 *
 * A snapshot that is open when a job starts sees the cells up to its sequence, so hooks are not
 * asked about those cells. A snapshot that was opened while the job ran may see cells that the
 * hooks have changed. Then the outputs are discarded, and the job runs again with that snapshot
 * protected. From the third round on hooks change nothing, so every job ends. A snapshot that is
 * opened while the manifest is being written keeps the inputs of the job (`read-points.ts`).
 */
import type { StoreJob } from '../../coprocessor/cell-hook.js'
import type { HookPlan } from '../../coprocessor/hook-chain.js'
import type { JobCoprocessors, JobSummary, TableJobs } from '../../coprocessor/job-coprocessors.js'
import type { StoreFileInfo } from '../../coprocessor/job-observer.js'
import type { JobResult } from '../../job/job.js'
import type { RetentionOptions } from '../../scan/query.js'
import { retentionOf, type FamilySettings } from '../../store/family-settings.js'
import type { Store } from '../../store/store.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import type { OpenedParts } from '../engine.js'

/** Rounds in which hooks may change cells. */
const roundsMax = 2

/** A job, as its coprocessors know it. */
export interface HookedJob {
  readonly job: StoreJob
  /** Undefined if the job has no hooks. */
  readonly plan: HookPlan | undefined
  /** The rules for dropping cells: those of the family, unless an observer has changed them. */
  readonly retention: RetentionOptions
  /** A flush drops nothing up to this sequence, because open snapshots and scans see it. */
  readonly sequenceKept: number
  /** The settings of the family, if they alone decide: the table has no coprocessor. */
  readonly settings: FamilySettings | undefined
}

type HookParts = Pick<OpenedParts, 'catalog' | 'clock' | 'coprocessors' | 'readPoints' | 'versions'>

export class JobHooks {
  private readonly parts: HookParts
  private readonly coprocessors: JobCoprocessors

  constructor(parts: HookParts) {
    this.parts = parts
    this.coprocessors = parts.coprocessors
  }

  /**
   * Called when a job starts; `round` counts its attempts from 1. Open scans that read the job's
   * input see the cells up to `sequenceKept`. Throws `ERR_COPROCESSOR`.
   */
  start(
    store: Store,
    kind: StoreJob['kind'],
    wholeStore: boolean,
    round: number,
    sequenceKept = 0,
  ): HookedJob {
    const job = this.describe(store, kind, wholeStore)
    const seen = Math.max(this.parts.readPoints.newest, sequenceKept)
    const newest = round > roundsMax ? Number.MAX_SAFE_INTEGER : seen
    const jobs = this.coprocessors.jobsOf(job.table)
    const plan = jobs?.startJob(job, newest)
    const retention = retentionOf(store.settings)
    jobs?.changeRetention(job, retention)
    const settings = this.hasCoprocessors(store) ? undefined : store.settings
    return { job, plan, retention, sequenceKept: kind === 'flush' ? newest : 0, settings }
  }

  private describe(store: Store, kind: StoreJob['kind'], wholeStore: boolean): StoreJob {
    const { catalog, clock, readPoints } = this.parts
    return {
      kind,
      wholeStore,
      table: catalog.tableNameOf(store),
      family: store.family,
      now: clock.now(),
      readPointOldest: readPoints.oldest,
    }
  }

  private jobsOf(store: Store): TableJobs | undefined {
    return this.coprocessors.jobsOf(this.parts.catalog.tableNameOf(store))
  }

  /** Whether any coprocessor may have a say in the jobs of a store. */
  hasCoprocessors(store: Store): boolean {
    return this.jobsOf(store)?.isEmpty === false
  }

  /**
   * Whether an open snapshot may see cells that a finished flush has dropped, or that the hooks of
   * a finished job have changed.
   */
  conflicts(hooked: HookedJob, { entriesDropped, hooks }: JobResult): boolean {
    const { plan, job, sequenceKept } = hooked
    const { newest } = this.parts.readPoints
    if (job.kind === 'flush' && entriesDropped > 0 && newest > sequenceKept) return true
    if (plan === undefined || newest <= plan.protectedSequence) return false
    return hooks.some(({ dropped, replaced }) => dropped + replaced > 0)
  }

  /** Notes which files of a finished job no compaction of them alone would change. */
  noteSettled(store: Store, { settings, sequenceKept }: HookedJob, result: JobResult): void {
    if (settings === undefined || settings !== store.settings) return
    const present = new Set(this.filesOf(store).map(({ fileNumber }) => fileNumber))
    store.settled.note(result, settings, sequenceKept, present)
  }

  /** Called when the result of a job is in use. */
  finish(
    store: Store,
    { job }: Pick<HookedJob, 'job'>,
    facts: Omit<JobSummary, 'storeIsEmpty'>,
  ): void {
    const inMemory = store.sources.memtables.some(({ isEmpty }) => !isEmpty)
    const storeIsEmpty = !inMemory && this.filesOf(store).length === 0
    this.coprocessors.jobsOf(job.table)?.finishJob(job, { ...facts, storeIsEmpty })
  }

  /** Called for a requested flush of a store with empty memtables. */
  finishIdleFlush(store: Store): void {
    const nothing = { files: 0, entriesRead: 0, entriesWritten: 0, entriesDropped: 0, hooks: [] }
    this.finish(store, { job: this.describe(store, 'flush', false) }, nothing)
  }

  private filesOf({ storeId }: Store): readonly FileMetadata[] {
    return this.parts.versions.current.filesOf(storeId)
  }

  /** Asks whether files may be chosen for a compaction now. Throws `ERR_COPROCESSOR`. */
  maySelect(store: Store): boolean {
    const files = this.filesOf(store).map(infoOf)
    return this.jobsOf(store)?.maySelect(store.family, files) ?? true
  }

  /** Called when files were chosen. Throws `ERR_COPROCESSOR`. */
  selected(store: Store, chosen: readonly FileMetadata[]): void {
    const files = this.filesOf(store).map(infoOf)
    this.jobsOf(store)?.selected(store.family, files, chosen.map(infoOf))
  }
}

function infoOf({ fileNumber, fileBytes, level, entryCount }: FileMetadata): StoreFileInfo {
  return { fileNumber, fileBytes, level, entryCount }
}
