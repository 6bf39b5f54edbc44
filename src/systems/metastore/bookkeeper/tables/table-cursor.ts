/**
 * The cursor of both backends: reads one entry ahead so that `hasMoreEntries` is exact.
 *
 * The view pins memory and files. The view is released at the end, on close, with the handle of the
 * table, when the cursor is garbage collected, and by the backend after a time without use. After a
 * failed read all later reads fail with the same error, so a failure never looks like the end.
 */
import { checkCount } from '../arguments.js'
import { illegalOp, MetastoreError, MetastoreErrorCode } from '../errors.js'
import type { MetastoreCursor, MetastoreItem } from '../types.js'

/** The reason for an early release of a view. */
export type ReleaseReason = 'closed' | 'idle'

/**
 * A snapshot of the rows of a range. Must not reference its cursor, which would prevent the garbage
 * collection of the cursor.
 */
export interface CursorView {
  /** Reads up to `count` entries; fewer only at the end. */
  read(count: number): Promise<MetastoreItem[]>
  /** The synchronous form. */
  readSync(count: number): MetastoreItem[]
  /** Releases all resources. A second call does nothing. */
  release(reason: ReleaseReason): void
  /** The reason of the release; undefined before. */
  readonly released: ReleaseReason | undefined
}

/** The owner of views: a handle of a table. */
export interface CursorOwner {
  readonly views: Set<CursorView>
  readonly cursorIdleMilliseconds: number
}

/** Entries in one read of an iteration. */
const iterationPage = 128

const forgotten = new FinalizationRegistry<{ view: CursorView; owner: CursorOwner }>(
  ({ view, owner }) => {
    view.release('closed')
    owner.views.delete(view)
  },
)

export class TableCursor implements MetastoreCursor {
  readonly #view: CursorView
  readonly #owner: CursorOwner
  /** Entries read ahead; empty only at the end. */
  #ahead: readonly MetastoreItem[] = []
  #ended = false
  #closed = false
  #failure: Error | undefined = undefined
  #readsRunning = 0
  #lastRead: Promise<unknown> = Promise.resolve()

  private constructor(view: CursorView, owner: CursorOwner) {
    this.#view = view
    this.#owner = owner
    owner.views.add(view)
    forgotten.register(this, { view, owner }, this)
  }

  /** Reads the first entry of a new view. Releases the view if the read fails. */
  static async open(view: CursorView, owner: CursorOwner): Promise<TableCursor> {
    const cursor = new TableCursor(view, owner)
    try {
      cursor.#arrived(await view.read(1), 1)
    } catch (error) {
      cursor.close()
      throw error
    }
    return cursor
  }

  hasMoreEntries(): boolean {
    return !this.#isClosed() && this.#ahead.length > 0
  }

  asyncReadEntries(count: number): Promise<MetastoreItem[]> {
    const run = this.#readsRunning === 0 ? this.#read(count) : this.#readLater(count)
    this.#readsRunning++
    this.#lastRead = run.then(this.#readEnded, this.#readEnded)
    return run
  }

  readonly #readEnded = (): void => {
    this.#readsRunning--
  }

  async #readLater(count: number): Promise<MetastoreItem[]> {
    await this.#lastRead
    return this.#read(count)
  }

  async #read(count: number): Promise<MetastoreItem[]> {
    const missing = this.#missing(count)
    if (missing > 0) {
      try {
        this.#arrived(await this.#view.read(missing), missing)
      } catch (error) {
        throw this.#failed(error as Error)
      }
      this.#checkOpen()
    }
    return this.#take(count)
  }

  readEntries(count: number): MetastoreItem[] {
    if (this.#readsRunning > 0) throw illegalOp('another read of this cursor is under way')
    const missing = this.#missing(count)
    if (missing > 0) {
      try {
        this.#arrived(this.#view.readSync(missing), missing)
      } catch (error) {
        throw this.#failed(error as Error)
      }
    }
    return this.#take(count)
  }

  close(): void {
    this.#closed = true
    this.#release()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MetastoreItem, void, undefined> {
    try {
      while (this.hasMoreEntries()) yield* await this.asyncReadEntries(iterationPage)
    } finally {
      this.close()
    }
  }

  /**
   * Number of entries to read for a page of `count` and one entry ahead. Throws if the cursor
   * cannot be read.
   */
  #missing(count: number): number {
    checkCount(count)
    this.#checkOpen()
    if (this.#failure !== undefined) throw this.#failure
    if (count === 0 || this.#ended) return 0
    if (this.#view.released === undefined) return count + 1 - this.#ahead.length
    const message = 'the cursor was not used for too long and has lost its view'
    throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
  }

  #arrived(items: readonly MetastoreItem[], asked: number): void {
    this.#ahead = this.#ahead.length === 0 ? items : [...this.#ahead, ...items]
    if (items.length >= asked) return
    this.#ended = true
    this.#release()
  }

  #take(count: number): MetastoreItem[] {
    const items = this.#ahead.slice(0, count)
    this.#ahead = this.#ahead.slice(count)
    return items
  }

  #failed(error: Error): Error {
    this.#checkOpen()
    this.#failure = error
    this.#release()
    return error
  }

  #release(): void {
    this.#view.release('closed')
    this.#owner.views.delete(this.#view)
    forgotten.unregister(this)
  }

  /** A handle of a table closes its cursors by releasing their views. */
  #isClosed(): boolean {
    if (this.#closed) return true
    const closedByTable = !this.#ended && this.#failure === undefined
    return closedByTable && this.#view.released === 'closed'
  }

  #checkOpen(): void {
    if (this.#isClosed()) throw illegalOp('the cursor is closed')
  }
}
