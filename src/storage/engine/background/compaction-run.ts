/**
 * One compaction, from the choice to the edit. A merge runs as one job, or as several parallel jobs
 * for slices of the rows if it is large. A move or a drop is only an edit.
 *
 * Until the edit is passed to the manifest, any failure removes all outputs and leaves the inputs
 * untouched. A job is retried if its worker thread dies. If the manifest fails, the outputs stay,
 * because the edit may have become durable; only the next open shows.
 */
import { assert } from '../../../base/assert.js'
import { makeHookWatch, mergeHookOutcomes } from '../../coprocessor/hook-chain.js'
import type { MergeChoice, MoveChoice } from '../../compaction/choice.js'
import { attemptsMax } from '../../job/threads/executor.js'
import { isThreadLost } from '../../job/threads/thread-place.js'
import {
  addDrops,
  inputOf,
  jobCancelled,
  JobControl,
  noDrops,
  type CompactionJob,
  type JobResult,
  type RowSlice,
} from '../../job/job.js'
import { formatOfFamily } from '../../store/family-settings.js'
import type { Store } from '../../store/store.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import type { CompactionOutcome, CompactionProgress, CompactionWork } from './compaction-outcome.js'
import type { OpenedParts } from '../engine.js'
import type { HookedJob, JobHooks } from './job-hooks.js'
import type { JobRunner } from './job-runner.js'
import type { Publisher } from './publisher.js'
import { sliceRows } from '../write/row-slices.js'

/** Takes a place for one more job, if one is free. The returned function gives the place back. */
export type TakeSlot = () => (() => void) | undefined

/** The jobs of a run that have ended without an error, by their results. */
type FinishedJobs = Map<JobResult, CompactionJob>

/** The parts of an engine that a compaction needs. */
export interface CompactionParts extends Pick<
  OpenedParts,
  'lifecycle' | 'options' | 'readers' | 'versions'
> {
  readonly hooks: JobHooks
  readonly publisher: Publisher
  readonly runner: JobRunner
}

export class CompactionRun {
  readonly store: Store
  readonly work: CompactionWork
  /** In the time of `performance.now`. */
  readonly startedAt: number
  private readonly parts: CompactionParts
  private readonly hooks: JobHooks
  /** One control for each slice of the rows. */
  private readonly controls: readonly JobControl[]
  private readonly slices: readonly (RowSlice | undefined)[]
  private cancelled = false

  constructor(parts: CompactionParts, store: Store, work: CompactionWork) {
    this.parts = parts
    this.hooks = parts.hooks
    this.store = store
    this.work = work
    this.startedAt = performance.now()
    this.slices = work.kind === 'merge' ? this.slice(work) : []
    this.controls = this.slices.map(() => new JobControl())
  }

  /** The progress of all jobs together. */
  get progress(): CompactionProgress {
    const bytesTotal = totalBytes(this.work.files)
    let part = 0
    this.controls.forEach((control, index) => {
      part += control.progress * (this.slices[index]?.part ?? 1)
    })
    const major = this.work.kind === 'merge' && this.work.major
    const bytesDone = Math.round(Math.min(1, part) * bytesTotal)
    return { major, inputFiles: this.work.files.length, bytesDone, bytesTotal }
  }

  /** Ends the run as cancelled, unless its edit is being published already. */
  cancel(): void {
    this.cancelled = true
    for (const control of this.controls) control.cancel()
  }

  pause(paused: boolean): void {
    for (const control of this.controls) control.pause(paused)
  }

  /** Limits the bytes that all jobs of the run together read and write per second. */
  limit(bytesPerSecondMax: number): void {
    const share = bytesPerSecondMax / Math.max(1, this.controls.length)
    for (const control of this.controls) control.bytesPerSecondMax = share
  }

  /**
   * Runs the compaction. Calls `takeSlot` when a further job could run in parallel with the first.
   */
  async execute(takeSlot: TakeSlot): Promise<CompactionOutcome> {
    const { work } = this
    switch (work.kind) {
      case 'merge':
        return this.merge(work, takeSlot)
      case 'move':
        await this.publish(work.files, work.files.map(movedBy(work)))
        return this.outcome([], work.files.length, work.outputLevel)
      case 'drop':
        await this.publish(work.files, [])
        return this.outcome([], 0, 0)
    }
  }

  private async merge(work: MergeChoice, takeSlot: TakeSlot): Promise<CompactionOutcome> {
    const { readers, runner } = this.parts
    const jobs: FinishedJobs = new Map()
    let published = false
    try {
      const { results, hooked } = await this.runRounds(work, takeSlot, jobs)
      const read = results.reduce((sum, result) => sum + result.entriesRead, 0)
      const expected = work.files.reduce((sum, file) => sum + file.entryCount, 0)
      assert(read === expected, 'the slices of a compaction must read every entry of its inputs')
      const files = results.flatMap((result) => result.files)
      this.checkWanted()
      for (const file of files) readers.open(file)
      published = true
      await this.publish(work.files, files)
      // The inputs have left the cache by now, unless a scan still reads them.
      for (const [result, { segments }] of jobs) readers.lend(result, segments)
      for (const result of results) this.hooks.noteSettled(this.store, hooked, result)
      const outcome = this.outcome(results, files.length, work.outputLevel)
      const hooks = mergeHookOutcomes(results.map((result) => result.hooks))
      this.hooks.finish(this.store, hooked, { ...outcome, files: files.length, hooks })
      return outcome
    } catch (error) {
      if (!published) for (const job of jobs.values()) runner.discard(job)
      throw error
    } finally {
      for (const job of jobs.values()) runner.end(job)
    }
  }

  /**
   * Runs the jobs. Runs them again if hooks of coprocessors changed cells that a new snapshot sees.
   */
  private async runRounds(
    work: MergeChoice,
    takeSlot: TakeSlot,
    jobs: FinishedJobs,
  ): Promise<{ readonly results: readonly JobResult[]; readonly hooked: HookedJob }> {
    const { hooks } = this
    const { runner, versions } = this.parts
    const kind = work.major ? 'major' : 'minor'
    const wholeStore =
      work.major && work.files.length === versions.current.filesOf(this.store.storeId).length
    for (let round = 1; ; round++) {
      const hooked = hooks.start(this.store, kind, wholeStore, round)
      const results = await this.runJobs(work, takeSlot, jobs, hooked)
      if (!results.some((result) => hooks.conflicts(hooked, result))) {
        return { results, hooked }
      }
      for (const job of jobs.values()) {
        runner.discard(job)
        runner.end(job)
      }
      jobs.clear()
    }
  }

  /**
   * Runs the jobs of all slices, as many in parallel as there are places. Results are in slice
   * order.
   */
  private async runJobs(
    work: MergeChoice,
    takeSlot: TakeSlot,
    jobs: FinishedJobs,
    hooked: HookedJob,
  ): Promise<JobResult[]> {
    const results: JobResult[] = []
    let next = 0
    let failure: { readonly error: unknown } | undefined
    const lane = async (): Promise<void> => {
      while (next < this.slices.length && failure === undefined) {
        const index = next++
        try {
          results[index] = await this.runJob(work, index, jobs, hooked)
        } catch (error) {
          // The first failure cancels the other jobs, so it is the one to report.
          failure ??= { error }
          for (const control of this.controls) control.cancel()
        }
      }
    }
    const lanes = [lane()]
    while (next < this.slices.length) {
      const giveBack = takeSlot()
      if (giveBack === undefined) break
      lanes.push(lane().finally(giveBack))
    }
    await Promise.all(lanes)
    if (failure !== undefined) throw failure.error
    return results
  }

  private async runJob(
    work: MergeChoice,
    index: number,
    jobs: FinishedJobs,
    hooked: HookedJob,
  ): Promise<JobResult> {
    const { runner } = this.parts
    const control = this.controls[index]
    for (let attempt = 1; ; attempt++) {
      if (control.cancelled) throw jobCancelled()
      const job = this.makeJob(work, this.slices[index], hooked)
      try {
        const result = await runner.executor.run(job, control)
        jobs.set(result, job)
        return result
      } catch (error) {
        runner.discard(job)
        runner.end(job, true)
        if (!isThreadLost(error) || attempt >= attemptsMax) throw error
      }
    }
  }

  /** Memory for the blocks of the job. */
  private borrowSegments(files: readonly FileMetadata[], part = 1): SharedArrayBuffer[] {
    const { readers } = this.parts
    const bytes = files.reduce((sum, file) => sum + readers.open(file).blockBytes, 0)
    return readers.cache.borrowSegments(bytes * part)
  }

  private makeJob(
    work: MergeChoice,
    slice: RowSlice | undefined,
    { job, plan, retention }: HookedJob,
  ): CompactionJob {
    const { options, runner, versions } = this.parts
    const { settings, storeId } = this.store
    const { files, outputLevel, outputBytesMax, boundaries, major } = work
    const earliest = files.reduce(
      (min, file) => (file.earliestPutTimestamp < min ? file.earliestPutTimestamp : min),
      files[0].earliestPutTimestamp,
    )
    const outputsMax = Math.ceil(totalBytes(files) / outputBytesMax) + boundaries.length + 1
    const fileNumbers = runner.allocate(outputsMax)
    const format = formatOfFamily(settings)
    const separates = format.inlineBytesMax < Infinity
    const meetsValues = separates || files.some((file) => file.valueFiles !== undefined)
    const rewritten = findWastefulFiles(files, versions.current.filesOf(storeId))
    const valueBytes = totalBytes(files) + bytesUsedOf(files, rewritten)
    return {
      ...runner.common,
      kind: 'compaction',
      inputs: files.map(inputOf),
      slice,
      fileNumbers,
      valueFileNumbers: meetsValues ? runner.allocateValueFiles(valueBytes) : [],
      valueFilesRewritten: rewritten,
      outputLevel,
      outputBytesMax,
      boundaries,
      format,
      retention,
      now: job.now,
      // Each of the parallel jobs has a watch of its own for its hooks.
      hooks: plan && { ...plan, watch: makeHookWatch() },
      major,
      earliestPutTimestamp: Number(earliest),
      segments: settings.blockCache ? this.borrowSegments(files, slice?.part) : [],
      verify: options.compactionVerify,
    }
  }

  /**
   * Cuts a large merge into two slices. The cut does not depend on the executor, so the outputs do
   * not either. An output on level 0 must hold all rows, or it would not be one run.
   */
  private slice(work: MergeChoice): readonly (RowSlice | undefined)[] {
    const { options, readers } = this.parts
    const large = totalBytes(work.files) >= options.compactionSplitBytesMin
    if (!large || work.outputLevel === 0) return [undefined]
    return sliceRows(work.files.map((file) => readers.open(file)))
  }

  /**
   * Ends the run as cancelled if the result is not needed any more, for example because the store
   * was dropped.
   */
  private checkWanted(): void {
    const { parts, store } = this
    const isWanted = !this.cancelled && !store.dropped && parts.lifecycle.mayFlush
    if (!isWanted || !parts.versions.hasStore(store.storeId)) throw jobCancelled()
  }

  private publish(removed: readonly FileMetadata[], added: readonly FileMetadata[]): Promise<void> {
    this.checkWanted()
    const { storeId } = this.store
    return this.parts.publisher.publish({
      filesRemoved: removed.map(({ fileNumber }) => ({ storeId, fileNumber })),
      filesAdded: added.map((file) => ({ storeId, file })),
    })
  }

  private outcome(
    results: readonly JobResult[],
    outputFiles: number,
    outputLevel: number,
  ): CompactionOutcome {
    const { work } = this
    const inputBytes = totalBytes(work.files)
    const sum = (field: 'bytesWritten' | 'entriesRead' | 'entriesWritten' | 'entriesDropped') =>
      results.reduce((total, result) => total + result[field], 0)
    const dropped = noDrops()
    for (const result of results) addDrops(dropped, result.dropped)
    return {
      kind: work.kind,
      major: work.kind === 'merge' && work.major,
      inputFiles: work.files.length,
      inputBytes,
      outputFiles,
      outputLevel,
      bytesRead: work.kind === 'merge' ? inputBytes : 0,
      bytesWritten: sum('bytesWritten'),
      entriesRead: sum('entriesRead'),
      entriesWritten: sum('entriesWritten'),
      entriesDropped: sum('entriesDropped'),
      dropped,
    }
  }
}

function movedBy({ outputLevel }: MoveChoice): (file: FileMetadata) => FileMetadata {
  return (file) => ({ ...file, level: outputLevel })
}

function totalBytes(files: readonly FileMetadata[]): number {
  return files.reduce((sum, file) => sum + file.fileBytes, 0)
}

/** Stored bytes of the values to which `files` refer in the given value files. */
function bytesUsedOf(files: readonly FileMetadata[], valueFiles: readonly number[]): number {
  const uses = files.flatMap((file) => file.valueFiles ?? [])
  return uses.reduce((sum, { fileNumber, bytesUsed }) => {
    return valueFiles.includes(fileNumber) ? sum + bytesUsed : sum
  }, 0)
}

/**
 * The value files of `files` of which the whole store uses less than half. A merge copies their
 * values to new files.
 */
function findWastefulFiles(
  files: readonly FileMetadata[],
  filesOfStore: readonly FileMetadata[],
): number[] {
  const used = new Map<number, number>()
  for (const { valueFiles = [] } of filesOfStore) {
    for (const { fileNumber, bytesUsed } of valueFiles) {
      used.set(fileNumber, (used.get(fileNumber) ?? 0) + bytesUsed)
    }
  }
  const wasteful = new Set<number>()
  for (const { valueFiles = [] } of files) {
    for (const { fileNumber, fileBytes } of valueFiles) {
      if ((used.get(fileNumber) ?? 0) < fileBytes / 2) wasteful.add(fileNumber)
    }
  }
  return [...wasteful]
}
