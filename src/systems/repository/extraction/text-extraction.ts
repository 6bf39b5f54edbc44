/**
 * Extracts the text of documents in a few worker threads, with limits for time, memory and output.
 *
 * A document that is not read within a tenth of its time limit makes room for others. It is queued
 * again with its whole time limit, after at most 16 waiting documents. With several threads, one of
 * them is kept free of such documents.
 */
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import {
  assert,
  checked,
  checkObject,
  checkSignal,
  checkText,
  declareOptions,
  deferred,
  integer,
  isBytes,
  readArguments,
  timerMillisecondsMax,
  type CellarError,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { isRepositoryError, repositoryError } from '../errors.js'
import { checkBuffer, checkPieces } from '../pieces.js'
import { errorOf } from '../thrown.js'
import type { ExtractionAnswer, ExtractionTask } from './extraction-worker.js'
import { plainMediaType } from './media-types.js'

function closedError(): CellarError {
  return repositoryError('closed', 'text extraction is closed')
}

/**
 * A worker thread that reads one document after the other, started at the first one. A thread that
 * exceeds its time or memory is terminated, and its document fails.
 */
class ExtractionThread {
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

type Modules = Readonly<Record<string, string | URL>>

function readModules(given: Modules, what: string): ReadonlyMap<string, string> {
  const modules = new Map<string, string>()
  for (const [type, address] of Object.entries(checkObject(given, what))) {
    const text = address instanceof URL ? address.href : checkText(address, `${what}['${type}']`)
    modules.set(plainMediaType(type), text)
  }
  return modules
}

const extractionOptions = declareOptions('text extraction', {
  /** Number of documents read side by side, each in a thread of its own. Default 2. */
  threads: integer({ min: 1, default: 2 }),
  /** Maximum length of a text in characters; the rest is cut off. Default 500,000. */
  charactersMax: integer({ min: 1, default: 500_000 }),
  /**
   * Milliseconds for the bytes of a document, and for its text, including the start of the thread.
   * Default 30,000.
   */
  timeMillisecondsMax: integer({ min: 1, max: timerMillisecondsMax, default: 30_000 }),
  /** Heap limit of a thread in mebibytes. Default 256. */
  heapMebibytesMax: integer({ min: 1, default: 256 }),
  /** Maximum size of a document in bytes. Default 64 MiB. */
  contentBytesMax: integer({ min: 1, default: 64 << 20 }),
  /**
   * Maximum total size of the inflated parts of an archive, in bytes. They are never in memory as a
   * whole. Default 512 MiB.
   */
  inflatedBytesMax: integer({ min: 1, default: 512 << 20 }),
  /**
   * URLs of modules by media type; they take precedence over the built-in formats. The thread
   * imports them; each exports `extractText(content, write, { mediaType, name })`.
   */
  modules: checked(readModules, new Map<string, string>()),
})

/** Options of {@link TextExtraction}. */
export interface TextExtractionOptions extends OptionsOf<typeof extractionOptions> {}

/** A text, and whether it was cut off. */
export interface ExtractedText {
  /** The text, at most `charactersMax` characters. */
  readonly text: string
  /** Whether the text was longer. */
  readonly isCut: boolean
}

interface Job {
  readonly content: Uint8Array | AsyncIterable<Uint8Array>
  readonly hint: Pick<ExtractionTask, 'mediaType' | 'name'>
  readonly signal: AbortSignal | undefined
  readonly resolve: (text: ExtractedText) => void
  readonly reject: (error: unknown) => void
  /** Kept for the second attempt. */
  bytes: Uint8Array | undefined
  isSlow: boolean
}

/** The share of its time limit that a document has in its first attempt. */
const firstShare = 1 / 10
const firstMillisecondsMin = 1000
/** Maximum number of first attempts that start before a waiting second attempt. */
const fastBeforeSlow = 16

/** Extracts the text of documents. */
export class TextExtraction {
  readonly #settings: SettingsOf<typeof extractionOptions>
  readonly #idle: ExtractionThread[] = []
  readonly #busy = new Map<Job, ExtractionThread>()
  #waiting: Job[] = []
  #slow: Job[] = []
  #sinceSlow = 0
  #isClosed = false
  readonly #work = new Set<Promise<unknown>>()

  /** Starts no thread. `ERR_INVALID_ARGUMENT`. */
  constructor(options: TextExtractionOptions = {}) {
    this.#settings = extractionOptions.read(options)
  }

  /**
   * The text of a document, cut at `charactersMax`. Media type and name are hints; the first bytes
   * take precedence. `ERR_EXTRACTION` if the document cannot be read or exceeds a limit,
   * `ERR_REPOSITORY_CLOSED` when `signal` aborts the work.
   *
   * The function uses no `this`, so it can be passed to an indexer.
   */
  readonly extract = async (
    content: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType?: string,
    name?: string,
    signal?: AbortSignal,
  ): Promise<string> => (await this.extractText(content, mediaType, name, signal)).text

  /** See {@link extract}; also returns whether the text was cut. Bytes are copied at the call. */
  async extractText(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType?: string,
    name?: string,
    signal?: AbortSignal,
  ): Promise<ExtractedText> {
    if (mediaType !== undefined) checkText(mediaType, 'the media type of a document')
    if (name !== undefined) checkText(name, 'the name of a document')
    readArguments(() => checkSignal(signal))
    const own = isBytes(content)
      ? Buffer.from(checkBuffer(content, 'a document'))
      : checkPieces(content, 'a document is made of bytes', (piece) => {
          return checkBuffer(piece, 'a piece of a document')
        })
    const { promise: done, ...settle } = deferred<ExtractedText>()
    const hint = { mediaType, name }
    const job: Job = { content: own, hint, signal, ...settle, bytes: undefined, isSlow: false }
    const drop = (): void => this.#drop(job)
    signal?.addEventListener('abort', drop, { once: true })
    this.#waiting.push(job)
    this.#next()
    this.#work.add(done)
    const settled = (): void => {
      this.#work.delete(done)
      // The signal may outlive many documents, and the listener holds the bytes of this one.
      signal?.removeEventListener('abort', drop)
    }
    void done.then(settled, settled)
    return done
  }

  /** Ends the threads, after the documents in progress. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const job of [...this.#waiting, ...this.#slow]) this.#drop(job)
    await Promise.allSettled(this.#work)
    await Promise.all(this.#idle.splice(0).map((thread) => thread.end()))
  }

  #drop(job: Job): void {
    const others = (jobs: readonly Job[]): Job[] => jobs.filter((each) => each !== job)
    this.#waiting = others(this.#waiting)
    this.#slow = others(this.#slow)
    if (!this.#busy.has(job)) job.reject(closedError())
  }

  /** Starts documents while threads are free. */
  #next(): void {
    while (this.#busy.size < this.#settings.threads) {
      const job = this.#chosen()
      if (job === undefined) return
      const { heapMebibytesMax } = this.#settings
      const thread = this.#idle.pop() ?? new ExtractionThread(heapMebibytesMax)
      this.#busy.set(job, thread)
      assert(this.#busy.size <= this.#settings.threads, 'a document is read in a thread of its own')
      void this.#run(job, thread)
    }
  }

  #chosen(): Job | undefined {
    const { threads } = this.#settings
    const slowRunning = [...this.#busy.keys()].filter(({ isSlow }) => isSlow).length
    const isSlowTurn = this.#waiting.length === 0 || this.#sinceSlow >= fastBeforeSlow
    if (this.#slow.length > 0 && isSlowTurn && slowRunning < Math.max(1, threads - 1)) {
      this.#sinceSlow = 0
      return this.#slow.shift()
    }
    this.#sinceSlow++
    return this.#waiting.shift()
  }

  async #run(job: Job, thread: ExtractionThread): Promise<void> {
    let isReusable = false
    let isAgain = false
    try {
      if (this.#isClosed || job.signal?.aborted === true) throw closedError()
      const answer = await this.#answerOf(job, thread)
      if (answer === undefined) {
        assert(!job.isSlow, 'a document has two attempts')
        isAgain = true
      } else if ('problem' in answer) job.reject(extractionError(answer.problem))
      else {
        isReusable = true
        job.resolve(answer)
      }
    } catch (error) {
      const isOwn = isRepositoryError(error)
      job.reject(isOwn ? error : extractionError(errorOf(error).message, error))
    }
    if (isReusable) this.#idle.push(thread)
    else await thread.end()
    this.#busy.delete(job)
    if (isAgain) {
      job.isSlow = true
      this.#slow.push(job)
    }
    this.#next()
  }

  /** The answer of the thread; undefined for a document that is to be read again. */
  async #answerOf(job: Job, thread: ExtractionThread): Promise<ExtractionAnswer | undefined> {
    const { charactersMax, inflatedBytesMax, timeMillisecondsMax, modules } = this.#settings
    const { hint, signal, isSlow } = job
    job.bytes ??= await this.#collected(job)
    // Copied, because a second attempt may need the bytes.
    const content = new Uint8Array(job.bytes)
    const module = modules.get(plainMediaType(hint.mediaType))
    const first = Math.max(firstMillisecondsMin, timeMillisecondsMax * firstShare)
    const milliseconds = isSlow ? timeMillisecondsMax : Math.min(first, timeMillisecondsMax)
    const task = { content, ...hint, charactersMax, inflatedBytesMax, module }
    const answer = await thread.ask(task, milliseconds, signal)
    const isLast = isSlow || milliseconds === timeMillisecondsMax || this.#isClosed
    if (answer !== undefined || !isLast) return answer
    throw new Error(`the document takes more than ${milliseconds} ms`)
  }

  /** The bytes of a document. They have the time of a document, and end with the signal. */
  async #collected({ content, signal }: Job): Promise<Uint8Array> {
    if (isBytes(content)) return this.#collect([content])
    const { timeMillisecondsMax } = this.#settings
    const done = new AbortController()
    const stop = AbortSignal.any([done.signal, ...(signal === undefined ? [] : [signal])])
    const pieces = content[Symbol.asyncIterator]()
    const late = setTimeout(timeMillisecondsMax, undefined, { signal: stop }).then(
      () => {
        throw extractionError(`the document takes more than ${timeMillisecondsMax} ms`)
      },
      () => {
        throw closedError()
      },
    )
    try {
      return await Promise.race([this.#collect({ [Symbol.asyncIterator]: () => pieces }), late])
    } finally {
      done.abort()
      // A source that hangs is not waited for.
      pieces.return?.().catch(() => undefined)
    }
  }

  async #collect(content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
    const { contentBytesMax } = this.#settings
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of content) {
      size += piece.length
      if (size > contentBytesMax) {
        throw extractionError(`the document has more than ${contentBytesMax} bytes`)
      }
      pieces.push(piece)
    }
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
  }
}

function extractionError(problem: string, cause?: unknown): CellarError {
  return repositoryError('extraction', `no text: ${problem}`, cause)
}
