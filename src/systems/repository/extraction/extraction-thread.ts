/**
 * A worker thread that reads one document after the other. A thread that exceeds its time or memory
 * is terminated, and its document fails.
 */
import { Worker } from 'node:worker_threads'
import { RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { ExtractionAnswer, ExtractionTask } from './extraction-worker.js'

/** Time limits of a document in a thread. */
export interface ThreadLimits {
  readonly milliseconds: number
  /** Whether the document fails at this limit, instead of being read again. */
  readonly isLast: boolean
  /** Aborts the work. */
  readonly signal: AbortSignal | undefined
}

/** A document exceeded its first time limit, and may be read again. */
export class DocumentTooSlow extends Error {}

/** A worker thread, started at its first document. */
export class ExtractionThread {
  readonly #heapMebibytesMax: number
  #worker: Worker | undefined

  constructor(heapMebibytesMax: number) {
    this.#heapMebibytesMax = heapMebibytesMax
  }

  /** Reads a document. Rejects if the thread dies, exceeds the time, or the signal is aborted. */
  ask(
    task: ExtractionTask,
    { milliseconds, isLast, signal }: ThreadLimits,
  ): Promise<ExtractionAnswer> {
    const worker = this.#started()
    return new Promise<ExtractionAnswer>((resolve, reject) => {
      const timer = setTimeout(() => {
        end()
        const message = `the document takes more than ${milliseconds} ms`
        reject(isLast ? new Error(message) : new DocumentTooSlow(message))
      }, milliseconds)
      const onMessage = (answer: ExtractionAnswer): void => {
        end()
        resolve(answer)
      }
      const onError = (error: Error): void => {
        end()
        reject(error)
      }
      const onExit = (): void => {
        end()
        reject(new Error('the thread has ended'))
      }
      const onAbort = (): void => {
        end()
        reject(new RepositoryError(RepositoryErrorCode.closed, 'text extraction is closed'))
      }
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        worker.off('message', onMessage).off('error', onError).off('exit', onExit).unref()
        // Errors during termination would otherwise be unhandled.
        worker.on('error', () => undefined)
      }
      signal?.addEventListener('abort', onAbort)
      worker.removeAllListeners('error')
      worker.on('message', onMessage).on('error', onError).on('exit', onExit).ref()
      worker.postMessage(task, [task.content.buffer as ArrayBuffer])
    })
  }

  /** Terminates the worker. */
  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #started(): Worker {
    this.#worker ??= new Worker(new URL('./extraction-worker.js', import.meta.url), {
      resourceLimits: {
        maxOldGenerationSizeMb: this.#heapMebibytesMax,
        maxYoungGenerationSizeMb: 32,
      },
      // Captures output: libraries print warnings about documents.
      stdout: true,
      stderr: true,
    })
    return this.#worker
  }
}
