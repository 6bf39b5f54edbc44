/**
 * The compactions that users have requested and that are not finished: their signals, their
 * progress and their ends.
 *
 * An error of `onProgress` cancels the run of its request, and becomes the error of the request.
 */
import { deferred } from '../../../base/deferred.js'
import { abortedError, CellarError, ErrorCode } from '../../../base/errors.js'
import type { RowInterval } from '../../compaction/choice.js'
import type { Store } from '../../store/store.js'
import type { CompactionRun } from './compaction-run.js'

/** A compaction that a user has requested. */
export interface CompactionRequest {
  /** Merge all files of the store, and drop the cells that only a major compaction may drop. */
  readonly major: boolean
  /**
   * Restricts a major compaction to files with rows of the interval, and the files that overlap
   * them.
   */
  readonly rows?: RowInterval | undefined
  readonly signal?: AbortSignal | undefined
  /** Called repeatedly with the finished part, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
}

/** A request that is not finished. */
export interface PendingRequest extends CompactionRequest {
  readonly store: Store
  run: CompactionRun | undefined
  /** The error that `onProgress` threw. */
  failure: { readonly error: unknown } | undefined
  resolve(): void
  reject(error: unknown): void
}

export class CompactionRequests {
  private readonly requests: PendingRequest[] = []

  /** All requests, in the order of the calls. */
  get pending(): readonly PendingRequest[] {
    return [...this.requests]
  }

  /** The requests without a run. */
  get waiting(): readonly PendingRequest[] {
    return this.requests.filter(({ run }) => run === undefined)
  }

  /** Adds a request. The promise settles at its end; an abort of its signal ends it. */
  add(store: Store, request: CompactionRequest): Promise<void> {
    const { signal } = request
    const { promise, resolve, reject } = deferred<void>()
    const run = undefined
    const failure = undefined
    const pending: PendingRequest = { ...request, store, run, failure, resolve, reject }
    const abort = (): void => {
      // A running compaction is cancelled and then rejects the request itself.
      if (pending.run !== undefined) pending.run.cancel()
      else this.finish(pending, abortedError('the compaction', signal))
    }
    signal?.addEventListener('abort', abort, { once: true })
    const settled = (): void => signal?.removeEventListener('abort', abort)
    pending.resolve = () => (settled(), resolve())
    pending.reject = (error) => (settled(), reject(error))
    this.requests.push(pending)
    return promise
  }

  /** Ends a request, unless it has ended: with an error, or well if that is undefined. */
  finish(request: PendingRequest, error: unknown): void {
    const index = this.requests.indexOf(request)
    if (index < 0) return
    this.requests.splice(index, 1)
    if (error === undefined) tellProgress(request, 1)
    if (request.failure !== undefined) request.reject(request.failure.error)
    else if (error === undefined) request.resolve()
    else request.reject(error)
  }

  /** Reports how far the runs of the requests are. */
  tellProgress(): void {
    for (const request of this.requests) {
      if (request.run === undefined) continue
      const { bytesDone, bytesTotal } = request.run.progress
      tellProgress(request, bytesDone / Math.max(1, bytesTotal))
    }
  }
}

/** The end of a request whose store is dropped. */
export function dropped(store: Store): CellarError {
  const message = `column family '${store.family}' was dropped while it was being compacted`
  return new CellarError(ErrorCode.tableNotFound, message)
}

/** Calls `onProgress`. An error of the function cancels the compaction. */
function tellProgress(request: PendingRequest, part: number): void {
  if (request.failure !== undefined) return
  try {
    request.onProgress?.(part)
  } catch (error) {
    request.failure = { error }
    request.run?.cancel()
  }
}
