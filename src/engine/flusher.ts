/**
 * Brings frozen memtables to disk: one job at a time per store, oldest memtable first.
 *
 * The steps of one flush: sorted offsets (in slices), the job (worker or inline), the reader of the
 * new file, the manifest edit, and only then the memtable is replaced. A failure before the edit
 * leaves everything as it was; the flush is tried again on the next occasion, and writers that wait
 * for memory are told the error.
 *
 * A synchronous writer that meets a full budget cannot wait for a worker: it cancels the running
 * job and runs the same job inline. The cancelled job's output is never installed.
 */
import {
  attemptsMax,
  runInSlices,
  runToEnd,
  startJob,
  WorkerDied,
  type JobExecutor,
} from '../job/executor.js'
import {
  addDrops,
  JobCancelled,
  JobControl,
  noDrops,
  outputNumbersOf,
  valueFileCount,
  type FlushJob,
  type JobResult,
} from '../job/job.js'
import type { FrozenEntries } from '../memtable/frozen-entries.js'
import { tableFormatOf } from '../store/family-settings.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { LeveledTables, Store } from '../store/store.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { HookedJob } from './job-hooks.js'
import type { FlushHost } from './flush-host.js'
import { Ticker } from './ticker.js'

export class Flusher {
  /** Flushes done, and what they read, wrote and dropped. */
  flushCount = 0
  entriesWritten = 0
  entriesDropped = 0
  bytesWritten = 0
  readonly dropped = noDrops()
  private readonly host: FlushHost
  private readonly executor: JobExecutor
  private readonly running = new Map<Store, Promise<void>>()
  private readonly controls = new Map<Store, JobControl>()
  /** The jobs whose results are on their way into the manifest, as coprocessors know them. */
  private readonly publishing = new Map<Store, HookedJob>()
  private readonly ticker = new Ticker(() => this.tick())

  constructor(host: FlushHost, executor: JobExecutor) {
    this.host = host
    this.executor = executor
  }

  /** Number of stores that are being flushed. */
  get runningCount(): number {
    return this.running.size
  }

  /** Starts flushing a store's frozen memtables in the background, if that is not going on. */
  schedule(store: Store): void {
    if (this.running.has(store)) return
    const run = this.flushAll(store).catch((error: unknown) => this.host.flushFailed(store, error))
    this.running.set(store, run)
    void run.finally(() => {
      this.running.delete(store)
      // A memtable frozen after the loop's last look would otherwise wait for the next write.
      if (store.frozen.length === 0 || store.dropped || !this.host.mayFlush) return
      // Whoever waits for memory by now was not there when the failure was told.
      if (this.host.hasWaitingWriters) this.schedule(store)
      else this.retryLater(store)
    })
  }

  /** Resolves when all memtables frozen by now are on disk; rejects with the error of the flush. */
  async drain(store: Store): Promise<void> {
    await this.running.get(store)
    while (store.frozen.length > 0 && !store.dropped) await this.flushOldest(store)
  }

  /** Flushes all frozen memtables of a store on this thread, before returning. */
  drainSync(store: Store): void {
    this.controls.get(store)?.cancel()
    while (store.frozen.length > 0 && !store.dropped) {
      const slot = store.frozen.at(-1)!
      if (slot.publishing !== undefined) {
        // Its edit is in the manifest already: an empty edit behind it makes both visible.
        this.host.publishSync({})
        continue
      }
      const entries = runToEnd(slot.memtable.exportSlices())
      const hooked = this.host.hooks.start(store, 'flush', false, 1)
      const job = this.makeJob(store, entries, hooked)
      const { fileSystem, codecs } = this.host
      try {
        const result = runToEnd(startJob(fileSystem, codecs, job, new JobControl()))
        this.host.syncLogSync()
        const edit = this.prepareInstall(store, slot, job, result)
        slot.publishing = result
        this.publishing.set(store, hooked)
        this.host.publishSync(edit)
      } finally {
        slot.publishing = undefined
        this.publishing.delete(store)
        this.unprotect(job)
      }
    }
  }

  /** Cancels running flushes and waits for them. */
  async stop(): Promise<void> {
    this.ticker.stop()
    for (const control of this.controls.values()) control.cancel()
    await Promise.allSettled(this.running.values())
  }

  private async flushAll(store: Store): Promise<void> {
    while (store.frozen.length > 0 && !store.dropped && this.host.mayFlush) {
      await this.flushOldest(store)
    }
  }

  private tick(): boolean {
    for (const [store, control] of this.controls) {
      const bytes = store.frozen.at(-1)?.memtable.bytesUsed ?? 0
      this.host.flushMoved(store, Math.round(control.progress * bytes), bytes)
    }
    return this.controls.size > 0
  }

  private retryLater(store: Store): void {
    const timer = setTimeout(() => {
      if (!store.dropped && this.host.mayFlush) this.schedule(store)
    }, this.host.retryMilliseconds)
    timer.unref()
  }

  private async flushOldest(store: Store): Promise<void> {
    const slot = store.frozen.at(-1)!
    const entries = await runInSlices(slot.memtable.exportSlices())
    let round = 1
    for (let attempt = 1; ;) {
      // A synchronous writer may have flushed it meanwhile, and its memory may be in use again.
      if (store.dropped || store.frozen.at(-1) !== slot) return
      const hooked = this.host.hooks.start(store, 'flush', false, round)
      const job = this.makeJob(store, entries, hooked)
      try {
        if (await this.runJob(store, slot, job, hooked)) return
        round++
      } catch (error) {
        if (!(error instanceof WorkerDied) || attempt++ >= attemptsMax) throw error
      } finally {
        this.unprotect(job)
      }
    }
  }

  /**
   * Runs a job and installs its result, unless somebody else has flushed the memtable meanwhile.
   * False if the job has to run again, because its hooks changed what a new snapshot sees.
   */
  private async runJob(
    store: Store,
    slot: MemtableSlot,
    job: FlushJob,
    hooked: HookedJob,
  ): Promise<boolean> {
    const control = new JobControl()
    this.controls.set(store, control)
    this.host.flushStarted(store, job.entries.entryCount, slot.memtable.bytesUsed)
    this.ticker.start()
    slot.jobRunning = true
    let result: JobResult
    try {
      result = await this.executor.run(job, control)
    } catch (error) {
      if (error instanceof JobCancelled) return true
      // A thread that died may have left half a file.
      this.discard(job)
      throw error
    } finally {
      slot.jobRunning = false
      this.controls.delete(store)
    }
    await this.host.syncLog()
    if (store.dropped || store.frozen.at(-1) !== slot || slot.publishing !== undefined) {
      this.discard(job)
      return true
    }
    if (this.host.hooks.conflicts(hooked, result.hooks)) {
      this.discard(job)
      return false
    }
    const edit = this.prepareInstall(store, slot, job, result)
    slot.publishing = result
    this.publishing.set(store, hooked)
    try {
      // From here on the manifest may name the file, whatever fails.
      await this.host.publish(edit)
    } finally {
      slot.publishing = undefined
      this.publishing.delete(store)
    }
    return true
  }

  private makeJob(
    store: Store,
    entries: FrozenEntries,
    { job, plan, retention }: HookedJob,
  ): FlushJob {
    const { versions, directory, nativeFree } = this.host
    const format = tableFormatOf(store.settings)
    const { valueFileBytesMax } = this.host.options
    const separates = format.inlineBytesMax < Infinity
    const valueFiles = separates ? valueFileCount(entries.arenaBytes, valueFileBytesMax) : 0
    const flushJob: FlushJob = {
      kind: 'flush',
      directory,
      fileNumber: versions.allocateFileNumber(),
      valueFileNumbers: Array.from({ length: valueFiles }, () => versions.allocateFileNumber()),
      valueFileBytesMax,
      entries,
      format,
      retention,
      readPointOldest: job.readPointOldest,
      now: job.now,
      hooks: plan,
      nativeFree,
    }
    for (const fileNumber of outputNumbersOf(flushJob)) versions.protectFile(fileNumber)
    return flushJob
  }

  private unprotect(job: FlushJob): void {
    for (const fileNumber of outputNumbersOf(job)) this.host.versions.unprotectFile(fileNumber)
  }

  private discard(job: FlushJob): void {
    for (const fileNumber of outputNumbersOf(job)) this.host.discardRemains(fileNumber)
  }

  /**
   * Opens the new file, so that a failure comes before the manifest names it, and makes the edit.
   * After a failure the files are gone.
   */
  private prepareInstall(
    store: Store,
    slot: MemtableSlot,
    job: FlushJob,
    result: JobResult,
  ): VersionEdit {
    try {
      for (const file of result.files) this.host.readers.open(file)
      return {
        filesAdded: result.files.map((file) => ({ storeId: store.storeId, file })),
        flushedSequences: [{ storeId: store.storeId, sequence: slot.sequenceCovered }],
        logFileNumberFloor: this.host.logFloorAfter(store, slot),
        lastSequence: this.host.lastSequence,
        lastServerTimestamp: this.host.lastServerTimestamp,
      }
    } catch (error) {
      for (const { fileNumber } of result.files) this.host.readers.close(fileNumber)
      this.discard(job)
      throw error
    }
  }

  /**
   * The edit of a store's flush has become visible: the memtable goes in the same moment, so that
   * no reader sees the cells twice or not at all. `tables` are the store's in the new version.
   */
  install(store: Store, tables: LeveledTables): void {
    const slot = store.frozen.at(-1)
    const result = slot?.publishing
    const hooked = this.publishing.get(store)
    if (slot === undefined || result === undefined || hooked === undefined) return
    store.installFlush(slot, tables)
    this.flushCount++
    this.entriesWritten += result.entriesWritten
    this.entriesDropped += result.entriesDropped
    this.bytesWritten += result.bytesWritten
    addDrops(this.dropped, result.dropped)
    this.host.flushed(store, result, hooked)
  }
}
