/**
 * The rows of one iterator or `clear`, read page by page at one snapshot.
 *
 * The scan is opened by the first read and again after each `seek`, always at the same snapshot, so
 * an iterator that is only made and closed costs no scan. Pages grow: a caller who wants one entry
 * after a `seek` does not pay for a thousand.
 */
import { CellarError, ErrorCode } from '../api/index.js'
import type { Result, ResultScanner, Scan, Snapshot, Table } from '../api/index.js'
import { LevelError, LevelErrorCode } from './errors.js'
import { rowOfKey, type LevelKey } from './keys.js'

/** The range options of abstract-level, with encoded keys. Their limit is the caller's to count. */
export interface KeyRange {
  readonly gt?: LevelKey
  readonly gte?: LevelKey
  readonly lt?: LevelKey
  readonly lte?: LevelKey
  readonly reverse: boolean
}

/** Rows of the first page that `next` reads ahead, and of the largest. */
const pageRowsMin = 8
const pageRowsMax = 1024
const pageGrowth = 8

const none: readonly Result[] = []

/** A key where a scan begins or ends. */
interface Bound {
  readonly row: LevelKey | undefined
  readonly inclusive: boolean
}

/**
 * What reads ask for. A column with an empty qualifier has the family for itself, and a whole
 * family is read faster than one column of it.
 */
export function readColumn(column: string): string {
  return column.endsWith(':') ? column.slice(0, -1) : column
}

/** What a scan reads beside its range. */
export interface RowPagesOptions {
  readonly column: string
  /** The view that all scans read; undefined = each the newest state, for lack of snapshots. */
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
  /** Where the scan begins since the last `seek`. */
  #start: Bound
  readonly #stop: Bound
  #page = none
  #position = 0
  #pageRows = pageRowsMin
  #hasEnded = false
  /** A `seek` went past the range, where there is nothing. */
  #isOutside = false

  constructor(table: Table, range: KeyRange, options: RowPagesOptions) {
    this.#table = table
    this.#range = range
    this.#options = options
    const { reverse } = range
    this.#start = boundOf(range, !reverse)
    this.#stop = boundOf(range, reverse)
  }

  /** The next row if it was read ahead. */
  takeReady(): Result | undefined {
    return this.#position < this.#page.length ? this.#page[this.#position++] : undefined
  }

  /** The next row; undefined at the end. */
  async takeNext(): Promise<Result | undefined> {
    const ready = this.takeReady()
    if (ready !== undefined) return ready
    this.#page = await this.#read(this.#pageRows)
    this.#position = 0
    this.#pageRows = Math.min(this.#pageRows * pageGrowth, pageRowsMax)
    return this.takeReady()
  }

  /** The next up to `count` rows; none at the end. */
  async takeMany(count: number): Promise<readonly Result[]> {
    const from = this.#position
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
    // Fewer rows may also mean that an error follows.
    if (page.length === 0) this.#hasEnded = true
    return page
  }

  /** Names without a value are left out: the engine counts names before it looks them up. */
  #scan(): Scan {
    const { column, snapshot, signal } = this.#options
    const { reverse } = this.#range
    const { row: startRow, inclusive: startInclusive } = this.#start
    const { row: stopRow, inclusive: stopInclusive } = this.#stop
    return {
      columns: [readColumn(column)],
      ...(startRow === undefined ? undefined : { startRow }),
      ...(startInclusive ? undefined : { startInclusive }),
      ...(stopRow === undefined ? undefined : { stopRow }),
      ...(stopInclusive ? { stopInclusive } : undefined),
      ...(reverse ? { reversed: true } : undefined),
      ...(snapshot === undefined ? undefined : { snapshot }),
      ...(signal === undefined ? undefined : { signal }),
    }
  }

  /** Continues at a key. A key outside the range ends the iterator, until the next `seek`. */
  seek(target: LevelKey): void {
    this.#endScan()
    const row = rowOfKey(target)
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

/** The lower or the upper end of a range; an inclusive one counts before an exclusive one. */
function boundOf({ gt, gte, lt, lte }: KeyRange, isLower: boolean): Bound {
  const inclusive = isLower ? gte : lte
  if (inclusive !== undefined) return { row: rowOfKey(inclusive), inclusive: true }
  const exclusive = isLower ? gt : lt
  const row = exclusive === undefined ? undefined : rowOfKey(exclusive)
  return { row, inclusive: false }
}

/** Whether a row lies outside a bound; `direction` is 1 for the upper one and -1 for the lower. */
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

/** abstract-level has a code of its own for reads that a signal ends. */
function asAbortError(error: unknown): unknown {
  if (!(error instanceof CellarError) || error.code !== ErrorCode.aborted) return error
  return new LevelError(LevelErrorCode.aborted, 'the read was aborted', { cause: error })
}
