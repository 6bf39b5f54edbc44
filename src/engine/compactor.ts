/**
 * Keeps the number of files per store in bounds: after each flush a policy looks at the store's
 * files, and one compaction at a time is run as a job.
 *
 * The steps of one compaction: choice, job (worker or inline), readers of the new files, manifest
 * edit; the version's listener then replaces the files in the store in the same moment. Inputs are
 * removed when no version, and so no scan, needs them. A failure leaves everything as it was and is
 * reported; the next flush or request tries again.
 */
import { CellarError, ErrorCode } from '../base/errors.js'
import { exploringChoice, majorChoice, type CompactionChoice } from '../compaction/policy.js'
import type { JobExecutor } from '../job/executor.js'
import { JobCancelled, JobControl, type CompactionJob, type JobResult } from '../job/job.js'
import { retentionOf, tableFormatOf } from '../store/family-settings.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionHost } from './compaction-host.js'

type Merge = Extract<CompactionChoice, { kind: 'merge' }>

/** How a requested compaction reports and stops. */
export interface CompactionRequest {
  /** Merge all files of the store and drop what only a major compaction may drop. */
  readonly major: boolean
  readonly signal?: AbortSignal | undefined
  /** Told now and then which part is done, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
}

/** How often progress is reported. */
const progressMilliseconds = 100
/** Attempts when a worker thread dies. */
const attemptsMax = 3

export class Compactor {
  /** Compactions done, and what they read, wrote and dropped. */
  compactionCount = 0
  entriesWritten = 0
  entriesDropped = 0
  bytesRead = 0
  bytesWritten = 0
  private readonly host: CompactionHost
  private readonly executor: JobExecutor
  private readonly waiting = new Set<Store>()
  private chain: Promise<void> = Promise.resolve()
  private control: JobControl | undefined = undefined
  private stopped = false

  constructor(host: CompactionHost, executor: JobExecutor) {
    this.host = host
    this.executor = executor
  }

  /** Number of stores that wait for a compaction or are being compacted. */
  get queueLength(): number {
    return this.waiting.size
  }

  /** Compacts a store in the background if its policy finds something to do. */
  consider(store: Store): void {
    if (this.stopped || this.waiting.has(store)) return
    if (exploringChoice(this.filesOf(store)).kind === 'nothing') return
    this.waiting.add(store)
    this.enqueue(async () => {
      this.waiting.delete(store)
      if (this.mayRun(store)) await this.compactOnce(store, exploringChoice(this.filesOf(store)))
      if (this.mayRun(store)) this.consider(store)
    }).catch((error: unknown) => {
      if (!(error instanceof JobCancelled)) this.host.compactionFailed(store, error)
    })
  }

  /**
   * Compacts a store because somebody asked; rejects with the error, `ERR_ABORTED` by its signal.
   */
  compact(store: Store, request: CompactionRequest): Promise<void> {
    return this.enqueue(async () => {
      if (!this.mayRun(store)) return
      const files = this.filesOf(store)
      const choice = request.major ? majorChoice(files) : exploringChoice(files)
      try {
        await this.compactOnce(store, choice, request)
      } catch (error) {
        if (!(error instanceof JobCancelled)) throw error
        throw new CellarError(ErrorCode.aborted, 'the compaction was aborted', {
          cause: request.signal?.reason,
        })
      }
    })
  }

  /** Cancels the running compaction, forgets the waiting ones and waits for the end. */
  async stop(): Promise<void> {
    this.stopped = true
    this.control?.cancel()
    await this.chain
  }

  private mayRun(store: Store): boolean {
    return !this.stopped && !store.dropped && this.host.mayFlush
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    const run = this.chain.then(step)
    this.chain = run.catch(() => undefined)
    return run
  }

  private filesOf(store: Store): readonly FileMetadata[] {
    return (this.host.versions.current.store(store.storeId)?.levels ?? []).flat()
  }

  private async compactOnce(
    store: Store,
    choice: CompactionChoice,
    request?: CompactionRequest,
  ): Promise<void> {
    if (choice.kind === 'nothing') return
    for (let attempt = 1; ; attempt++) {
      const job = this.makeJob(store, choice)
      try {
        const result = await this.run(job, request)
        await this.install(store, choice, job, result)
        return
      } catch (error) {
        const died = error instanceof CellarError && error.code === ErrorCode.jobFailed
        if (!died || attempt >= attemptsMax) throw error
      } finally {
        for (const fileNumber of job.fileNumbers) this.host.versions.unprotectFile(fileNumber)
      }
    }
  }

  private async run(job: CompactionJob, request?: CompactionRequest): Promise<JobResult> {
    const control = new JobControl()
    this.control = control
    const cancel = (): void => control.cancel()
    const { signal, onProgress } = request ?? {}
    if (signal?.aborted === true) throw new JobCancelled()
    signal?.addEventListener('abort', cancel, { once: true })
    const timer =
      onProgress === undefined
        ? undefined
        : setInterval(() => onProgress(control.progress), progressMilliseconds)
    try {
      const result = await this.executor.run(job, control)
      if (control.cancelled) {
        // The job was done before it looked.
        for (const { fileNumber } of result.files) this.host.discardFile(fileNumber)
        throw new JobCancelled()
      }
      onProgress?.(1)
      return result
    } finally {
      clearInterval(timer)
      signal?.removeEventListener('abort', cancel)
      this.control = undefined
    }
  }

  private async install(
    store: Store,
    choice: Merge,
    job: CompactionJob,
    result: JobResult,
  ): Promise<void> {
    if (!this.mayRun(store)) {
      for (const { fileNumber } of result.files) this.host.discardFile(fileNumber)
      return
    }
    const { storeId } = store
    for (const file of result.files) this.host.readers.open(file)
    await this.host.publish({
      filesRemoved: choice.files.map(({ fileNumber }) => ({ storeId, fileNumber })),
      filesAdded: result.files.map((file) => ({ storeId, file })),
    })
    this.compactionCount++
    this.entriesWritten += result.entriesWritten
    this.entriesDropped += result.entriesDropped
    this.bytesRead += job.inputs.reduce((sum, input) => sum + input.fileBytes, 0)
    this.bytesWritten += result.bytesWritten
    this.host.compacted(store, choice.major, choice.files.length, result)
  }

  private makeJob(store: Store, choice: Merge): CompactionJob {
    const { versions, directory, nativeFree } = this.host
    const fileNumber = versions.allocateFileNumber()
    versions.protectFile(fileNumber)
    const earliest = choice.files.reduce(
      (min, file) => (file.earliestPutTimestamp < min ? file.earliestPutTimestamp : min),
      choice.files[0].earliestPutTimestamp,
    )
    return {
      kind: 'compaction',
      directory,
      inputs: choice.files.map(({ fileNumber: number, fileBytes, entryCount, level }) => {
        return { fileNumber: number, fileBytes, entryCount, level }
      }),
      fileNumbers: [fileNumber],
      outputLevel: 0,
      outputBytesMax: Infinity,
      format: tableFormatOf(store.settings),
      retention: retentionOf(store.settings),
      readPointOldest: this.host.readPointOldest(),
      now: this.host.now(),
      major: choice.major,
      markerRetentionMilliseconds: 0,
      earliestPutTimestamp: Number(earliest),
      nativeFree,
    }
  }
}
