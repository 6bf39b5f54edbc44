/**
 * Runs flush and compaction jobs: allots the numbers of their files, and removes the files of jobs
 * whose result is not used.
 */
import {
  JobControl,
  outputNumbersOf,
  valueFileCount,
  type FlushJob,
  type Job,
  type JobResult,
} from '../../job/job.js'
import { runToEnd, startJob, type JobExecutor } from '../../job/threads/executor.js'
import type { OpenedParts } from '../engine.js'

type RunnerParts = Pick<
  OpenedParts,
  | 'codecs'
  | 'directory'
  | 'executor'
  | 'fileSystem'
  | 'options'
  | 'readers'
  | 'reports'
  | 'versions'
>

export class JobRunner {
  readonly executor: JobExecutor
  private readonly parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.parts = parts
    this.executor = parts.executor
  }

  /** The fields that all jobs of the database have in common. */
  get common(): Pick<Job, 'directory' | 'databaseId' | 'nativeFree' | 'valueFileBytesMax'> {
    const { directory, options, versions } = this.parts
    const { nativeFree, valueFileBytesMax } = options
    return { directory, databaseId: versions.databaseId, nativeFree, valueFileBytesMax }
  }

  /** Numbers for the files of a job. The files are protected until {@link end}. */
  allocate(count: number): number[] {
    const { versions } = this.parts
    return Array.from({ length: count }, () => {
      const fileNumber = versions.allocateFileNumber()
      versions.protectFile(fileNumber)
      return fileNumber
    })
  }

  /** As {@link allocate}, for the value files of a job with about so many bytes of values. */
  allocateValueFiles(bytes: number): number[] {
    return this.allocate(valueFileCount(bytes, this.parts.options.valueFileBytesMax))
  }

  /** Runs a flush on this thread, blocking. */
  runSync(job: FlushJob): JobResult {
    const { codecs, fileSystem } = this.parts
    return runToEnd(startJob(fileSystem, codecs, job, new JobControl()))
  }

  /**
   * Called once for each job, when its files are in an edit or removed. `hasFailed`: its thread may
   * still write to the memory that the cache has lent it.
   */
  end(job: Job, hasFailed = false): void {
    const { readers, versions } = this.parts
    for (const fileNumber of outputNumbersOf(job)) versions.unprotectFile(fileNumber)
    readers.cache.segments.end(job.segments, hasFailed)
  }

  /** Removes the files of a job. REQUIRES that no edit names them. */
  discard(job: Job): void {
    const { readers, reports } = this.parts
    for (const fileNumber of outputNumbersOf(job)) {
      readers.close(fileNumber)
      reports.attempt(() => readers.removeRemains(fileNumber))
    }
  }
}
