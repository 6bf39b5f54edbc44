/**
 * Extracts the text of documents in a worker thread, with limits for time, memory and output.
 *
 * The thread is started by the first document. One that takes too long or too much memory is ended
 * with its document, and the next document gets a new thread.
 */
import { Worker } from 'node:worker_threads'
import { OptionNames, shown } from '../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { ExtractionAnswer, ExtractionTask } from './extraction-worker.js'
import { plainMediaType, type DocumentHint } from './media-types.js'

/** Options of {@link TextExtraction}. */
export interface TextExtractionOptions {
  /** Characters of a text that are kept; the rest is cut off. Default 500,000. */
  readonly charactersMax?: number
  /** Milliseconds for one document, with the start of the thread. Default 30,000. */
  readonly timeMillisecondsMax?: number
  /** Mebibytes of the heap of the thread. Default 256. */
  readonly heapMebibytesMax?: number
  /** Bytes of a document. Default 64 MiB. */
  readonly contentBytesMax?: number
  /**
   * Bytes of the inflated parts of an archive, which are never in memory as a whole. Default 512
   * MiB.
   */
  readonly inflatedBytesMax?: number
  /**
   * Addresses of modules by media type, before the built-in formats. The thread imports them; each
   * exports `extractText(content, write, { mediaType, name })`.
   */
  readonly modules?: Readonly<Record<string, string | URL>>
}

const names = new OptionNames<TextExtractionOptions>('text extraction', {
  charactersMax: true,
  timeMillisecondsMax: true,
  heapMebibytesMax: true,
  contentBytesMax: true,
  inflatedBytesMax: true,
  modules: true,
})

/** A text, and whether its end was cut off. */
export interface ExtractedText {
  /** The text, at most `charactersMax` characters. */
  readonly text: string
  /** Whether there was more text. */
  readonly isCut: boolean
}

/** The text of documents. */
export class TextExtraction {
  readonly #settings: Required<Omit<TextExtractionOptions, 'modules'>>
  readonly #modules: ReadonlyMap<string, string>
  #worker: Worker | undefined
  /** The end of the last document. */
  #work: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** Starts nothing. `ERR_INVALID_ARGUMENT`. */
  constructor(options: TextExtractionOptions = {}) {
    names.check(options)
    const {
      charactersMax = 500_000,
      timeMillisecondsMax = 30_000,
      heapMebibytesMax = 256,
      contentBytesMax = 64 << 20,
      inflatedBytesMax = 512 << 20,
      modules = {},
    } = options
    this.#settings = {
      charactersMax,
      timeMillisecondsMax,
      heapMebibytesMax,
      contentBytesMax,
      inflatedBytesMax,
    }
    for (const [name, value] of Object.entries(this.#settings)) {
      if (Number.isSafeInteger(value) && value > 0) continue
      throw invalidArgument(`${name} must be a whole number, 1 or more, got ${shown(value)}`)
    }
    this.#modules = new Map(
      Object.entries(modules).map(([type, address]) => [plainMediaType(type), String(address)]),
    )
  }

  /**
   * The text of a document, cut at `charactersMax`. Media type and name are hints; the first bytes
   * count more. `ERR_EXTRACTION` if the document cannot be read or goes beyond a limit,
   * `ERR_REPOSITORY_CLOSED` when `signal` ends the work.
   *
   * Needs no `this`, so an indexer may have it as its function.
   */
  readonly extract = async (
    content: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType?: string,
    name?: string,
    signal?: AbortSignal,
  ): Promise<string> => (await this.extractText(content, mediaType, name, signal)).text

  /** As {@link extract}, and says whether the text was cut. */
  async extractText(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType?: string,
    name?: string,
    signal?: AbortSignal,
  ): Promise<ExtractedText> {
    const bytes = await this.#collected(content)
    const done = this.#work.then(() => this.#run(bytes, { mediaType, name }, signal))
    this.#work = done.catch(() => undefined)
    return done
  }

  /** Ends the thread, after the documents under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#work
    await this.#endWorker()
  }

  /** A copy of the content, which goes to the thread. */
  async #collected(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
    const { contentBytesMax } = this.#settings
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of content instanceof Uint8Array ? [content] : content) {
      size += piece.length
      if (size > contentBytesMax) {
        throw extractionError(`the document has more than ${contentBytesMax} bytes`)
      }
      pieces.push(piece)
    }
    const bytes = new Uint8Array(size)
    let at = 0
    for (const piece of pieces) {
      bytes.set(piece, at)
      at += piece.length
    }
    return bytes
  }

  async #run(
    content: Uint8Array,
    { mediaType, name }: DocumentHint,
    signal: AbortSignal | undefined,
  ): Promise<ExtractedText> {
    if (this.#isClosed || signal?.aborted === true) throw closedError()
    const { charactersMax, inflatedBytesMax } = this.#settings
    const module = this.#modules.get(plainMediaType(mediaType))
    const task = { content, mediaType, name, charactersMax, inflatedBytesMax, module }
    let answer: ExtractionAnswer
    try {
      answer = await this.#ask(this.#startedWorker(), task, signal)
    } catch (error) {
      await this.#endWorker()
      if (error instanceof RepositoryError) throw error
      throw extractionError((error as Error).message, error)
    }
    if ('problem' in answer) {
      if (answer.isPackageMissing) await this.#endWorker()
      throw extractionError(answer.problem)
    }
    return answer
  }

  /** Rejects if the thread dies or takes too long, or the signal ends the work. */
  #ask(
    worker: Worker,
    task: ExtractionTask,
    signal: AbortSignal | undefined,
  ): Promise<ExtractionAnswer> {
    const { timeMillisecondsMax } = this.#settings
    return new Promise<ExtractionAnswer>((resolve, reject) => {
      const timer = setTimeout(() => {
        end()
        reject(new Error(`the document takes more than ${timeMillisecondsMax} ms`))
      }, timeMillisecondsMax)
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
        reject(closedError())
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

  #startedWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./extraction-worker.js', import.meta.url), {
      resourceLimits: {
        maxOldGenerationSizeMb: this.#settings.heapMebibytesMax,
        maxYoungGenerationSizeMb: 32,
      },
      // Libraries write warnings about documents.
      stdout: true,
      stderr: true,
    })
    this.#worker = worker
    return worker
  }

  async #endWorker(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

function closedError(): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.closed, 'text extraction is closed')
}

function extractionError(problem: string, cause?: unknown): RepositoryError {
  const message = `no text: ${problem}`
  return new RepositoryError(RepositoryErrorCode.extraction, message, cause)
}
