/**
 * Where the owner carries out mutations before they are logged: the engine in memory evaluates
 * checks, computes increments and gives timestamps, and its change feed says which cells to log.
 *
 * The copy holds cells that were read from the store, and the cells of all mutations. Both are
 * cells of the database. So it does not matter which cells of a row are in the copy, as long as
 * those that a mutation asks for are. Mutations are logged in the order of their evaluation.
 */
import type { Change, Database as Store } from '../../api/index.js'
import type { Clock } from '../../base/clock.js'
import { deferred, type Deferred } from '../../base/deferred.js'
import type { Appended } from './log/owner-log.js'
import type { BatchContent } from './log/logged-batch.js'
import { Mirror } from './mirror.js'

interface Evaluation {
  /** Last sequence of the copy that the evaluation made. */
  readonly to: number
  readonly appended: Appended[]
  readonly logged: Deferred<readonly Appended[]>
  /** Whether the cells are read from the store, so they are not logged. */
  readonly isLoad: boolean
}

/** The outcome of mutations. */
export interface Evaluated<T> {
  /** Returns the result, or throws the error of the engine. */
  readonly result: () => T
  /** The places in the log of the parts that were carried out. */
  readonly logged: Promise<readonly Appended[]>
}

export class WorkingCopy {
  readonly mirror: Mirror
  /** Bytes of values that the copy has taken. */
  bytes = 0
  readonly #append: (content: BatchContent) => Appended
  readonly #names = new Map<string, string>()
  #waiting: Evaluation[] = []

  private constructor(mirror: Mirror, append: (content: BatchContent) => Appended) {
    this.mirror = mirror
    this.#append = append
  }

  /** Opens an empty copy. `append` puts a batch into the log. */
  static async open(
    store: Store,
    clock: Clock,
    slopMilliseconds: number,
    append: (content: BatchContent) => Appended,
  ): Promise<WorkingCopy> {
    const mirror = await Mirror.open(store, clock, slopMilliseconds)
    const copy = new WorkingCopy(mirror, append)
    void copy.#follow()
    return copy
  }

  /** Notes that a table of the copy stands for a table of the store. */
  standsFor(own: string, name: string): void {
    this.#names.set(own, name)
  }

  /** Carries out mutations before it returns. */
  evaluate<T>(run: () => T, isLoad = false): Evaluated<T> {
    const before = this.#sequence()
    let result: () => T
    try {
      const value = run()
      result = () => value
    } catch (error) {
      // Some operations of a list may have been carried out.
      result = () => {
        throw error
      }
    }
    return { result, logged: this.#note(before, isLoad) }
  }

  async close(): Promise<void> {
    await this.mirror.database.close()
  }

  #sequence(): number {
    const snapshot = this.mirror.database.snapshot()
    snapshot.close()
    return snapshot.sequence
  }

  #note(before: number, isLoad: boolean): Promise<readonly Appended[]> {
    const to = this.#sequence()
    if (to === before) return Promise.resolve([])
    const logged = deferred<readonly Appended[]>()
    // Cells of loads have no caller that waits.
    logged.promise.catch(() => undefined)
    this.#waiting.push({ to, appended: [], logged, isLoad })
    return logged.promise
  }

  async #follow(): Promise<void> {
    try {
      const feed = this.mirror.database.changes({ fromSequence: 1, durability: 'SYNC_WAL' })
      for await (const change of feed) this.#take(change)
    } catch (error) {
      for (const { logged } of this.#waiting) logged.reject(error)
      this.#waiting = []
    }
  }

  #take(change: Change): void {
    const evaluation = this.#waiting[0]
    try {
      for (const { value } of change.cells) this.bytes += value.length + 50
      if (!evaluation.isLoad) evaluation.appended.push(this.#append(this.#contentOf(change)))
    } catch (error) {
      evaluation.logged.reject(error)
    }
    if (change.sequence < evaluation.to) return
    this.#waiting.shift()
    evaluation.logged.resolve(evaluation.appended)
  }

  #contentOf({ cells, timestamp }: Change): BatchContent {
    const own = cells.map((cell) => {
      const { family, row, qualifier, type, value, ttlMilliseconds, timestampExact } = cell
      const table = this.#names.get(cell.table) ?? cell.table
      const parts = { table, family, row, qualifier, type, value, ttlMilliseconds }
      return { ...parts, timestamp: timestampExact }
    })
    return { timestamp: timestamp ?? 0, cells: own }
  }
}
