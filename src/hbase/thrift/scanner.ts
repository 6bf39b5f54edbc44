/**
 * Scans over a scanner of the gateway, page by page.
 *
 * The gateway and HBase drop a scanner after some time without a call, and so does a gateway that
 * restarts. The scan then opens another scanner after the last cell that it has returned. A filter
 * may count rows, so a scan with a filter ends with `ERR_SCANNER_EXPIRED` instead.
 */
import { Result, ResultScanner, type Cell, type Scan, type ScanMetrics } from '../../api/index.js'
import { checkResultCount } from '../../api/rows/row-arguments.js'
import { checkSignal } from '../../base/arguments.js'
import { prefixSuccessor } from '../../base/bytes.js'
import { CellarError, checkAborted, hasCode } from '../../base/errors.js'
import { parseBounds, type ScanBounds } from '../../checks/rows.js'
import { checkScan, parseCuts, parseLimits } from '../../checks/scans.js'
import { CallOrder } from '../../comfort/call-order.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import { HBaseErrorCode } from './wire/errors.js'
import type { Client } from './client.js'
import type { Gateway } from './wire/gateway.js'
import { methods } from './wire/methods.js'
import { scanStruct } from './reads.js'
import { cellsOf, type ResultStruct } from './results.js'
import type { HBaseTable } from './table.js'
import type { Struct } from './wire/structs.js'

/** A scan whose options were checked. */
interface ScanPlan {
  readonly bounds: ScanBounds
  readonly struct: Struct
  readonly families: readonly string[]
  readonly hasFilter: boolean
  readonly limit: number
  readonly batch: number
  readonly pageRows: number
  readonly signal: AbortSignal | undefined
}

interface RemoteScanner {
  readonly gateway: Gateway
  readonly id: number
}

const endOfScan: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Checks a scan. Throws as `Table.scan`. */
export function planScan(scan: Scan, pageRows: number): ScanPlan {
  checkScan(scan)
  const limits = parseLimits(scan)
  const bounds = copyBounds(parseBounds(scan))
  const { struct, families } = scanStruct(scan)
  const { limit, batch } = parseCuts(scan, limits, scan.filter)
  return {
    bounds,
    struct,
    families,
    hasFilter: scan.filter !== undefined,
    limit,
    batch,
    pageRows: scan.caching ?? pageRows,
    signal: checkSignal(scan.signal),
  }
}

function copyBounds(bounds: ScanBounds): ScanBounds {
  const { start, stop } = bounds
  return { ...bounds, start: start && Buffer.from(start), stop: stop && Buffer.from(stop) }
}

export class HBaseScanner extends ResultScanner {
  readonly #client: Client
  readonly #table: HBaseTable
  readonly #plan: ScanPlan
  readonly #metrics = { rows: 0, results: 0, cells: 0, bytes: 0 }
  #remote: RemoteScanner | undefined = undefined
  #allFamilies: readonly string[] | undefined = undefined
  #page: Result[] = []
  #position = 0
  /** The last cell that the gateway gave, after which a new scanner continues. */
  #last: Cell | undefined = undefined
  /** With `batch`: the last part, until it is known whether more cells of its row follow. */
  #held: readonly Cell[] | undefined = undefined
  #rows = 0
  #isDone = false
  #failure: { readonly error: unknown } | undefined = undefined
  readonly #order = new CallOrder()

  constructor(client: Client, table: HBaseTable, plan: ScanPlan) {
    super()
    this.#client = client
    this.#table = table
    this.#plan = plan
  }

  /** Rows, results, cells and bytes that arrived; the gateway tells nothing of its own work. */
  get metrics(): ScanMetrics {
    const { rows, results, cells, bytes } = this.#metrics
    return { rowsScanned: rows, rowsFiltered: 0, results, cells, bytes, blockMisses: 0 }
  }

  next(): Promise<IteratorResult<Result, undefined>> {
    return this.#order.run(async () => {
      const value = await this.#take()
      return value === undefined ? endOfScan : { done: false, value }
    })
  }

  nextBatch(count: number): Promise<Result[]> {
    return this.#order.run(async () => {
      checkResultCount(count)
      const results: Result[] = []
      while (results.length < count) {
        // What has arrived costs no promise.
        if (this.#position < this.#page.length && this.#failure === undefined) {
          results.push(this.#page[this.#position++])
          continue
        }
        let result: Result | undefined
        try {
          result = await this.#take()
        } catch (error) {
          if (results.length === 0) throw error
          this.#failure = { error }
          break
        }
        if (result === undefined) break
        results.push(result)
      }
      return results
    })
  }

  close(): void {
    this.#isDone = true
    this.#page = []
    this.#position = 0
    this.#held = undefined
    this.#failure = undefined
    this.#closeRemote()
  }

  async #take(): Promise<Result | undefined> {
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure.error
    while (this.#position >= this.#page.length) {
      if (this.#isDone) return undefined
      try {
        await this.#fetch()
      } catch (error) {
        const held = this.#held
        this.close()
        if (held === undefined) throw error
        this.#failure = { error }
        return this.#resultOf(held, true)
      }
    }
    return this.#page[this.#position++]
  }

  async #fetch(): Promise<void> {
    const { signal, pageRows, families } = this.#plan
    checkAborted('the scan', signal)
    this.#allFamilies ??= await this.#table.checkFamilies(families)
    const wanted = Math.min(pageRows, this.#plan.limit - this.#rows + 2)
    const structs = await this.#fetchResults(wanted).catch(async (error: unknown) => {
      await this.#table.checkFailure(error)
      throw error
    })
    checkAborted('the scan', signal)
    // A scan that was closed meanwhile may have opened a scanner after that.
    if (this.#isEnded()) return this.#closeRemote()
    this.#page = []
    this.#position = 0
    for (const struct of structs) if (!this.#isEnded()) this.#accept(struct)
    if (structs.length === 0) this.#end()
  }

  async #fetchResults(count: number): Promise<readonly ResultStruct[]> {
    for (let isOpenedAgain = false; ; isOpenedAgain = true) {
      this.#remote ??= await this.#open()
      if (this.#isEnded()) return []
      const { gateway, id } = this.#remote
      const method = methods.getScannerRows
      const request = this.#client.encode(method, { scanner: id, count }, this.#what)
      try {
        return (await this.#client.callOne(gateway, request)) as readonly ResultStruct[]
      } catch (error) {
        this.#remote = undefined
        if (!isLost(error) || isOpenedAgain) throw error
        if (this.#plan.hasFilter) throw expired(error)
      }
    }
  }

  get #what(): string {
    return `a scan of table '${this.#table.name}'`
  }

  async #open(): Promise<RemoteScanner> {
    const { struct, bounds, batch } = this.#plan
    const parameters = {
      table: this.#table.name,
      scan: {
        ...struct,
        startRow: this.#last?.row ?? bounds.start,
        stopRow: stopOf(bounds),
        batchSize: batch > 0 ? batch : undefined,
      },
    }
    const request = this.#client.encode(methods.openScanner, parameters, this.#what)
    const { answer, gateway } = await this.#client.callAny(request)
    return { gateway, id: answer as number }
  }

  /** Takes a result of the gateway, without rows and cells that the scan must not return. */
  #accept(struct: ResultStruct): void {
    const { row } = struct
    const cells = cellsOf(struct)
    if (row === undefined || cells.length === 0) return
    const { limit, batch } = this.#plan
    const last = this.#last
    const isSameRow = last !== undefined && row.equals(last.row)
    const fresh = isSameRow ? cells.filter((cell) => follows(cell, last)) : cells
    if (fresh.length === 0 || this.#isBefore(row)) return
    if (this.#isBehind(row)) return this.#end()
    if (!isSameRow && this.#rows === limit) return this.#end()
    if (!isSameRow) this.#rows++
    this.#last = fresh.at(-1)
    this.#count(fresh, !isSameRow)
    this.#emitHeld(isSameRow)
    this.#held = fresh
    if (batch > 0 && cells.length >= batch) return
    this.#emitHeld(false)
    if (this.#rows === limit) this.#end()
  }

  /** Passes on the part that was held back. */
  #emitHeld(partial: boolean): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#page.push(this.#resultOf(held, partial))
  }

  #resultOf(cells: readonly Cell[], partial: boolean): Result {
    return Result.of(cells, { partial, families: this.#allFamilies })
  }

  #isBefore(row: Buffer): boolean {
    const { start, startInclusive } = this.#plan.bounds
    return !startInclusive && start !== undefined && row.equals(start)
  }

  /** Whether a row lies after the stop row, which is not exact for reversed scans. */
  #isBehind(row: Buffer): boolean {
    const { stop, stopInclusive, reversed } = this.#plan.bounds
    if (stop === undefined) return false
    const order = Buffer.compare(row, stop) * (reversed ? -1 : 1)
    return stopInclusive ? order > 0 : order >= 0
  }

  #count(cells: readonly Cell[], isRow: boolean): void {
    const metrics = this.#metrics
    if (isRow) metrics.rows++
    metrics.results++
    metrics.cells += cells.length
    for (const { row, family, qualifier, value } of cells) {
      metrics.bytes += row.length + family.length + qualifier.length + value.length
    }
  }

  /** Read anew each time: a caller may close the scan while a page is under way. */
  #isEnded(): boolean {
    return this.#isDone
  }

  #end(): void {
    this.#emitHeld(false)
    this.#isDone = true
    this.#closeRemote()
  }

  /** Closes the gateway's scanner. No call waits for that: the gateway drops it later by itself. */
  #closeRemote(): void {
    const remote = this.#remote
    this.#remote = undefined
    if (remote === undefined) return
    const request = this.#client.encode(methods.closeScanner, { scanner: remote.id }, this.#what)
    this.#client.callOne(remote.gateway, request).catch(() => undefined)
  }
}

/** The row before which HBase ends the scan; rows that it gives beyond the end are left out. */
function stopOf({ stop, stopInclusive, reversed }: ScanBounds): Uint8Array | undefined {
  if (stop === undefined || !stopInclusive) return stop
  if (!reversed) {
    // The next row; behind a row of the greatest length, the first row that does not begin with it.
    if (stop.length < rowBytesMax) return Buffer.concat([stop, Buffer.of(0)])
    return prefixSuccessor(stop)
  }
  const last = stop[stop.length - 1]
  const rest = stop.subarray(0, -1)
  if (last === 0) return rest.length === 0 ? undefined : rest
  const padding = Buffer.alloc(Math.min(8, rowBytesMax - stop.length), 0xff)
  return Buffer.concat([rest, Buffer.of(last - 1), padding])
}

/** Whether a cell comes behind another one of its row, in HBase's order. */
function follows(cell: Cell, other: Cell): boolean {
  const family = Buffer.compare(Buffer.from(cell.family), Buffer.from(other.family))
  if (family !== 0) return family > 0
  const qualifier = Buffer.compare(cell.qualifier, other.qualifier)
  return qualifier === 0 ? cell.timestampExact < other.timestampExact : qualifier > 0
}

/** Whether the gateway's scanner is gone. */
function isLost(error: unknown): boolean {
  if (hasCode(error, HBaseErrorCode.unavailable)) return true
  return (
    hasCode(error, HBaseErrorCode.refused) &&
    /[Ii]nvalid scanner|UnknownScanner|LeaseException|ScannerReset|OutOfOrderScanner/.test(
      error.message,
    )
  )
}

function expired(cause: unknown): CellarError {
  const message =
    "the gateway's scanner is gone, and a scan with a filter cannot go on without it; " +
    'begin again behind the last row, and read without long pauses'
  return new CellarError(HBaseErrorCode.scannerExpired, message, { cause })
}
