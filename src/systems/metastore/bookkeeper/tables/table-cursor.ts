/**
 * The cursor of a table, over a snapshot of its rows. Reads one entry ahead so that
 * `hasMoreEntries` is exact.
 *
 * The view of a cursor pins a snapshot and, between pages, a scan. Without use the scan is closed
 * after a second, which releases memtables and files; the next read starts a new scan after the
 * last row. After the idle time the snapshot is closed, too. The view is also released at the end,
 * on close, with the handle of the table, and when the cursor is garbage collected. After a failed
 * read all later reads fail with the same error, so a failure never looks like the end.
 */
import {
  assert,
  type Result,
  type RowSpan,
  type ScanOptions,
  type Snapshot,
  type Table,
} from '../../../../api/index.js'
import { elapsed, later, type LeaseClock } from '../../kernel/lease-clock.js'
import { MetastoreErrorCode, failed, illegalOp, asMetastoreError } from '../../errors.js'
import { checkCount } from '../arguments.js'
import { rowOfKey } from '../keys.js'
import type { KeyRange, MetastoreCursor, MetastoreItem } from '../types.js'
import type { FieldSelection } from '../value.js'
import type { TableRows } from './row-operations.js'
import { columnsOf } from './row-format.js'

/** Time without use after which a view closes its scan; also the time between two looks. */
const scanIdleMilliseconds = 1000
/** Entries in one read of an iteration. */
const iterationPage = 128

/** The owner of cursors: a handle of a table. */
export interface CursorOwner {
  /** The views of its open cursors. */
  readonly views: Set<CursorView>
  readonly clock: LeaseClock
  readonly cursorIdleMilliseconds: number
}

/** The reason for the release of a view. */
type ReleaseReason = 'closed' | 'idle'

/**
 * The view of a cursor; see the file header. Does not reference its cursor, which would prevent the
 * garbage collection of the cursor.
 */
export class CursorView {
  released: ReleaseReason | undefined = undefined
  readonly #rows: TableRows
  readonly #owner: CursorOwner
  readonly #snapshot: Snapshot
  /** The remaining range; undefined if the range is empty. */
  #rest: (ScanOptions & RowSpan) | undefined
  #scanner: ReturnType<Table['scan']> | undefined = undefined
  #usedAt: number
  #isReading = false
  #stopTimer!: () => void

  constructor(
    rows: TableRows,
    owner: CursorOwner,
    snapshot: Snapshot,
    rest: (ScanOptions & RowSpan) | undefined,
  ) {
    this.#rows = rows
    this.#owner = owner
    this.#snapshot = snapshot
    this.#rest = rest
    this.#usedAt = elapsed(owner.clock)
    owner.views.add(this)
    this.#watch()
  }

  /** Reads up to `count` entries; fewer only at the end. A release meanwhile is an error. */
  async read(count: number): Promise<MetastoreItem[]> {
    if (this.#rest === undefined) return []
    this.#isReading = true
    try {
      const scanner = (this.#scanner ??= this.#rows.table.scan(this.#rest))
      const results = await scanner.nextBatch(count)
      // Some results, but fewer, may also come before an error, which the next call throws.
      const isShort = results.length > 0 && results.length < count
      if (isShort) await scanner.nextBatch(1)
      if (this.released !== undefined) throw illegalOp('the cursor was closed during a read')
      return this.#items(results)
    } finally {
      this.#isReading = false
    }
  }

  /** The synchronous form. */
  readSync(count: number): MetastoreItem[] {
    if (this.#rest === undefined) return []
    this.#closeScan()
    const { table } = this.#rows
    if (table.scanSync === undefined) {
      const message = 'this backend has no synchronous reads'
      throw failed(MetastoreErrorCode.operationFailure, message)
    }
    return this.#items([...table.scanSync({ ...this.#rest, limit: count })])
  }

  /** Releases all resources. A second call does nothing. */
  release(reason: ReleaseReason): void {
    if (this.released !== undefined) return
    this.released = reason
    this.#stopTimer()
    this.#owner.views.delete(this)
    this.#closeScan()
    this.#snapshot.close()
  }

  /** Closes the scan and the view after their time without use. */
  #watch(): void {
    const { clock, cursorIdleMilliseconds } = this.#owner
    this.#stopTimer = later(clock, scanIdleMilliseconds, () => {
      const idle = elapsed(clock) - this.#usedAt
      if (!this.#isReading && idle >= cursorIdleMilliseconds) return this.release('idle')
      if (!this.#isReading && idle >= scanIdleMilliseconds) this.#closeScan()
      this.#watch()
    })
  }

  #items(results: readonly Result[]): MetastoreItem[] {
    this.#usedAt = elapsed(this.#owner.clock)
    const last = results.at(-1)?.row
    if (last !== undefined) {
      this.#rest = { ...this.#rest, startRow: Buffer.from(last), startInclusive: false }
    }
    return results.map((result) => this.#rows.decoder.item(result))
  }

  #closeScan(): void {
    this.#scanner?.close()
    this.#scanner = undefined
  }
}

const forgotten = new FinalizationRegistry<CursorView>((view) => view.release('closed'))

/** A cursor; see the file header. */
export class TableCursor implements MetastoreCursor {
  readonly #view: CursorView
  /** Entries read ahead; empty only at the end. */
  #ahead: readonly MetastoreItem[] = []
  #isEnded = false
  #isClosed = false
  #failure: Error | undefined = undefined
  #readsRunning = 0
  #lastRead: Promise<unknown> = Promise.resolve()

  private constructor(view: CursorView) {
    this.#view = view
    forgotten.register(this, view, this)
  }

  /** Opens a cursor, which owns and closes `snapshot`, and reads the first entry. */
  static async open(
    rows: TableRows,
    snapshot: Snapshot,
    range: KeyRange,
    fields: FieldSelection,
    owner: CursorOwner,
  ): Promise<TableCursor> {
    const view = new CursorView(rows, owner, snapshot, scanOf(range, fields, snapshot))
    const cursor = new TableCursor(view)
    try {
      cursor.#arrived(await view.read(1), 1)
    } catch (error) {
      cursor.close()
      throw asMetastoreError(error)
    }
    return cursor
  }

  hasMoreEntries(): boolean {
    return !this.#hasClosed && this.#ahead.length > 0
  }

  asyncReadEntries(count: number): Promise<MetastoreItem[]> {
    const run = this.#readsRunning === 0 ? this.#read(count) : this.#readLater(count)
    this.#readsRunning++
    const ended = (): void => void this.#readsRunning--
    this.#lastRead = run.then(ended, ended)
    return run
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
        throw this.#failed(error)
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
        throw this.#failed(error)
      }
    }
    return this.#take(count)
  }

  close(): void {
    this.#isClosed = true
    this.#release()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MetastoreItem, void, undefined> {
    try {
      // A cursor that the handle of the table has closed fails: it is not at its end.
      while (!this.#isClosed) {
        const items = await this.asyncReadEntries(iterationPage)
        if (items.length === 0) return
        yield* items
      }
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
    if (count === 0 || this.#isEnded) return 0
    if (this.#view.released === undefined) return count + 1 - this.#ahead.length
    const message = 'the cursor was not used for too long and has lost its view'
    throw failed(MetastoreErrorCode.operationFailure, message)
  }

  #arrived(items: readonly MetastoreItem[], asked: number): void {
    assert(items.length <= asked, 'a view reads no more than it was asked for')
    this.#ahead = this.#ahead.length === 0 ? items : [...this.#ahead, ...items]
    if (items.length === asked) return
    this.#isEnded = true
    this.#release()
  }

  #take(count: number): MetastoreItem[] {
    const items = this.#ahead.slice(0, count)
    this.#ahead = this.#ahead.slice(count)
    return items
  }

  #failed(error: unknown): Error {
    this.#checkOpen()
    this.#failure = asMetastoreError(error)
    this.#release()
    return this.#failure
  }

  #release(): void {
    this.#view.release('closed')
    forgotten.unregister(this)
  }

  /** A handle of a table closes its cursors by releasing their views. */
  get #hasClosed(): boolean {
    if (this.#isClosed) return true
    const closedByTable = !this.#isEnded && this.#failure === undefined
    return closedByTable && this.#view.released === 'closed'
  }

  #checkOpen(): void {
    if (this.#hasClosed) throw illegalOp('the cursor is closed')
  }
}

/** The scan of a range; undefined if the range is empty. */
function scanOf(
  range: KeyRange,
  fields: FieldSelection,
  snapshot: Snapshot,
): (ScanOptions & RowSpan) | undefined {
  const { firstKey, firstInclusive, lastKey, lastInclusive, order } = range
  const isPoint = firstKey !== null && firstKey === lastKey
  if (isPoint && !(firstInclusive && lastInclusive)) return undefined
  return {
    columns: columnsOf(fields),
    reversed: order === 'DESC',
    snapshot,
    ...(firstKey !== null && { startRow: rowOfKey(firstKey), startInclusive: firstInclusive }),
    ...(lastKey !== null && { stopRow: rowOfKey(lastKey), stopInclusive: lastInclusive }),
  }
}
