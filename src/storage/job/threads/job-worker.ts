/**
 * The entry point of a worker thread: runs one job at a time with synchronous input and output.
 * The published module of this name holds the code that threads and the engine share, so the main
 * thread imports the module, too.
 *
 * On Linux the thread lowers its priority. Otherwise the event loop would wait for a time slice of
 * a merge to end.
 *
 * Errors are returned as data, because structured cloning loses their class and code.
 */
import { setPriority } from 'node:os'
import { messageOf } from '../../../base/arguments.js'
import { collectGarbage } from '../../../base/machine-memory.js'
import { CellarError, type CorruptionDetail, type ErrorCode } from '../../../base/errors.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs, type Codecs } from '../../codec/codec.js'
import { loadHooks } from '../../coprocessor/hook-chain.js'
import type { DirectoryBinding } from '../../fs/directory-handle.js'
import { systemCode } from '../../fs/errors.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import { runToEnd, startJob } from './executor.js'
import { keepShapes } from '../kept-shapes.js'
import { JobControl, type Job, type JobResult } from '../job.js'

/** The message of the pool to a thread. */
export interface WorkerTask {
  /** The flush or compaction, as plain data. */
  readonly job: Job
  /** Shared with the pool: how the pool cancels the job while it runs. */
  readonly control: SharedArrayBuffer
  /** The held directory of the job; undefined = use the path as it is. */
  readonly binding: DirectoryBinding | undefined
}

/** The error behind a failed task. */
export interface WorkerCause {
  /** Its message. */
  readonly message: string
  /** The code of the system, such as `ENOSPC`. */
  readonly code: string | undefined
}

/** The answer of a thread. */
export type WorkerAnswer =
  | {
      /** How the job ended. A cancelled job has left no file. */
      readonly outcome: 'done'
      /** The files that the job has written, and its counters. */
      readonly result: JobResult
    }
  | {
      /** How the job ended. A cancelled job has left no file. */
      readonly outcome: 'failed'
      /** Code of the `CellarError`; undefined for any other error. */
      readonly code: ErrorCode | undefined
      /** Message of the error. */
      readonly message: string
      /** Where damaged bytes lie, for `ERR_CORRUPTION`. */
      readonly corruption: CorruptionDetail | undefined
      /** The cause: of the `CellarError`, or any other error itself. */
      readonly cause: WorkerCause | undefined
    }

const codecsByMode = new Map<boolean, Codecs>()

/** Nice value of the thread: about a third of the share of priority 0, if processors are short. */
const threadPriority = 5

let isPrepared = false

/** Called by the first call of a thread. Importing this module must change nothing. */
function prepareThread(): void {
  if (isPrepared) return
  isPrepared = true
  keepShapes()
  lowerPriority()
}

/** Lowers the priority of this thread. On other systems the call would affect the whole process. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, threadPriority)
  } catch {
    // The priority stays as it is.
  }
}

/** Runs one job. */
export async function runTask(task: WorkerTask): Promise<WorkerAnswer> {
  prepareThread()
  // After the answer was sent, when the task is no longer referenced.
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
    const known = error instanceof CellarError ? error : undefined
    const message = messageOf(error)
    const code = known?.code as ErrorCode | undefined
    const reason = known === undefined ? error : known.cause
    const cause =
      reason instanceof Error ? { message: messageOf(reason), code: systemCode(reason) } : undefined
    return { outcome: 'failed', code, message, corruption: known?.corruption, cause }
  }
}

/** Entries of a compaction from which its indexes and filters are worth a collection. */
const entriesCollectedMin = 1024 * 1024
/** Average bytes of the entries of a compaction from which its blocks are worth a collection. */
const entryBytesCollectedMin = 4096
/** Bytes of the cache that a compaction borrows from which they are worth a collection. */
const borrowedBytesCollectedMin = 64 * 1024 * 1024

/**
 * Whether a job leaves memory that the thread should release: the arena of a flush, the indexes and
 * filters of a large compaction, the blocks of large values, or segments of the cache, which may
 * have to give way. A collection takes up to 50 ms of processor time.
 */
function leavesMuch(job: Job): boolean {
  if (job.kind === 'flush') return true
  const entries = job.inputs.reduce((sum, input) => sum + input.entryCount, 0)
  const bytes = job.inputs.reduce((sum, input) => sum + input.fileBytes, 0)
  const borrowed = job.segments.reduce((sum, segment) => sum + segment.byteLength, 0)
  return (
    entries >= entriesCollectedMin ||
    bytes >= entries * entryBytesCollectedMin ||
    borrowed >= borrowedBytesCollectedMin
  )
}

/** Calling it makes the pool start a thread, which then takes the queued jobs. */
export function wake(): void {
  prepareThread()
}

/**
 * Turns byte arrays back into Buffers: structured cloning makes them plain, which slows hot code
 * down.
 */
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
