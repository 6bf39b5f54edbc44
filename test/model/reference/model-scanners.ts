/** The scanners of the in-memory backend. */
import { CellarError, ErrorCode } from '../../../src/base/errors.js'
import { checkResultCount } from '../../../src/api/rows/row-arguments.js'
import type { ScanCuts } from '../../../src/checks/scans.js'
import type { Scan, ScanMetrics } from '../../../src/api/reads.js'
import { Result } from '../../../src/api/results/result.js'
import { ResultScanner, SyncResultScanner } from '../../../src/api/scanners.js'
import { asCell, encodedBytes } from './encoded-cell.js'
import { FilteredRows } from './filtered-rows.js'
import { bytesOf } from './plain-cells.js'
import type { StoredCell } from './reading-rules.js'
import type { ReferenceTable, View } from './reference-table.js'

/** Rows without a result after which a scan reports its position. */
const barrenRowsMax = 512

const endOfScan: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The rows of a synchronous scan. The list of rows is taken when the scan is opened. */
export class ModelScanner extends SyncResultScanner {
  readonly #rows: Iterator<Result, undefined>
  readonly #checkOpen: () => void
  #closed = false
  /** The error that ended the scan after the results that `nextBatch` has returned. */
  #failure: { readonly error: unknown } | undefined = undefined
  readonly #counts = { rowsScanned: 0, rowsFiltered: 0, results: 0, cells: 0, bytes: 0 }

  /** @internal Made by `ModelTable`. */
  constructor(
    table: ReferenceTable,
    scan: Scan,
    view: View,
    cuts: ScanCuts,
    checkOpen: () => void,
  ) {
    super()
    this.#rows = this.#results(table, scan, view, table.rowsOf(scan, view), cuts)
    this.#checkOpen = checkOpen
  }

  get metrics(): ScanMetrics {
    return { ...this.#counts, blockMisses: 0 }
  }

  next(): IteratorResult<Result, undefined> {
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure.error
    this.#checkOpen()
    if (this.#closed) return endOfScan
    try {
      const { done, value } = this.#rows.next()
      if (done !== true) {
        if (value.cursor === undefined) this.#counts.results++
        return { done: false, value }
      }
      this.close()
      return endOfScan
    } catch (error) {
      this.close()
      throw error
    }
  }

  nextBatch(count: number): Result[] {
    checkResultCount(count)
    const results: Result[] = []
    while (results.length < count) {
      try {
        const { done, value } = this.next()
        if (done === true) break
        results.push(value)
      } catch (error) {
        if (results.length === 0) throw error
        this.#failure = { error }
        break
      }
    }
    return results
  }

  close(): void {
    this.#closed = true
    this.#failure = undefined
  }

  *#results(
    table: ReferenceTable,
    scan: Scan,
    view: View,
    rows: readonly string[],
    cuts: ScanCuts,
  ): Generator<Result, undefined> {
    const filtered = scan.filter && new FilteredRows(table, scan, view, scan.filter)
    const families = [...table.families.keys()]
    let rowCount = 0
    let barren = 0
    for (const row of rows) {
      if (rowCount === cuts.limit) return
      if (filtered === undefined ? !table.hasRow(row, scan, view) : !filtered.has(row)) continue
      const read =
        filtered === undefined
          ? { cells: table.rowCells(row, scan, view), isLast: false }
          : filtered.read(row)
      if (read === undefined) return
      this.#counts.rowsScanned++
      if (read.cells.length === 0) {
        if (filtered !== undefined) this.#counts.rowsFiltered++
        if (++barren % barrenRowsMax === 0 && cuts.needCursorResult) {
          yield Result.of([], { cursor: bytesOf(row), families })
        }
      } else {
        barren = 0
        rowCount++
        for (const piece of pieces(read.cells, cuts)) {
          this.#counts.cells += piece.cells.length
          for (const cell of piece.cells) this.#counts.bytes += encodedBytes(cell)
          const { partial } = piece
          yield Result.of(piece.cells.map(asCell), { partial, families })
        }
      }
      if (read.isLast) return
    }
  }
}

/** Cuts the cells of a row into parts by number of cells or bytes. */
function pieces(
  cells: readonly StoredCell[],
  { batch, bytesMax }: ScanCuts,
): { cells: StoredCell[]; partial: boolean }[] {
  const found: { cells: StoredCell[]; partial: boolean }[] = []
  let piece: StoredCell[] = []
  let bytes = 0
  for (const [place, cell] of cells.entries()) {
    piece.push(cell)
    bytes += encodedBytes(cell)
    const partial = place + 1 < cells.length
    if (partial && piece.length !== batch && bytes < bytesMax) continue
    found.push({ cells: piece, partial })
    piece = []
    bytes = 0
  }
  return found
}

/** The rows of a scan with promises. */
export class AsyncModelScanner extends ResultScanner {
  readonly #scanner: ModelScanner
  readonly #signal: AbortSignal | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(scanner: ModelScanner, signal: AbortSignal | undefined) {
    super()
    this.#scanner = scanner
    this.#signal = signal
  }

  get metrics(): ScanMetrics {
    return this.#scanner.metrics
  }

  next(): Promise<IteratorResult<Result, undefined>> {
    return this.#enqueue(() => this.#scanner.next())
  }

  nextBatch(count: number): Promise<Result[]> {
    return this.#enqueue(() => this.#scanner.nextBatch(count))
  }

  close(): void {
    this.#scanner.close()
  }

  /** Runs calls one after the other, as async generators do. */
  #enqueue<T>(step: () => T): Promise<T> {
    const run = this.#running.then(() => {
      const signal = this.#signal
      if (signal?.aborted !== true) return step()
      this.close()
      const cause: unknown = signal.reason
      throw new CellarError(ErrorCode.aborted, 'the scan was aborted', { cause })
    })
    this.#running = run.catch(() => undefined)
    return run
  }
}
