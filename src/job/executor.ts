/**
 * Where jobs run. Both executors run the same generators and give the same files byte for byte.
 */
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import { runCompaction } from './compaction-job.js'
import { runFlush } from './flush-job.js'
import type { Job, JobControl, JobResult } from './job.js'

/** Runs jobs. */
export interface JobExecutor {
  readonly kind: 'inline' | 'worker'
  /** Rejects with what the job threw; with `JobCancelled` if it was cancelled. */
  run(job: Job, control: JobControl): Promise<JobResult>
  /** Ends threads. Running jobs must have been waited for or cancelled. */
  close(): Promise<void>
}

/** Starts a job as a generator. */
export function startJob(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: Job,
  control: JobControl,
): Generator<void, JobResult> {
  return job.kind === 'flush'
    ? runFlush(fileSystem, codecs, job, control)
    : runCompaction(fileSystem, codecs, job, control)
}

/** Runs a generator to its end at once. */
export function runToEnd<T>(generator: Generator<void, T>): T {
  for (;;) {
    const step = generator.next()
    if (step.done === true) return step.value
  }
}

/** Longest run of an inline job before the event loop gets its turn, in milliseconds. */
const sliceMillisecondsMax = 2

/** Drives a generator in slices with the event loop running in between. */
export async function runInSlices<T>(generator: Generator<void, T>): Promise<T> {
  for (;;) {
    const sliceEnd = performance.now() + sliceMillisecondsMax
    do {
      const step = generator.next()
      if (step.done === true) return step.value
    } while (performance.now() < sliceEnd)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

/** Runs jobs on the event loop's thread, in slices: no threads, no addons (design D10). */
export class InlineExecutor implements JobExecutor {
  readonly kind = 'inline'
  private readonly fileSystem: FileSystem
  private readonly codecs: Codecs

  constructor(fileSystem: FileSystem, codecs: Codecs) {
    this.fileSystem = fileSystem
    this.codecs = codecs
  }

  run(job: Job, control: JobControl): Promise<JobResult> {
    return runInSlices(startJob(this.fileSystem, this.codecs, job, control))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
