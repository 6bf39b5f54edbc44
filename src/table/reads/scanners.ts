/** The iterators of scans: asynchronous and synchronous shells over one `ScanSession`. */
import { checkAborted } from '../../base/errors.js'
import type { TableParts } from '../../storage/engine/engine.js'
import { isTraced } from '../../storage/engine/diagnostics.js'
import { TimedOperation } from '../../storage/engine/write/operation-times.js'
import { isBlockMissing, loadAndRepeat } from './block-loading.js'
import type { Result } from '../../api/results/result.js'
import type { ScanSession } from './scan-session.js'
import type { ScanMetrics } from '../../api/index.js'
import { checkResultCount } from '../../api/rows/row-arguments.js'
import { ResultScanner, SyncResultScanner } from '../../api/scanners.js'

/**
 * Number of results made in one turn of the event loop: enough to amortise a promise, and short
 * enough to be fair.
 */
const resultsPerTurnMax = 128

/** Results whose making takes as much of the turn's budget as an operation. */
const resultsPerOperation = 2

/** A step of a scan waits by no row. */
const noRow = {}

const endOfScan: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Closes abandoned scans, which would otherwise pin their files forever. */
const forgotten = new FinalizationRegistry<ScanSession>((session) => session.close())

/** Asynchronous results of a scan. */
export class AsyncScanner extends ResultScanner {
  readonly #parts: TableParts
  readonly #session: ScanSession
  #buffered: Result[] = []
  #position = 0
  /** The error that ended the scan, thrown after the buffered results. */
  #failure: { readonly error: unknown } | undefined = undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: TableParts, session: ScanSession) {
    super()
    this.#parts = parts
    this.#session = session
    forgotten.register(this, session)
  }

  get metrics(): ScanMetrics {
    return this.#session.metrics
  }

  next(): Promise<IteratorResult<Result, undefined>> {
    if (this.#position < this.#buffered.length) {
      return Promise.resolve({ done: false, value: this.#buffered[this.#position++] })
    }
    return this.#enqueue(async () => {
      if (this.#position >= this.#buffered.length) await this.#fill(resultsPerTurnMax)
      if (this.#position >= this.#buffered.length) return endOfScan
      return { done: false, value: this.#buffered[this.#position++] }
    })
  }

  nextBatch(count: number): Promise<Result[]> {
    return this.#enqueue(async () => {
      checkResultCount(count)
      const results: Result[] = []
      while (results.length < count) {
        if (this.#position >= this.#buffered.length) {
          try {
            await this.#fill(Math.min(count - results.length, resultsPerTurnMax))
          } catch (error) {
            if (results.length === 0) throw error
            this.#failure = { error }
            break
          }
        }
        if (this.#position >= this.#buffered.length) break
        results.push(this.#buffered[this.#position++])
      }
      return results
    })
  }

  close(): void {
    this.#session.close()
    this.#buffered = []
    this.#position = 0
    this.#failure = undefined
  }

  /** Serializes calls, as async generators do. */
  #enqueue<T>(step: () => Promise<T>): Promise<T> {
    const run = this.#running.then(step)
    this.#running = run.catch(() => undefined)
    return run
  }

  #fill(count: number): Promise<void> {
    const fill = (): Promise<void> => this.#fillTimed(count)
    return isTraced() ? this.#session.times.trace(TimedOperation.scan, noRow, fill) : fill()
  }

  async #fillTimed(count: number): Promise<void> {
    const session = this.#session
    this.#buffered = []
    this.#position = 0
    this.#throwFailure()
    if (session.ended) return
    const { turn } = this.#parts.writes
    if (!turn.spend()) await turn.waitForTurn()
    const startedAt = session.times.begin(TimedOperation.scan)
    try {
      while (!session.ended && this.#buffered.length === 0) {
        this.#checkAlive()
        const missing = this.#collect(session, count)
        if (missing && this.#buffered.length === 0) {
          const first = await loadAndRepeat(this.#parts, () => session.next())
          if (first === undefined) break
          if (first !== 'pause') this.#buffered.push(first)
        } else if (this.#buffered.length === 0 && !session.ended) {
          await new Promise<void>((resolve) => setImmediate(resolve))
        }
      }
    } catch (error) {
      session.close()
      throw error
    }
    turn.spend(Math.floor(this.#buffered.length / resultsPerOperation))
    if (startedAt !== 0) endStep(session, startedAt)
  }

  /** Collects the rows in memory; true if a block is missing. */
  #collect(session: ScanSession, count: number): boolean {
    try {
      while (this.#buffered.length < count) {
        const result = session.next()
        if (result === undefined || result === 'pause') return false
        this.#buffered.push(result)
      }
    } catch (error) {
      if (isBlockMissing(error)) return true
      if (this.#buffered.length === 0) throw error
      // The results before the error are returned first; the error follows.
      this.#session.close()
      this.#failure = { error }
    }
    return false
  }

  #throwFailure(): void {
    const failure = this.#failure
    if (failure === undefined) return
    this.#failure = undefined
    throw failure.error
  }

  #checkAlive(): void {
    this.#parts.lifecycle.checkOpen()
    checkAborted('the scan', this.#session.signal)
  }
}

/** Synchronous results of a scan. */
export class SyncScanner extends SyncResultScanner {
  readonly #parts: TableParts
  readonly #session: ScanSession
  /** The error that ended the scan, thrown after the results of `nextBatch`. */
  #failure: { readonly error: unknown } | undefined = undefined

  constructor(parts: TableParts, session: ScanSession) {
    super()
    this.#parts = parts
    this.#session = session
  }

  get metrics(): ScanMetrics {
    return this.#session.metrics
  }

  next(): IteratorResult<Result, undefined> {
    if (this.#failure !== undefined) this.#throwFailure(this.#failure.error)
    this.#parts.lifecycle.checkOpen()
    const ready = this.#session.nextReady()
    if (ready !== undefined) return { done: false, value: ready }
    const advance = (): IteratorResult<Result, undefined> => this.#advance()
    return isTraced()
      ? this.#session.times.traceSync(TimedOperation.scan, noRow, advance)
      : advance()
  }

  #advance(): IteratorResult<Result, undefined> {
    const startedAt = this.#session.times.begin(TimedOperation.scan)
    try {
      for (;;) {
        if (!this.#session.ended) checkAborted('the scan', this.#session.signal)
        const result = this.#session.next()
        if (startedAt !== 0 && result !== 'pause') endStep(this.#session, startedAt)
        if (result === undefined) return endOfScan
        if (result !== 'pause') return { done: false, value: result }
      }
    } catch (error) {
      this.#session.close()
      throw error
    }
  }

  nextBatch(count: number): Result[] {
    checkResultCount(count)
    const results: Result[] = []
    while (results.length < count) {
      try {
        const { done, value } = this.next()
        if (done === true) break
        results.push(value)
      } catch (error) {
        if (results.length === 0) throw error
        this.#failure = { error }
        break
      }
    }
    return results
  }

  #throwFailure(error: unknown): never {
    this.#failure = undefined
    throw error
  }

  close(): void {
    this.#session.close()
    this.#failure = undefined
  }
}

/** Ends the timing of a step, which counts for the family if the scan reads only one. */
function endStep({ times, plans }: ScanSession, startedAt: number): void {
  const family = plans.length === 1 ? plans[0].family.name : undefined
  times.end(TimedOperation.scan, startedAt, noRow, family)
}

/** Compiled code of a class is lost with its last object; see scan-pool.ts. */
export const keptShapes: readonly object[] = [
  new SyncScanner(undefined as never, undefined as never),
]
