/**
 * Runs jobs in worker threads through piscina, which is loaded with the first job and may be
 * missing.
 *
 * A thread that dies rejects its job with `ERR_JOB_FAILED`. The caller removes the files that the
 * thread may have written, and runs the job again with new file numbers. A thread may die before it
 * is ready, and the system may refuse one. Then its job runs on the inline executor of the options,
 * or is rejected in the same way: every job is settled. It does not wait for another thread, which
 * may have a compaction that rests until the flush that waits has ended.
 *
 * A thread takes longer to start, and to compile its code, than a small job. So the first small
 * jobs run on the inline executor of the options, if there is one; a thread takes those that come
 * after them, until it has been idle for a while and ends.
 *
 * If no thread was ever ready, the worker module cannot be loaded: a bundler has left it out, or
 * threads are forbidden. Then all jobs run on the inline executor, if there is one; `onInline` is
 * called once.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { isInstalled, requirePackage } from '../../../base/load-package.js'
import type { DirectoryBinding } from '../../fs/directory-handle.js'
import { hasOwnFile } from '../../fs/own-file.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { attemptsMax, type JobExecutor } from './executor.js'
import { HookWatchdog } from './hook-watchdog.js'
import type { Job, JobControl, JobResult } from '../job.js'
import type { WorkerAnswer, WorkerTask } from './job-worker.js'
import { isThreadLost, threadLost, ThreadPlace, type Pool } from './thread-place.js'

interface PoolModule {
  readonly Piscina: new (options: Record<string, unknown>) => Pool
}

/**
 * How long idle threads live. A new thread takes 40 ms of processor time to start, and 100 more
 * until its code is compiled, so the flushes of a moderate writer should share one.
 */
const idleMilliseconds = 60_000

/**
 * Bytes of the jobs that run inline before a thread is worth its start. A thread would merge about
 * as many while it starts and its code is compiled.
 */
const inlineBytesMaxDefault = 16 * 1024 * 1024

/** Loads piscina for the first job. `ERR_MISSING_PACKAGE`. */
export function loadPool(): PoolModule {
  return requirePackage<PoolModule>('piscina', 'a worker thread')
}

/** Whether piscina is installed; {@link loadPool} loads it. */
export function hasPool(): boolean {
  return isInstalled('piscina')
}

/** Whether the worker module lies beside this one, as it does in the package. */
export function hasWorkerModule(): boolean {
  return canFindWorkerModule() && hasOwnFile(workerModule())
}

/** Jobs in a row without a thread, after which `inline` takes over: all attempts of one job. */
const jobsWithoutThreadMax = attemptsMax

/**
 * Address of the worker module. Bundlers that know this form of `new URL` copy the file;
 * docs/bundlers-and-runtimes.md describes the others.
 */
function workerModule(): string {
  return new URL('./job-worker.js', import.meta.url).href
}

/** Whether the worker module has an address; in a CommonJS bundle it has none. */
export function canFindWorkerModule(): boolean {
  return (import.meta.url as string | undefined) !== undefined
}

/** The warning that jobs run on the event loop's thread although threads were wanted. */
export function inlineWarning(cause?: unknown): CellarError {
  const message =
    'worker threads cannot be started, so flushes and compactions run on the event loop until the ' +
    'database is opened again: job-worker.js must lie beside the bundle, and the system must ' +
    'allow threads and open files; see docs/bundlers-and-runtimes.md'
  return new CellarError(ErrorCode.jobFailed, message, { cause })
}

/** Options of a {@link WorkerExecutor}. */
export interface WorkerExecutorOptions {
  /** A job is ended when one call of a cell hook takes longer. Default 30,000. */
  readonly hookMillisecondsMax?: number
  /** The directory of the jobs, if it is held. Threads reach it through the same descriptor. */
  readonly binding?: DirectoryBinding | undefined
  /** Runs small jobs, and all if no thread can be started. Default: none does. */
  readonly inline?: JobExecutor
  /** Bytes of small jobs that `inline` runs before a thread is started. Default 16 MiB. */
  readonly inlineBytesMax?: number
  /** Called once when `inline` takes over, with the reason. */
  readonly onInline?: (warning: CellarError) => void
}

/** A job that waits for a thread. */
interface WaitingJob {
  readonly task: WorkerTask
  readonly signal: AbortSignal | null
  readonly resolve: (answer: WorkerAnswer) => void
  readonly reject: (error: unknown) => void
}

export class WorkerExecutor implements JobExecutor {
  private readonly module: () => PoolModule
  private readonly threadsMax: number
  private readonly hookMillisecondsMax: number
  private readonly binding: DirectoryBinding | undefined
  private readonly inline: JobExecutor | undefined
  private readonly onInline: (warning: CellarError) => void
  private readonly inlineBytesMax: number
  /** Bytes of the jobs that `inline` has run since the last thread has ended. */
  private inlineBytes = 0
  /** Whether a thread lives that has run a job. */
  private isWarm = false
  private poolModule: PoolModule | undefined = undefined
  private places: readonly ThreadPlace[]
  private readonly waiting: WaitingJob[] = []
  /** Whether any thread was ever ready, which proves that the worker module can be loaded. */
  private everReady = false
  /** Jobs in a row whose thread ended before any thread was ready. */
  private jobsWithoutThread = 0
  /** Set to {@link inline} when it has taken over. */
  private successor: JobExecutor | undefined = undefined

  /** `module` loads the pool for the first job. */
  constructor(module: () => PoolModule, threadsMax: number, options: WorkerExecutorOptions = {}) {
    this.module = module
    this.threadsMax = threadsMax
    this.hookMillisecondsMax = options.hookMillisecondsMax ?? 30_000
    this.binding = options.binding
    this.inline = options.inline
    this.inlineBytesMax = options.inlineBytesMax ?? inlineBytesMaxDefault
    this.places = this.makePlaces()
    this.onInline = options.onInline ?? (() => undefined)
  }

  get kind(): 'worker' | 'inline' {
    return this.successor?.kind ?? 'worker'
  }

  async run(job: Job, control: JobControl): Promise<JobResult> {
    if (this.successor !== undefined) return this.successor.run(job, control)
    if (this.isForInline(job)) return this.inline!.run(job, control)
    if (!this.hasModule()) return this.inline!.run(job, control)
    let answer: WorkerAnswer
    const abort = job.hooks && new AbortController()
    const watchdog =
      job.hooks && new HookWatchdog(job.hooks, this.hookMillisecondsMax, () => abort!.abort())
    try {
      const task = {
        job,
        control: control.words.buffer as SharedArrayBuffer,
        binding: this.binding,
      }
      answer = await this.dispatch(task, abort?.signal ?? null)
      this.isWarm = true
    } catch (cause) {
      if (this.hasNoThreads(cause)) return this.inline!.run(job, control)
      const message = `the worker thread of a ${job.kind} job died`
      throw watchdog?.error ?? threadLost(message, cause)
    } finally {
      watchdog?.stop()
    }
    if (answer.outcome === 'done') return restore(answer.result)
    const { code, message, corruption } = answer
    const cause = answer.cause && Object.assign(new Error(answer.cause.message), answer.cause)
    throw new CellarError(code ?? ErrorCode.jobFailed, message, { corruption, cause })
  }

  /** Whether a job runs inline. Hooks never do, because nothing could end one that loops. */
  private isForInline(job: Job): boolean {
    if (this.inline === undefined || this.isWarm || job.hooks !== undefined) return false
    const bytes = bytesOf(job)
    if (this.inlineBytes + bytes > this.inlineBytesMax) return false
    this.inlineBytes += bytes
    return true
  }

  /**
   * Starts a thread if there is none, so that the next job does not wait for its start. A failure
   * does not count: the job finds out.
   */
  prepare(): void {
    if (this.successor !== undefined || !this.hasModule() || this.hasThread) return
    this.places[0].prepare()
  }

  /**
   * Counts a job whose thread has ended. Returns true if `inline` runs the job, of which no thread
   * has run anything, so there is nothing to remove.
   */
  private hasNoThreads(cause: unknown): boolean {
    if (this.inline === undefined) return false
    if (this.everReady) return isThreadLost(cause)
    if (this.successor === undefined) {
      if (++this.jobsWithoutThread < jobsWithoutThreadMax) return false
      this.successor = this.inline
      this.onInline(inlineWarning(cause))
      void this.close()
    }
    return true
  }

  async close(): Promise<void> {
    const { places } = this
    this.places = this.makePlaces()
    this.rejectWaiting(threadLost('the threads were ended'))
    await Promise.all(places.map((place) => place.close()))
  }

  /** Whether piscina loads; else `inline` has taken over. */
  private hasModule(): boolean {
    try {
      this.poolModule ??= this.module()
      return true
    } catch (cause) {
      if (this.inline === undefined) throw cause
      this.successor = this.inline
      this.onInline(inlineWarning(cause))
      return false
    }
  }

  private get hasThread(): boolean {
    return this.places.some(({ isAlive }) => isAlive)
  }

  /** Runs a job on a thread, as soon as one is free. */
  private dispatch(task: WorkerTask, signal: AbortSignal | null): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ task, signal, resolve, reject })
      this.pump()
    })
  }

  private pump(): void {
    while (this.waiting.length > 0) {
      const place = this.freePlace()
      if (place === undefined) return
      place.isBusy = true
      void this.serve(place, this.waiting.shift()!)
    }
  }

  /** A place for a job: one with a thread if possible. */
  private freePlace(): ThreadPlace | undefined {
    const free = this.places.filter(({ isBusy }) => !isBusy)
    return free.find(({ isAlive }) => isAlive) ?? free.at(0)
  }

  private async serve(place: ThreadPlace, job: WaitingJob): Promise<void> {
    try {
      job.resolve(await place.run(job.task, job.signal))
    } catch (error) {
      job.reject(error)
      if (isThreadLost(error) && !this.hasThread) this.rejectWaiting(error)
    }
    place.isBusy = false
    this.pump()
  }

  private rejectWaiting(error: unknown): void {
    for (const job of this.waiting.splice(0)) job.reject(error)
  }

  private makePlaces(): readonly ThreadPlace[] {
    const ready = (): void => void (this.everReady = true)
    const ended = (): void => {
      if (this.hasThread) return
      this.isWarm = false
      this.inlineBytes = 0
    }
    const makePool = (): Pool => this.makePool()
    return Array.from({ length: this.threadsMax }, () => new ThreadPlace(makePool, ready, ended))
  }

  private makePool(): Pool {
    return new this.poolModule!.Piscina({
      filename: workerModule(),
      // Else piscina looks for a default export, by code from a string, which Node may forbid.
      name: 'wake',
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: idleMilliseconds,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled',
      // Jobs make little garbage. By default each thread would keep about 50 MiB of it.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
  }
}

/** Bytes that a job reads. */
function bytesOf(job: Job): number {
  if (job.kind === 'flush') return job.entries.arenaBytes
  return job.inputs.reduce((sum, input) => sum + input.fileBytes, 0)
}

/** Turns byte arrays of a thread's answer back into Buffers. */
function restore(result: JobResult): JobResult {
  const asBuffer = (bytes: Uint8Array): Buffer =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const files = result.files.map((file): FileMetadata => {
    return { ...file, firstKey: asBuffer(file.firstKey), lastKey: asBuffer(file.lastKey) }
  })
  return { ...result, files }
}
