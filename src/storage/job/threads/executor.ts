/**
 * Where jobs run: inline or in worker threads. Both ways run the same generators and make the same
 * files, byte for byte.
 */
import type { Codecs } from '../../codec/codec.js'
import { loadHooks } from '../../coprocessor/hook-chain.js'
import type { FileSystem } from '../../fs/types.js'
import { runCompaction } from '../compaction-job.js'
import { runFlush } from '../flush-job.js'
import type { Job, JobControl, JobResult, JobStep } from '../job.js'

/** How often a job is run at most if its thread ends. */
export const attemptsMax = 3

/** Runs jobs. */
export interface JobExecutor {
  readonly kind: 'inline' | 'worker'
  /**
   * Runs a job. Rejects with the error of the job, also if it was cancelled, or with
   * `ERR_JOB_FAILED` if its thread ended.
   */
  run(job: Job, control: JobControl): Promise<JobResult>
  /** Called when a job is likely to come soon. An executor may start a thread for it. */
  prepare(): void
  /** Ends threads. REQUIRES that running jobs were awaited or cancelled. */
  close(): Promise<void>
}

/** Starts a job as a generator. */
export function startJob(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: Job,
  control: JobControl,
): Generator<JobStep, JobResult> {
  return job.kind === 'flush'
    ? runFlush(fileSystem, codecs, job, control)
    : runCompaction(fileSystem, codecs, job, control)
}

/**
 * Runs a generator to its end, blocking. Calls `rest` with the milliseconds that it wants to rest.
 */
export function runToEnd<T>(
  generator: Generator<JobStep | void, T>,
  rest?: (milliseconds: number) => void,
): T {
  for (;;) {
    const step = generator.next()
    if (step.done === true) return step.value
    if (rest !== undefined && typeof step.value === 'number' && step.value > 0) rest(step.value)
  }
}

/** Longest run of an inline job before the event loop gets its turn, in milliseconds. */
const sliceMillisecondsMax = 2

/**
 * Runs a generator in slices, between which the event loop runs. Outputs are synced in another
 * thread; the generator gets the error of a sync.
 */
export async function runInSlices<T>(generator: Generator<JobStep | void, T>): Promise<T> {
  for (;;) {
    const sliceEnd = performance.now() + sliceMillisecondsMax
    let step: JobStep
    do {
      const result = generator.next()
      if (result.done === true) return result.value
      step = result.value ?? 0
    } while (step === 0 && performance.now() < sliceEnd)
    try {
      await between(step)
    } catch (error) {
      generator.throw(error)
    }
  }
}

/** Resolves after a turn of the event loop, a rest, or a sync. */
function between(step: JobStep): Promise<void> {
  if (typeof step === 'object') return step.sync()
  return new Promise((resolve) => {
    if (step > 0) setTimeout(resolve, step)
    else setImmediate(resolve)
  })
}

/** Runs jobs in slices on the thread of the event loop, without threads or addons. */
export class InlineExecutor implements JobExecutor {
  readonly kind = 'inline'
  private readonly fileSystem: FileSystem
  private readonly codecs: Codecs

  constructor(fileSystem: FileSystem, codecs: Codecs) {
    this.fileSystem = fileSystem
    this.codecs = codecs
  }

  async run(job: Job, control: JobControl): Promise<JobResult> {
    if (job.hooks !== undefined) await loadHooks(job.hooks)
    return runInSlices(startJob(this.fileSystem, this.codecs, job, control))
  }

  prepare(): void {
    return
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** Makes the executor that it passes jobs to when it is first needed: finding one takes 2 ms. */
export class DeferredExecutor implements JobExecutor {
  private readonly make: () => JobExecutor
  private made: JobExecutor | undefined = undefined

  constructor(make: () => JobExecutor) {
    this.make = make
  }

  private get executor(): JobExecutor {
    return (this.made ??= this.make())
  }

  get kind(): 'inline' | 'worker' {
    return this.executor.kind
  }

  run(job: Job, control: JobControl): Promise<JobResult> {
    return this.executor.run(job, control)
  }

  prepare(): void {
    this.executor.prepare()
  }

  async close(): Promise<void> {
    await this.made?.close()
  }
}
