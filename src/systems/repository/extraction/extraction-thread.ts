/**
 * A worker thread that reads one document after the other. A thread that exceeds its time or memory
 * is terminated, and its document fails.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CellarError } from '../../../api/index.js'
import { repositoryError } from '../errors.js'
import type { ExtractionAnswer, ExtractionTask } from './extraction-worker.js'

/** Makes an `ERR_REPOSITORY_CLOSED`. */
export function closedError(): CellarError {
  return repositoryError('closed', 'text extraction is closed')
}

/** A worker thread, started at its first document. */
export class ExtractionThread {
  readonly #heapMebibytesMax: number
  #worker: Worker | undefined

  constructor(heapMebibytesMax: number) {
    this.#heapMebibytesMax = heapMebibytesMax
  }

  /**
   * Reads a document; undefined if that takes more than `milliseconds`. Rejects if the thread dies;
   * `ERR_REPOSITORY_CLOSED` if the signal is aborted.
   */
  async ask(
    task: ExtractionTask,
    milliseconds: number,
    signal: AbortSignal | undefined,
  ): Promise<ExtractionAnswer | undefined> {
    const worker = this.#started()
    const done = new AbortController()
    const timeout = AbortSignal.timeout(milliseconds)
    const stop = AbortSignal.any([timeout, done.signal, ...(signal === undefined ? [] : [signal])])
    worker.ref()
    worker.postMessage(task, [task.content.buffer as ArrayBuffer])
    try {
      const exited = once(worker, 'exit', { signal: stop }).then(() => {
        throw new Error('the thread has ended')
      })
      const answered = once(worker, 'message', { signal: stop })
      const [answer] = (await Promise.race([answered, exited])) as [ExtractionAnswer]
      return answer
    } catch (error) {
      if (signal?.aborted === true) throw closedError()
      if (stop.aborted) return undefined
      throw error
    } finally {
      done.abort()
      worker.unref()
    }
  }

  /** Terminates the worker. */
  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./extraction-worker.js', import.meta.url), {
      resourceLimits: {
        maxOldGenerationSizeMb: this.#heapMebibytesMax,
        maxYoungGenerationSizeMb: 32,
      },
      // Captures output: libraries print warnings about documents.
      stdout: true,
      stderr: true,
      // Errors between two documents, and during termination, would otherwise be unhandled.
    }).on('error', () => undefined)
    // What a document left running may end the thread between two documents.
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return (this.#worker = worker)
  }
}
