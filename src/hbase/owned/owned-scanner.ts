/** A scan of an owned database: the rows of the store, but as the view of the scan saw them. */
import {
  ResultScanner,
  type Filter,
  type Result,
  type Scan,
  type ScanMetrics,
  type Table,
} from '../../api/index.js'
import { checkResultCount } from '../../api/rows/row-arguments.js'
import { checkFilter, parseVersions } from '../../checks/reads.js'
import { parseBounds, type ScanBounds } from '../../checks/rows.js'
import { checkScan, parseCuts, parseLimits } from '../../checks/scans.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import { unfilteredScan, type LocalFilters } from './local-filters.js'
import type { View } from './views.js'

/** What a scan reads through. */
interface ScanPlace {
  readonly view: View
  readonly filters: LocalFilters
  readonly closeView: boolean
}

/** The rows of a scan with the images of a view in place of changed rows. */
export class OwnedScanner extends ResultScanner {
  readonly #table: Table
  readonly #scan: Scan
  /** The filter for rows that are read from copies, one scan each. */
  readonly #filter: Filter | undefined
  readonly #view: View
  readonly #closeView: boolean
  /** Filters the rows of the store; undefined = the store does. */
  readonly #filters: LocalFilters | undefined
  readonly #bounds: ScanBounds
  readonly #store: ResultScanner
  readonly #results: AsyncGenerator<Result, void>
  #isClosed = false
  #rows = 0
  #failure: { readonly error: unknown } | undefined = undefined

  constructor(table: Table, scan: Scan, { view, filters, closeView }: ScanPlace) {
    super()
    this.#table = table
    this.#scan = { ...scan, snapshot: undefined }
    this.#filter = scan.filter && filterOfRows(scan.filter)
    this.#view = view
    this.#closeView = closeView
    this.#bounds = parseBounds(scan)
    this.#filters = filters.isNeeded(scan) ? filters : undefined
    if (this.#filters !== undefined) checkOptions(scan)
    // The store checks other options; images may take the place of rows, so the limit is kept here.
    const asked = this.#filters === undefined ? this.#scan : unfilteredScan(this.#scan)
    this.#store = table.scan({ ...asked, limit: undefined })
    this.#results = this.#read()
  }

  get metrics(): ScanMetrics {
    return this.#store.metrics
  }

  async next(): Promise<IteratorResult<Result, undefined>> {
    const [value] = await this.nextBatch(1)
    return value === undefined ? { done: true, value: undefined } : { done: false, value }
  }

  async nextBatch(count: number): Promise<Result[]> {
    checkResultCount(count)
    const results: Result[] = []
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      throw error
    }
    try {
      while (results.length < count && !this.#isClosed) {
        const { done, value } = await this.#results.next()
        if (done === true) this.close()
        else results.push(value)
      }
    } catch (error) {
      // A scan that its caller closes while it reads is at its end.
      if (this.#isClosed) return results
      this.close()
      if (results.length === 0) throw error
      this.#failure = { error }
    }
    return results
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#store.close()
    if (this.#closeView) this.#view.close()
  }

  async *#read(): AsyncGenerator<Result, void> {
    await this.#view.ready
    const limit = this.#scan.limit ?? Infinity
    /** The row that was begun last, and whether its image was shown. */
    let last: Buffer | undefined
    let isImage = false
    for (;;) {
      const { done, value } = await this.#store.next()
      const row = done === true ? undefined : (value.row ?? value.cursor)
      if (row !== undefined && last?.equals(row) === true) {
        if (!isImage) yield value!
        continue
      }
      for (const changed of this.#changed(last, row)) {
        if (this.#rows >= limit) return
        last = changed
        isImage = true
        const shown = this.#image(changed)
        if (shown.length > 0) this.#rows++
        yield* shown
      }
      if (done === true || this.#rows >= limit) return
      if (last !== undefined && row !== undefined && last.equals(row)) continue
      last = row
      isImage = false
      const shown = await this.#shown(value)
      if (shown.length > 0 && value.cursor === undefined) this.#rows++
      yield* shown
      if (this.#filters !== undefined && this.#scan.filter!.filterAllRemaining()) return
    }
  }

  /** Changed rows after one row, up to another one, in the order of the scan. */
  #changed(after: Buffer | undefined, upTo: Buffer | undefined): Buffer[] {
    const { start, startInclusive, stop, stopInclusive, reversed } = this.#bounds
    const order = reversed ? -1 : 1
    const compare = (a: Uint8Array, b: Uint8Array): number => order * Buffer.compare(a, b)
    return this.#view
      .changed(this.#table.name)
      .filter((row) => after === undefined || compare(row, after) > 0)
      .filter((row) => upTo === undefined || compare(row, upTo) <= 0)
      .filter((row) => start === undefined || compare(row, start) > (startInclusive ? -1 : 0))
      .filter((row) => stop === undefined || compare(row, stop) < (stopInclusive ? 1 : 0))
      .sort(compare)
  }

  async #shown(value: Result): Promise<readonly Result[]> {
    const { row } = value
    if (this.#filters === undefined || row === undefined) return [value]
    return this.#filters.read(this.#table.name, row, value, (copy) => this.#resultsOf(copy, row))
  }

  #image(row: Buffer): Result[] {
    return this.#resultsOf(this.#view.image(this.#table.name, row)!, row)
  }

  #resultsOf(copy: EmbeddedTable, row: Buffer): Result[] {
    const whole = { prefix: undefined, limit: undefined, signal: undefined, snapshot: undefined }
    const span = { startRow: row, startInclusive: true, stopRow: row, stopInclusive: true }
    return [...copy.scanSync({ ...this.#scan, ...whole, ...span, filter: this.#filter })]
  }
}

/** A filter that learns once only that a scan begins, so that it counts rows over many scans. */
function filterOfRows(filter: Filter): Filter {
  let isBegun = false
  const setReversed = (reversed: boolean): void => {
    if (!isBegun) filter.setReversed?.(reversed)
    isBegun = true
  }
  return new Proxy(filter, {
    get: (inner, name) => {
      if (name === 'setReversed') return setReversed
      const member: unknown = Reflect.get(inner, name, inner)
      return typeof member === 'function' ? (member.bind(inner) as unknown) : member
    },
  })
}

/** Checks the options that the store is not asked for. `ERR_INVALID_ARGUMENT`. */
function checkOptions(scan: Scan): void {
  checkScan(scan)
  checkFilter(scan.filter)
  parseVersions(scan.versions)
  parseCuts(scan, parseLimits(scan), scan.filter)
}
