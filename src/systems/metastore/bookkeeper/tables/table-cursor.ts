/**
 * The cursor of both backends: exact `hasMoreEntries` by reading one entry ahead.
 *
 * What pins memory and files is the view. It is released at the end, on close, with the handle of
 * the table, when the cursor is collected as garbage, and by the backend after a time without use.
 * A failed read fails all later ones with the same error: it never looks like the end.
 */
import { checkCount } from '../arguments.js'
import { illegalOp, MetastoreError, MetastoreErrorCode } from '../errors.js'
import type { MetastoreCursor, MetastoreItem } from '../types.js'

/** Why a view ended before its end was read. */
export type ReleaseReason = 'closed' | 'idle'

/** The rows of a range as they were when it was made. Must not refer to the cursor. */
export interface CursorView {
  /** The next up to `count` entries; fewer only at the end. */
  read(count: number): Promise<MetastoreItem[]>
  /** The same without a promise. */
  readSync(count: number): MetastoreItem[]
  /** Lets go of everything. Again: does nothing. */
  release(reason: ReleaseReason): void
  /** Why it was released; undefined while it is not. */
  readonly released: ReleaseReason | undefined
}

/** Who ends views: a handle of a table. */
export interface CursorOwner {
  readonly views: Set<CursorView>
  readonly cursorIdleMilliseconds: number
}

/** Entries that an iteration reads at once. */
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
  /** Read already; never empty unless the end was read. */
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

  /** Reads the first entry of a fresh view. The view is released if that fails. */
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

  /** Entries to read for a page of `count` and one ahead. Checks that reading is allowed. */
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

  /** The handle of the table closes cursors through their views. */
  #isClosed(): boolean {
    if (this.#closed) return true
    const closedByTable = !this.#ended && this.#failure === undefined
    return closedByTable && this.#view.released === 'closed'
  }

  #checkOpen(): void {
    if (this.#isClosed()) throw illegalOp('the cursor is closed')
  }
}
