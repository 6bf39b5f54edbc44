/**
 * The view of a cursor: a snapshot of a range of a table.
 *
 * The view has a snapshot of the database and keeps a scan of it open between pages. After a short
 * time without a read the scan is closed, which releases memtables and files. The next read starts
 * a new scan after the last row. After a longer time the snapshot is closed, which ends the view.
 */
import type {
  Result,
  RowSpan,
  ScanOptions,
  Snapshot,
  SyncTable,
  Table,
} from '../../../../api/index.js'
import { asMetastoreError } from './cellar-errors.js'
import { MetastoreError, MetastoreErrorCode } from '../errors.js'
import { rowOfKey } from '../keys.js'
import { columnsOf, type RowDecoder } from './row-format.js'
import type { CursorView, ReleaseReason } from './table-cursor.js'
import type { KeyRange, MetastoreItem } from '../types.js'
import type { FieldSelection } from '../value.js'

/** The remaining range of a scan. */
type SpanScan = ScanOptions & RowSpan

/** A table, as used by the metastore. Not every backend has synchronous scans. */
export type ViewedTable = Table & Partial<Pick<SyncTable, 'scanSync'>>

/** The source of a view. */
export interface ViewSource {
  readonly table: ViewedTable
  readonly decoder: RowDecoder
}

/** The open views of a database. */
export class OpenViews {
  readonly #views = new Set<CellarView>()
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined = undefined

  /** `now` returns milliseconds and is monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Number of open views. */
  get size(): number {
    return this.#views.size
  }

  now(): number {
    return this.#now()
  }

  add(view: CellarView): void {
    this.#views.add(view)
    this.#timer ??= setInterval(() => this.sweep(), sweepMilliseconds).unref()
  }

  remove(view: CellarView): void {
    this.#views.delete(view)
    if (this.#views.size > 0 || this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Closes idle scans and views. */
  sweep(): void {
    const now = this.#now()
    for (const view of this.#views) view.rest(now)
  }
}

const sweepMilliseconds = 1000

/** Time without use after which a view closes its scan. */
const scanIdleMilliseconds = 1000

/** A view; see the file header. */
export class CellarView implements CursorView {
  released: ReleaseReason | undefined = undefined
  readonly #source: ViewSource
  readonly #openViews: OpenViews
  readonly #snapshot: Snapshot
  readonly #idleMilliseconds: number
  /** The remaining range; undefined if the range is empty. */
  #rest: SpanScan | undefined
  #scanner: ReturnType<Table['scan']> | undefined = undefined
  #usedAt: number
  #reading = false

  /** The view owns `snapshot` and closes it. */
  constructor(
    source: ViewSource,
    snapshot: Snapshot,
    range: KeyRange,
    fields: FieldSelection,
    openViews: OpenViews,
    idleMilliseconds: number,
  ) {
    this.#source = source
    this.#snapshot = snapshot
    this.#openViews = openViews
    this.#idleMilliseconds = idleMilliseconds
    this.#rest = scanOf(range, fields, snapshot)
    this.#usedAt = openViews.now()
    openViews.add(this)
  }

  async read(count: number): Promise<MetastoreItem[]> {
    const rest = this.#begin()
    if (rest === undefined) return []
    this.#reading = true
    try {
      this.#scanner ??= this.#source.table.scan(rest)
      const results = await this.#scanner.nextBatch(count)
      if (results.length > 0) this.#advance(results[results.length - 1].row!)
      return this.#items(results)
    } catch (error) {
      throw asMetastoreError(error)
    } finally {
      this.#reading = false
      this.#usedAt = this.#openViews.now()
    }
  }

  readSync(count: number): MetastoreItem[] {
    const rest = this.#begin()
    if (rest === undefined) return []
    this.#closeScan()
    try {
      if (this.#source.table.scanSync === undefined) {
        const message = 'this backend has no synchronous reads'
        throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
      }
      const results = [...this.#source.table.scanSync({ ...rest, limit: count })]
      if (results.length > 0) this.#advance(results[results.length - 1].row!)
      return this.#items(results)
    } catch (error) {
      throw asMetastoreError(error)
    }
  }

  release(reason: ReleaseReason): void {
    if (this.released !== undefined) return
    this.released = reason
    this.#openViews.remove(this)
    this.#closeScan()
    this.#snapshot.close()
  }

  /** Closes the scan or the view after its time without use. */
  rest(now: number): void {
    if (this.#reading) return
    const idle = now - this.#usedAt
    if (idle >= this.#idleMilliseconds) this.release('idle')
    else if (idle >= scanIdleMilliseconds) this.#closeScan()
  }

  #begin(): SpanScan | undefined {
    this.#usedAt = this.#openViews.now()
    if (this.released === undefined) return this.#rest
    throw new MetastoreError(MetastoreErrorCode.operationFailure, 'the view was released')
  }

  #items(results: readonly Result[]): MetastoreItem[] {
    const { decoder } = this.#source
    return results.map((result) => decoder.item(result))
  }

  #advance(row: Buffer): void {
    this.#rest = { ...this.#rest, startRow: Buffer.from(row), startInclusive: false }
  }

  #closeScan(): void {
    this.#scanner?.close()
    this.#scanner = undefined
  }
}

function scanOf(range: KeyRange, fields: FieldSelection, snapshot: Snapshot): SpanScan | undefined {
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
