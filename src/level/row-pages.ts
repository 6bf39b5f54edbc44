/**
 * The rows of one iterator or `clear`, read page by page at one snapshot.
 *
 * The first read opens the scan, as does the first read after each `seek`, always at the same
 * snapshot. An iterator that is closed without a read costs no scan. Pages grow, so reading one
 * entry after a `seek` does not cost a page of a thousand.
 */
import { assert, CellarError, ErrorCode } from '../api/index.js'
import type { Result, ResultScanner, Scan, Snapshot, Table } from '../api/index.js'
import { levelError, LevelErrorCode } from './errors.js'
import { rowOfKey, type LevelKey } from './keys.js'

/** The range options of abstract-level, with encoded keys. The caller counts the limit. */
export interface KeyRange {
  readonly gt?: LevelKey
  readonly gte?: LevelKey
  readonly lt?: LevelKey
  readonly lte?: LevelKey
  readonly reverse: boolean
}

/** Rows of the first and of the largest page that `next` reads ahead. */
const pageRowsMin = 8
const pageRowsMax = 1024
const pageGrowth = 8

const none: readonly Result[] = []

interface Bound {
  readonly row: LevelKey | undefined
  readonly inclusive: boolean
}

/**
 * The column that reads request. A column with an empty qualifier has the family to itself, and
 * reading a whole family is faster than reading one of its columns.
 */
export function readColumn(column: string): string {
  return column.endsWith(':') ? column.slice(0, -1) : column
}

/** Options of the scans beside their range. */
export interface RowPagesOptions {
  readonly column: string
  /**
   * The view of all scans; undefined if the backend has no snapshots: each scan reads the newest
   * state.
   */
  readonly snapshot: Snapshot | undefined
  /** Whether {@link RowPages.close} closes the snapshot. */
  readonly ownsSnapshot: boolean
  readonly signal: AbortSignal | undefined
}

export class RowPages {
  readonly #table: Table
  readonly #options: RowPagesOptions
  readonly #range: KeyRange
  #scanner: ResultScanner | undefined = undefined
  /** The start of the scan since the last `seek`. */
  #start: Bound
  readonly #stop: Bound
  #page = none
  #position = 0
  #pageRows = pageRowsMin
  #hasEnded = false
  /** A `seek` went past the range: no row remains. */
  #isOutside = false

  constructor(table: Table, range: KeyRange, options: RowPagesOptions) {
    this.#table = table
    this.#range = range
    this.#options = options
    const { reverse } = range
    this.#start = boundOf(range, !reverse)
    this.#stop = boundOf(range, reverse)
  }

  /** The next row if it is already read. */
  takeReady(): Result | undefined {
    return this.#position < this.#page.length ? this.#page[this.#position++] : undefined
  }

  async takeNext(): Promise<Result | undefined> {
    const ready = this.takeReady()
    if (ready !== undefined) return ready
    this.#page = await this.#read(this.#pageRows)
    this.#position = 0
    this.#pageRows = Math.min(this.#pageRows * pageGrowth, pageRowsMax)
    return this.takeReady()
  }

  /** The next up to `count` rows; an empty array at the end. */
  async takeMany(count: number): Promise<readonly Result[]> {
    const from = this.#position
    assert(from <= this.#page.length, 'the position lies in the page')
    const to = Math.min(from + count, this.#page.length)
    this.#position = to
    return from < to ? this.#page.slice(from, to) : this.#read(count)
  }

  async #read(count: number): Promise<readonly Result[]> {
    if (this.#hasEnded || this.#isOutside) return none
    const scanner = (this.#scanner ??= this.#table.scan(this.#scan()))
    let page: readonly Result[]
    try {
      page = await scanner.nextBatch(count)
    } catch (error) {
      this.#hasEnded = true
      throw asAbortError(error)
    }
    // A short page may also mean that an error follows, so only an empty page ends the rows.
    if (page.length === 0) this.#hasEnded = true
    return page
  }

  #scan(): Scan {
    const { column, snapshot, signal } = this.#options
    const { row: startRow, inclusive: startInclusive } = this.#start
    const { row: stopRow, inclusive: stopInclusive } = this.#stop
    const rows = { startRow, startInclusive, stopRow, stopInclusive, reversed: this.#range.reverse }
    return { columns: [readColumn(column)], ...rows, snapshot, signal }
  }

  /** Continues at a key. A key outside the range ends the iterator until the next `seek`. */
  seek(target: LevelKey): void {
    const row = rowOfKey(target)
    this.#endScan()
    const { reverse } = this.#range
    const first = boundOf(this.#range, !reverse)
    this.#start = { row, inclusive: true }
    this.#isOutside =
      isBeyond(row, first, reverse ? 1 : -1) || isBeyond(row, this.#stop, reverse ? -1 : 1)
  }

  close(): void {
    this.#endScan()
    const { snapshot, ownsSnapshot } = this.#options
    if (ownsSnapshot) snapshot?.close()
  }

  #endScan(): void {
    this.#scanner?.close()
    this.#scanner = undefined
    this.#page = none
    this.#position = 0
    this.#pageRows = pageRowsMin
    this.#hasEnded = false
  }
}

/**
 * The lower or upper bound of a range; an inclusive bound takes precedence over an exclusive one.
 */
function boundOf({ gt, gte, lt, lte }: KeyRange, isLower: boolean): Bound {
  const inclusive = isLower ? gte : lte
  if (inclusive !== undefined) return { row: rowOfKey(inclusive), inclusive: true }
  const exclusive = isLower ? gt : lt
  const row = exclusive === undefined ? undefined : rowOfKey(exclusive)
  return { row, inclusive: false }
}

/** Whether a row is outside a bound; `direction` is 1 for the upper and -1 for the lower bound. */
function isBeyond(row: LevelKey, bound: Bound, direction: number): boolean {
  if (bound.row === undefined) return false
  const order = direction * compare(row, bound.row)
  return order > 0 || (order === 0 && !bound.inclusive)
}

function compare(a: LevelKey, b: LevelKey): number {
  return Buffer.compare(bytesOf(a), bytesOf(b))
}

function bytesOf(key: LevelKey): Uint8Array {
  return typeof key === 'string' ? Buffer.from(key) : key
}

/** abstract-level has its own error code for reads that a signal aborts. */
function asAbortError(error: unknown): unknown {
  if (!(error instanceof CellarError) || error.code !== ErrorCode.aborted) return error
  return levelError(LevelErrorCode.aborted, 'the read was aborted', error)
}
