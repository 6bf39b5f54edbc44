/**
 * The entry of a worker thread: runs one job at a time with synchronous input and output.
 *
 * Where the system can tell threads apart, the thread asks for less of the processors than the
 * event loop's, which would otherwise wait for a time slice of a merge to end.
 *
 * Errors are returned as data, because structured cloning loses class and code.
 */
import { setPriority } from 'node:os'
import { CellarError, type CorruptionDetail, type ErrorCode } from '../base/errors.js'
import { loadChecksums } from '../codec/checksum.js'
import { loadCodecs, type Codecs } from '../codec/codec.js'
import { loadHooks } from '../coprocessor/hook-chain.js'
import type { DirectoryBinding } from '../fs/directory-handle.js'
import { NodeFileSystem } from '../fs/node-fs.js'
import { collectGarbage } from './collect-garbage.js'
import { runToEnd, startJob } from './executor.js'
import { keepShapes } from './kept-shapes.js'
import { JobCancelled, JobControl, type Job, type JobResult } from './job.js'

/** What the pool sends to a thread. */
export interface WorkerTask {
  readonly job: Job
  readonly control: SharedArrayBuffer
  /** The held directory of the job; undefined = its path is used as it is. */
  readonly binding: DirectoryBinding | undefined
}

/** What a thread answers. */
export type WorkerAnswer =
  | { readonly outcome: 'done'; readonly result: JobResult }
  | { readonly outcome: 'cancelled' }
  | {
      readonly outcome: 'failed'
      readonly code: ErrorCode | undefined
      readonly message: string
      readonly corruption: CorruptionDetail | undefined
    }

const codecsByMode = new Map<boolean, Codecs>()
keepShapes()

/** A third of the share that a thread of priority 0 gets, if processors are short. */
const threadPriority = 5

lowerPriority()

/** Elsewhere than on Linux it would concern the whole process. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, threadPriority)
  } catch {
    // Then it stays as it is.
  }
}

/** Runs one job. */
export async function runTask(task: WorkerTask): Promise<WorkerAnswer> {
  // Behind the answer, when the task is no longer referenced.
  if (leavesMuch(task.job)) setImmediate(() => setImmediate(collectGarbage))
  try {
    await loadChecksums()
    const { nativeFree } = task.job
    let codecs = codecsByMode.get(nativeFree)
    if (codecs === undefined) {
      codecs = loadCodecs({ nativeFree })
      codecsByMode.set(nativeFree, codecs)
    }
    await loadHooks(task.job.hooks)
    const control = new JobControl(task.control)
    const fileSystem = new NodeFileSystem(undefined, task.binding)
    const steps = startJob(fileSystem, codecs, revive(task.job), control)
    return { outcome: 'done', result: runToEnd(steps, (time) => control.rest(time)) }
  } catch (error) {
    if (error instanceof JobCancelled) return { outcome: 'cancelled' }
    const known = error instanceof CellarError ? error : undefined
    const message = error instanceof Error ? error.message : String(error)
    return { outcome: 'failed', code: known?.code, message, corruption: known?.corruption }
  }
}

/** Entries of a compaction whose index and filter make it worth a collection. */
const entriesCollectedMin = 1024 * 1024
/** Bytes of a compaction's entries, on average, from which its blocks are worth one. */
const entryBytesCollectedMin = 4096

/**
 * Whether a job leaves memory behind that the thread should not keep: the arena of a flush, the
 * indexes and filters of a large compaction, or the blocks of large values. A collection takes up
 * to 50 ms of all cores together.
 */
function leavesMuch(job: Job): boolean {
  if (job.kind === 'flush') return true
  const entries = job.inputs.reduce((sum, input) => sum + input.entryCount, 0)
  const bytes = job.inputs.reduce((sum, input) => sum + input.fileBytes, 0)
  return entries >= entriesCollectedMin || bytes >= entries * entryBytesCollectedMin
}

/** Does nothing: asked for so that the pool starts a thread, which then serves what is queued. */
export function wake(): void {
  return
}

/** Buffers arrive as plain Uint8Arrays, which would make hot code polymorphic. */
function revive(job: Job): Job {
  const databaseId = asBuffer(job.databaseId)
  if (job.kind === 'flush') return { ...job, databaseId }
  const { slice } = job
  return {
    ...job,
    databaseId,
    boundaries: job.boundaries.map(asBuffer),
    slice: slice && {
      ...slice,
      first: slice.first && asBuffer(slice.first),
      end: slice.end && asBuffer(slice.end),
    },
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
