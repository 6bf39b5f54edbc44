/**
 * Sends changes to a search server. Changes that arrive during a call are sent together by the next
 * call.
 *
 * A failure of the server is retried as long as the index runs, so an outage loses no changes and
 * makes no dead letters. Documents that the server refuses are returned to the sender.
 */
import { setTimeout } from 'node:timers/promises'
import { assert, checkArray, checkObject, checkText, GroupQueue } from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { repositoryError } from '../errors.js'
import type { RejectedDocument, SearchBackend, SearchChanges } from '../../search/search-backend.js'
import { errorOf } from '../thrown.js'
import type { SearchIndexesSettings } from './index-definition.js'

type WriterOptions = Pick<SearchIndexesSettings, 'retryMilliseconds' | 'commitMilliseconds'>

interface Waiting {
  readonly changes: SearchChanges
  readonly resolve: (rejected: RejectedDocument[]) => void
  readonly reject: (error: unknown) => void
}

const documentsPerCallMax = 500
const retryMillisecondsMax = 30_000

/** The writer of one index. Calls to the server are serialized. */
export class IndexWriter {
  readonly #backend: SearchBackend
  readonly #options: WriterOptions
  readonly #closing = new AbortController()
  readonly #queue = new GroupQueue<Waiting>({
    take: (waiting) => {
      let documents = 0
      const end = waiting.findIndex(({ changes }) => {
        const isFull = documents >= documentsPerCallMax
        documents += changes.documents?.length ?? 0
        return isFull
      })
      return end < 0 ? waiting.length : end
    },
    write: (group) => this.#send(group),
  })
  readonly #calls = new CallOrder()
  #sent = 0
  #committed = 0
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(backend: SearchBackend, options: WriterOptions) {
    this.#backend = backend
    this.#options = options
  }

  /** The failure of the last call to the server; undefined after a success. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Sends changes; returns those of the documents that the server refuses. */
  send(changes: SearchChanges): Promise<RejectedDocument[]> {
    return new Promise((resolve, reject) => this.#queue.add({ changes, resolve, reject }))
  }

  /** Makes all changes sent before visible and durable. */
  async commit(): Promise<void> {
    const target = this.#sent
    while (this.#committed < target) {
      await this.#call(async () => {
        if (this.#committed >= target) return
        const sent = this.#sent
        await this.#backend.commit()
        assert(sent > this.#committed, 'a commit covers more than the one before')
        this.#committed = sent
      })
    }
  }

  async clear(): Promise<void> {
    await this.#call(() => this.#backend.clear())
  }

  /** Stops retries: later failures reject. */
  stopRetrying(): void {
    this.#closing.abort()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    try {
      const merged = mergeChanges(group.map(({ changes }) => changes))
      const rejected = await this.#call(async () => {
        return checkRejected(await this.#backend.update(merged))
      })
      this.#sent++
      this.#commitLater()
      for (const { changes, resolve } of group) {
        const { documents = [] } = changes
        const keys = new Set(rejected.length === 0 ? [] : documents.map(({ key }) => key))
        resolve(rejected.filter(({ key }) => keys.has(key)))
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return this.#calls.run(() => this.#retried(work))
  }

  async #retried<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work()
        this.#failure = undefined
        return result
      } catch (error) {
        this.#failure = errorOf(error)
        if (this.#closing.signal.aborted) throw error
        const wait = this.#options.retryMilliseconds * 2 ** Math.min(attempt, 20)
        const { signal } = this.#closing
        await setTimeout(Math.min(wait, retryMillisecondsMax), undefined, { signal }).catch(
          () => undefined,
        )
      }
    }
  }

  #commitLater(): void {
    const { commitMilliseconds } = this.#options
    if (commitMilliseconds === 0 || this.#timer !== undefined) return
    if (this.#closing.signal.aborted) return
    this.#timer = globalThis.setTimeout(() => {
      this.#timer = undefined
      // The failure is kept in `failure`, and the commit is retried until the index is closed.
      this.commit().catch(() => undefined)
    }, commitMilliseconds)
    this.#timer.unref()
  }
}

function mergeChanges(all: readonly SearchChanges[]): SearchChanges {
  if (all.length === 1) return all[0]
  return {
    documents: all.flatMap(({ documents = [] }) => documents),
    removedKeys: all.flatMap(({ removedKeys = [] }) => removedKeys),
    removedRecords: all.flatMap(({ removedRecords = [] }) => removedRecords),
  }
}

/** Checks the refusals that a search server returns. `ERR_SEARCH_SERVER` if they are malformed. */
function checkRejected(given: readonly RejectedDocument[]): readonly RejectedDocument[] {
  try {
    return checkArray(given, 'refused documents').map((each) => {
      const { key, reason } = checkObject(each, 'a refused document')
      return { key: checkText(key, 'its key'), reason: checkText(reason, 'its reason') }
    })
  } catch (error) {
    const message = `the search server answers nonsense: ${errorOf(error).message}`
    throw repositoryError('searchServer', message, error)
  }
}
