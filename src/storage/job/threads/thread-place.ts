/**
 * A place for one worker thread, which runs one job at a time. The thread is started by the first
 * job and ends when it was idle for a while; the next job starts another one.
 *
 * Each thread has a pool of piscina of its own. Where the system refuses a thread, piscina throws
 * in the middle of its work and keeps the task, although the promise of the task is lost. If other
 * threads lived in that pool, one of them would run the task later, beside the next attempt of the
 * caller; and the end of the pool would reject a promise that nobody has. A pool without a thread
 * does nothing any more, so it is left alone.
 *
 * A thread may end before it is ready; then it has run nothing of its job, and the job is passed to
 * the thread of a new pool.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import type { WorkerAnswer, WorkerTask } from './job-worker.js'

/** The part of piscina's interface that is used; its own types may be absent. */
export interface Pool {
  /** All threads that were started and have not ended, ready or not. */
  readonly threads: readonly unknown[]
  run(
    task: WorkerTask,
    options: { readonly name: 'runTask'; readonly signal: AbortSignal | null },
  ): Promise<WorkerAnswer>
  run(task: undefined, options: { readonly name: 'wake' }): Promise<void>
  /**
   * 'workerCreate': a thread is ready. 'workerDestroy': a thread ends or is ended, ready or not.
   */
  on(event: 'workerCreate' | 'workerDestroy', listener: () => void): void
  /** The error with which a thread without a job ended. */
  on(event: 'error', listener: (error: unknown) => void): void
  destroy(): Promise<void>
}

const lost = new WeakSet<object>()

/** Makes the `ERR_JOB_FAILED` of a job whose thread ended, or never came up. */
export function threadLost(message: string, cause?: unknown): CellarError {
  const error = new CellarError(ErrorCode.jobFailed, message, { cause })
  lost.add(error)
  return error
}

/** Whether an error is one of {@link threadLost}: a job that failed by itself is not run again. */
export function isThreadLost(error: unknown): boolean {
  return typeof error === 'object' && error !== null && lost.has(error)
}

/** Threads in a row that end before they are ready, after which no other is started. */
const failedStartsMax = 3

/** One thread at most; see the file header. */
export class ThreadPlace {
  /** Set by the owner while a job has the place. */
  isBusy = false
  private readonly makePool: () => Pool
  private readonly onReady: () => void
  private readonly onEnd: () => void
  private pool: Pool | undefined = undefined
  /** Called when the thread has ended, after the pool has rejected the job that it ran. */
  private ended: () => void = () => undefined
  /** The error with which the last thread without a job ended. */
  private startError: unknown = undefined
  private isClosed = false

  /**
   * `makePool` makes a pool of one thread. `onReady` and `onEnd` are called when a thread is ready,
   * and has ended.
   */
  constructor(makePool: () => Pool, onReady: () => void, onEnd: () => void) {
    this.makePool = makePool
    this.onReady = onReady
    this.onEnd = onEnd
  }

  /** Whether there is a thread, ready or not. */
  get isAlive(): boolean {
    return this.pool !== undefined && this.pool.threads.length > 0
  }

  /** Starts a thread, so that the next job does not wait for it. A failure does not count. */
  prepare(): void {
    try {
      this.start()
        .run(undefined, { name: 'wake' })
        .catch(() => undefined)
    } catch {
      this.pool = undefined
    }
  }

  /**
   * Runs a job. Rejects with {@link threadLost} if no thread comes up, and with the error of the
   * pool if the thread ends or `signal` ends it.
   */
  async run(task: WorkerTask, signal: AbortSignal | null): Promise<WorkerAnswer> {
    for (let start = 0; start <= failedStartsMax && !this.isClosed; start++) {
      const answer = await this.attempt(task, signal)
      if (answer !== undefined) return answer
    }
    throw threadLost('the threads of a job ended before they were ready', this.startError)
  }

  /** Ends the thread. A job that it runs is rejected. */
  async close(): Promise<void> {
    this.isClosed = true
    const { pool } = this
    this.pool = undefined
    await pool?.destroy()
  }

  /** The answer; undefined if the thread ended before it was ready. */
  private attempt(task: WorkerTask, signal: AbortSignal | null): Promise<WorkerAnswer | undefined> {
    return new Promise((resolve, reject) => {
      this.ended = () => resolve(undefined)
      try {
        this.start().run(task, { name: 'runTask', signal }).then(resolve, reject)
      } catch (cause) {
        this.pool = undefined
        reject(threadLost('the system refuses a thread', cause))
      }
    })
  }

  private start(): Pool {
    if (this.pool !== undefined) return this.pool
    const pool = this.makePool()
    this.pool = pool
    pool.on('workerCreate', this.onReady)
    // The pool rejects the thread's job and forgets the thread only after this event.
    pool.on('workerDestroy', () => setImmediate(() => this.lose(pool)))
    // For threads without a job. Without a listener the error would end the process.
    pool.on('error', (error) => (this.startError = error))
    return pool
  }

  /** Called when a thread of a pool has ended. */
  private lose(pool: Pool): void {
    if (pool !== this.pool || this.isAlive) return
    this.pool = undefined
    this.onEnd()
    this.ended()
  }
}
