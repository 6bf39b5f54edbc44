/**
 * A thread that reads one document after the other. One that takes too long or too much memory is
 * ended with its document.
 */
import { Worker } from 'node:worker_threads'
import { RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { ExtractionAnswer, ExtractionTask } from './extraction-worker.js'

/** How long a thread works on a document. */
export interface ThreadLimits {
  readonly milliseconds: number
  /** Whether the document gets no more time than that. */
  readonly isLast: boolean
  /** Ends the work. */
  readonly signal: AbortSignal | undefined
}

/** A document took more than its first time, and may be read again. */
export class DocumentTooSlow extends Error {}

/** The worker is started by the first document. */
export class ExtractionThread {
  readonly #heapMebibytesMax: number
  #worker: Worker | undefined

  constructor(heapMebibytesMax: number) {
    this.#heapMebibytesMax = heapMebibytesMax
  }

  /** Rejects if the thread dies or takes too long, or the signal ends the work. */
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
        // Errors of a thread that is being ended have no other listener.
        worker.on('error', () => undefined)
      }
      signal?.addEventListener('abort', onAbort)
      worker.removeAllListeners('error')
      worker.on('message', onMessage).on('error', onError).on('exit', onExit).ref()
      worker.postMessage(task, [task.content.buffer as ArrayBuffer])
    })
  }

  /** Ends the worker. */
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
      // Libraries write warnings about documents.
      stdout: true,
      stderr: true,
    })
    return this.#worker
  }
}
