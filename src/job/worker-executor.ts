/**
 * Runs jobs in worker threads through piscina, which is loaded only when the first job comes and
 * may be missing (design D10).
 *
 * Failure behaviour: a thread that dies rejects its job with `WorkerDied`; the caller removes what
 * the thread may have written and runs the job again with new file numbers. A thread that dies
 * before it is ready, or with jobs queued behind its own, leaves them in piscina's queue, which
 * starts no thread by itself when it may have none; another is started then. If none comes up, the
 * queued jobs are rejected with `WorkerDied` as well: every job is settled.
 */
import { createRequire } from 'node:module'
import { CellarError, ErrorCode } from '../base/errors.js'
import type { DirectoryBinding } from '../fs/directory-handle.js'
import type { FileMetadata } from '../version/file-metadata.js'
import { WorkerDied, type JobExecutor } from './executor.js'
import { HookWatchdog } from './hook-watchdog.js'
import { JobCancelled, type Job, type JobControl, type JobResult } from './job.js'
import type { WorkerAnswer, WorkerTask } from './job-worker.js'

/** The part of piscina that is used; its own types may be absent. */
interface Pool {
  /** All that were started and have not ended, ready or not. */
  readonly threads: readonly unknown[]
  run(
    task: WorkerTask,
    options: { readonly name: 'runTask'; readonly signal: AbortSignal | null },
  ): Promise<WorkerAnswer>
  run(task: undefined, options: { readonly name: 'wake' }): Promise<void>
  /** 'workerCreate': a thread is ready. 'workerDestroy': one ends or is ended, ready or not. */
  on(event: 'workerCreate' | 'workerDestroy' | 'error', listener: () => void): void
  destroy(): Promise<void>
}
interface PoolModule {
  readonly Piscina: new (options: Record<string, unknown>) => Pool
}

/** Idle threads live this long, so that bursts of jobs share them. */
const idleMilliseconds = 10_000

/** Threads in a row that end before they are ready, after which no other is started. */
const failedStartsMax = 3

/** Whether piscina is installed and can be loaded. Does not start a thread. */
export function findPool(): PoolModule | undefined {
  try {
    return createRequire(import.meta.url)('piscina') as PoolModule
  } catch {
    return undefined
  }
}

/** Settings of a {@link WorkerExecutor}. */
export interface WorkerExecutorOptions {
  /** A job is ended when one call of a cell hook takes longer. Default 30,000. */
  readonly hookMillisecondsMax?: number
  /** The directory of the jobs, if it is held; threads reach it through the same descriptor. */
  readonly binding?: DirectoryBinding | undefined
}

export class WorkerExecutor implements JobExecutor {
  readonly kind = 'worker'
  private readonly module: PoolModule
  private readonly threadsMax: number
  private readonly hookMillisecondsMax: number
  private readonly binding: DirectoryBinding | undefined
  private pool: Pool | undefined = undefined
  /** Queued or running. */
  private jobs = 0
  private failedStarts = 0

  constructor(module: PoolModule, threadsMax: number, options: WorkerExecutorOptions = {}) {
    this.module = module
    this.threadsMax = threadsMax
    this.hookMillisecondsMax = options.hookMillisecondsMax ?? 30_000
    this.binding = options.binding
  }

  async run(job: Job, control: JobControl): Promise<JobResult> {
    const pool = (this.pool ??= this.start())
    let answer: WorkerAnswer
    const abort = job.hooks && new AbortController()
    const watchdog =
      job.hooks && new HookWatchdog(job.hooks, this.hookMillisecondsMax, () => abort!.abort())
    this.jobs++
    try {
      const task = {
        job,
        control: control.words.buffer as SharedArrayBuffer,
        binding: this.binding,
      }
      answer = await pool.run(task, { name: 'runTask', signal: abort?.signal ?? null })
    } catch (cause) {
      throw watchdog?.error ?? new WorkerDied(job.kind, cause)
    } finally {
      this.jobs--
      watchdog?.stop()
    }
    if (answer.outcome === 'cancelled') throw new JobCancelled()
    if (answer.outcome === 'done') return restore(answer.result)
    const { code, message, corruption } = answer
    throw new CellarError(code ?? ErrorCode.jobFailed, message, { corruption })
  }

  async close(): Promise<void> {
    const { pool } = this
    this.pool = undefined
    await pool?.destroy()
  }

  private start(): Pool {
    const pool = new this.module.Piscina({
      filename: new URL('./job-worker.js', import.meta.url).href,
      minThreads: 0,
      maxThreads: this.threadsMax,
      idleTimeout: idleMilliseconds,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled',
      // Jobs make little garbage; the default would let each thread keep some 50 MiB of it.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.failedStarts = 0
    pool.on('workerCreate', () => (this.failedStarts = 0))
    // The jobs of the thread are rejected, and the pool forgets it, only behind the event.
    pool.on('workerDestroy', () => setImmediate(() => void this.serveQueue(pool)))
    // Of a thread without a job; it also ends, and without a listener the process would.
    pool.on('error', () => undefined)
    return pool
  }

  /** Called when a thread has ended. */
  private async serveQueue(pool: Pool): Promise<void> {
    const alive = pool.threads.length
    if (pool !== this.pool || alive >= Math.min(this.jobs, this.threadsMax)) return
    try {
      if (++this.failedStarts <= failedStartsMax) {
        await pool.run(undefined, { name: 'wake' })
      } else if (alive === 0) {
        this.pool = undefined
        await pool.destroy()
      }
    } catch {
      // The thread has ended again, which is another event.
    }
  }
}

/** Buffers arrive from a thread as plain Uint8Arrays. */
function restore(result: JobResult): JobResult {
  const asBuffer = (bytes: Uint8Array): Buffer =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const files = result.files.map((file): FileMetadata => {
    return { ...file, firstKey: asBuffer(file.firstKey), lastKey: asBuffer(file.lastKey) }
  })
  return { ...result, files }
}
