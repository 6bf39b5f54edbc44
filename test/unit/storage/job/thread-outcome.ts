/** A small job for tests of worker threads, and what became of it. */
import { CellarError } from '../../../../src/base/errors.js'
import { JobControl, type Job } from '../../../../src/storage/job/job.js'
import { isThreadLost } from '../../../../src/storage/job/threads/thread-place.js'
import type { WorkerExecutor } from '../../../../src/storage/job/threads/worker-executor.js'

/** A job that a live thread answers with an error of its own: enough to see that it ran. */
export const job = { kind: 'flush', fileNumber: 0, entries: { arenaBytes: 1 } } as Job

/** 'done' by the inline executor, 'ran' in a thread, or 'died'. */
export async function outcomeOf(executor: WorkerExecutor): Promise<string> {
  try {
    await executor.run(job, new JobControl())
    return 'done'
  } catch (error) {
    if (!(error instanceof CellarError)) return 'failed otherwise'
    // A job that failed in a thread that lives is not run again.
    return isThreadLost(error) ? 'died' : 'ran'
  }
}
