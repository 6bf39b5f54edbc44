/**
 * Runs jobs in worker threads through piscina, which is loaded only when the first job comes and
 * may be missing (design D10).
 *
 * Failure behaviour: a thread that dies rejects its job with `WorkerDied`; the caller removes what
 * the thread may have written and runs the job again with new file numbers.
 */
import { createRequire } from 'node:module'
import { CellarError, ErrorCode } from '../base/errors.js'
import type { FileMetadata } from '../version/file-metadata.js'
import { WorkerDied, type JobExecutor } from './executor.js'
import { HookWatchdog } from './hook-watchdog.js'
import { JobCancelled, type Job, type JobControl, type JobResult } from './job.js'
import type { WorkerAnswer, WorkerTask } from './job-worker.js'

/** The part of piscina that is used; its own types may be absent. */
interface Pool {
  run(
    task: WorkerTask,
    options: { readonly name: string; readonly signal: AbortSignal | null },
  ): Promise<WorkerAnswer>
  destroy(): Promise<void>
}
interface PoolModule {
  readonly Piscina: new (options: Record<string, unknown>) => Pool
}

/** Idle threads live this long, so that bursts of jobs share them. */
const idleMilliseconds = 10_000

/** Whether piscina is installed and can be loaded. Does not start a thread. */
export function findPool(): PoolModule | undefined {
  try {
    return createRequire(import.meta.url)('piscina') as PoolModule
  } catch {
    return undefined
  }
}

export class WorkerExecutor implements JobExecutor {
  readonly kind = 'worker'
  private readonly module: PoolModule
  private readonly threadsMax: number
  private readonly hookMillisecondsMax: number
  private pool: Pool | undefined = undefined

  /** A job is ended when one call of a cell hook takes longer than `hookMillisecondsMax`. */
  constructor(module: PoolModule, threadsMax: number, hookMillisecondsMax = 30_000) {
    this.module = module
    this.threadsMax = threadsMax
    this.hookMillisecondsMax = hookMillisecondsMax
  }

  async run(job: Job, control: JobControl): Promise<JobResult> {
    this.pool ??= this.start()
    let answer: WorkerAnswer
    const abort = job.hooks && new AbortController()
    const watchdog =
      job.hooks && new HookWatchdog(job.hooks, this.hookMillisecondsMax, () => abort!.abort())
    try {
      const task = { job, control: control.words.buffer as SharedArrayBuffer }
      answer = await this.pool.run(task, { name: 'runTask', signal: abort?.signal ?? null })
    } catch (cause) {
      throw watchdog?.error ?? new WorkerDied(job.kind, cause)
    } finally {
      watchdog?.stop()
    }
    if (answer.outcome === 'cancelled') throw new JobCancelled()
    if (answer.outcome === 'done') return restore(answer.result)
    const { code, message, corruption } = answer
    throw new CellarError(code ?? ErrorCode.jobFailed, message, { corruption })
  }

  async close(): Promise<void> {
    await this.pool?.destroy()
    this.pool = undefined
  }

  private start(): Pool {
    return new this.module.Piscina({
      filename: new URL('./job-worker.js', import.meta.url).href,
      minThreads: 0,
      maxThreads: this.threadsMax,
      idleTimeout: idleMilliseconds,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled',
      // Jobs make little garbage; the default would let each thread keep some 50 MiB of it.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
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
