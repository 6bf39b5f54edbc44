/**
 * A range of a table as it was at one moment: the view of a cursor.
 *
 * A snapshot of the database keeps the moment; a scan over it is kept open from page to page. When
 * nobody reads for a while the scan goes first, which gives back memtables and files, and begins
 * again behind the last row if need be; then the snapshot goes, and with it the view.
 */
import type { Result, RowSpan, ScanOptions, Snapshot, SyncTable, Table } from '../../../../api/index.js'
import { asMetastoreError } from './cellar-errors.js'
import { MetastoreError, MetastoreErrorCode } from '../errors.js'
import { rowOfKey } from '../keys.js'
import { columnsOf, type RowDecoder } from './row-format.js'
import type { CursorView, ReleaseReason } from './table-cursor.js'
import type { KeyRange, MetastoreItem } from '../types.js'
import type { FieldSelection } from '../value.js'

/** What is left of a walk. */
type SpanScan = ScanOptions & RowSpan

/** What the metastore needs of a table; not every backend has synchronous scans. */
export type ViewedTable = Table & Partial<Pick<SyncTable, 'scanSync'>>

/** Where a view reads. */
export interface ViewSource {
  readonly table: ViewedTable
  readonly decoder: RowDecoder
}

/** The views that are open in a database. */
export class OpenViews {
  readonly #views = new Set<CellarView>()
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined = undefined

  /** `now` is in milliseconds and never goes back. */
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

  /** Ends what was not used for too long. */
  sweep(): void {
    const now = this.#now()
    for (const view of this.#views) view.rest(now)
  }
}

const sweepMilliseconds = 1000

/** Time without use after which a view lets its scan go. */
const scanIdleMilliseconds = 1000

/** One view: a snapshot, and a scan over it while it is read. */
export class CellarView implements CursorView {
  released: ReleaseReason | undefined = undefined
  readonly #source: ViewSource
  readonly #openViews: OpenViews
  readonly #snapshot: Snapshot
  readonly #idleMilliseconds: number
  /** The range that is left; undefined if it is empty. */
  #rest: SpanScan | undefined
  #scanner: ReturnType<Table['scan']> | undefined = undefined
  #usedAt: number
  #reading = false

  /** Takes the view at this moment. */
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

  /** Lets go of what was not used for too long. */
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
