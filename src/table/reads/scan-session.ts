/**
 * One running scan. It fixes its read point, its time and its sources at the start and keeps them
 * until its close. So writes, flushes, compactions and pauses do not change its results.
 *
 * Rows are prefetched, in growing numbers, if that cannot be observed: without a filter, without
 * cutting of rows, and with a read point. Results are made of the rows one by one. An error of a
 * prefetch is thrown after the rows read before it.
 */
import { assert } from '../../base/assert.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { TableParts } from '../../storage/engine/engine.js'
import type { ReadPoints } from '../../storage/engine/catalog/read-points.js'
import { blockMissing } from '../../storage/cursor/cursor.js'
import type { RowTarget } from '../../storage/scan/cell-collector.js'
import { cellCount, type CollectedRows } from '../../storage/scan/collected-row.js'
import type { RowCollector } from '../../storage/scan/row-collector.js'
import type { RowOutcome } from '../../storage/scan/row-scanner.js'
import type { StoreScanner } from '../../storage/scan/store-scanner.js'
import type { ReadCounters } from '../../storage/sstable/read-counters.js'
import type { SsTableReader } from '../../storage/sstable/reader.js'
import type { MemtableSlot, MemtableUser } from '../../storage/store/memtable-slot.js'
import type { ReadMode, StoreReader } from '../../storage/store/store-reader.js'
import type { TableTimes } from '../../storage/engine/write/operation-times.js'
import type { Version } from '../../storage/version/version.js'
import { Result } from '../../api/results/result.js'
import { PageResult } from './page-result.js'
import type { ScanMetrics } from '../../api/index.js'
import type { FamilyPlan } from './read-plan.js'
import type { ScanPlan } from './scan-plan.js'
import { ScanPool, type ScanParts } from './scan-pool.js'

/**
 * Number of rows without a result after which a step pauses, so that a selective scan does not
 * block the event loop.
 */
const barrenRowsMax = 512

/**
 * Initial and maximum number of prefetched rows; a page of results and its numbers are limits too.
 */
const rowsAheadMin = 8
const rowsAheadMax = 64

/** A memtable that a scan reads, and its reader. */
interface MemtableUse {
  readonly slot: MemtableSlot
  readonly reader: StoreReader
  /** The SSTables that replace the memtable, until the scan switches to them. */
  tables: readonly SsTableReader[] | undefined
}

const noRows: CollectedRows = { count: 0, pages: [], cells: [], ends: [], bytes: [] }
const noMarks = {}

export class ScanSession implements MemtableUser {
  /** True once the scan has ended or was closed. */
  ended = false
  /** Aborts an awaited scan. */
  readonly signal: AbortSignal | undefined
  /** The figures of the table. */
  readonly times: TableTimes
  /** The families that the scan reads. */
  readonly plans: readonly FamilyPlan[]
  private readonly counters: ReadCounters
  private readonly needCursorResult: boolean
  /** Whether the scan has no filter. */
  private readonly plain: boolean
  private readonly families: readonly string[]
  readonly readPoint: number
  /** Pin the files that the scan reads: those at its start, then those of flushes. */
  private readonly versions: Version[] = []
  private readonly versionSet: { readonly current: Version }
  private memtables: MemtableUse[] = []
  private readonly mode: ReadMode
  /** Its cells are copied before their memory is released. */
  private target: RowTarget | undefined = undefined
  private readonly readPoints: ReadPoints
  /** The read point if a snapshot holds it, so that the scan may read pinned sources; else -1. */
  private readonly heldReadPoint: number = -1
  private readonly pool: ScanPool
  /** Undefined once returned to the pool. */
  private parts: ScanParts | undefined
  /** Number of rows to read at once; 1 without prefetch. */
  private rowsAhead: number
  /** Number of rows left up to the limit. */
  private rowsLeft: number
  private ready: CollectedRows = noRows
  /** Index of the next ready row; `start`: index of its first cell number. */
  private position = 0
  private start = 0
  /** Whether the ready row is a piece, and more of the row follows. */
  private partial = false
  /** Whether no row follows the ready ones. */
  private exhausted = false
  /** The error to throw after the ready rows. */
  private failure: Error | undefined = undefined
  private stepping = false
  private results = 0
  private cells = 0
  private bytes = 0
  private blockMisses = 0
  private rowsScanned = 0
  private rowsFiltered = 0

  constructor(
    tableParts: TableParts,
    table: TableState,
    plan: ScanPlan,
    readPoint: number,
    mayBlock: boolean,
    time?: number,
    pool = new ScanPool(tableParts.clock),
  ) {
    const { read, limit, batch, bytesMax, needCursorResult } = plan
    this.mode = { mayBlock, cacheBlocks: read.cacheBlocks }
    this.readPoint = readPoint
    this.versionSet = tableParts.versions
    const parts = pool.acquire()
    const { collector, moment } = parts
    // As of now, not of the first cell with a TTL: that one may come after any pause of the caller.
    moment.renew(time ?? tableParts.clock.now())
    if (tableParts.readPoints.hold(readPoint)) this.heldReadPoint = readPoint
    const { filter } = read
    const isWhole = filter === undefined && batch < 0 && bytesMax === Infinity
    const seesLater = readPoint === Number.MAX_SAFE_INTEGER
    this.signal = plan.signal
    this.times = tableParts.reports.times.ofTable(table.name)
    this.plans = read.families
    this.pool = pool
    this.parts = parts
    this.families = table.familyNames
    this.rowsLeft = limit
    this.rowsAhead = isWhole && !needCursorResult && !seesLater ? rowsAheadMin : 1
    this.counters = tableParts.readers.counters
    this.plain = filter === undefined
    this.needCursorResult = needCursorResult
    collector.configure(table.familyNames, batch, bytesMax)
    this.readPoints = tableParts.readPoints
    try {
      this.open(parts, plan)
      this.versions.push(tableParts.versions.current.acquire())
    } catch (error) {
      // The filter has thrown. A subclass is not ready to be closed yet.
      this.end()
      throw error
    }
  }

  private open(parts: ScanParts, { read, bounds }: ScanPlan): void {
    const { rows, moment } = parts
    const { filter } = read
    const scanners: StoreScanner[] = []
    const joined: StoreScanner[] = []
    for (const { family, query } of read.families) {
      const reader = parts.reader(family)
      this.use(family.store.sources.memtables, reader)
      reader.openRange(query, bounds, this.readPoint, moment, this.mode)
      const essential = !read.onDemand || (filter?.isFamilyEssential?.(family.name) ?? true)
      const part = essential ? scanners : joined
      part.push(reader.scanner)
    }
    if (scanners.length === 0) rows.open(joined, bounds, filter)
    else rows.open(scanners, bounds, filter, joined)
  }

  private use(memtables: readonly MemtableSlot[], reader: StoreReader): void {
    for (const slot of memtables) {
      if (slot.isEmpty) continue
      slot.startUse(this)
      this.memtables.push({ slot, reader, tables: undefined })
    }
  }

  memtableFlushed(slot: MemtableSlot, tables: readonly SsTableReader[]): void {
    const use = this.memtables.find((each) => each.slot === slot)
    assert(use !== undefined, 'a scan is told of the memtables that it uses')
    use.tables = tables
    this.versions.push(this.versionSet.current.acquire())
    // A filter may write during its call, and so cause a flush.
    if (!this.stepping) this.leaveMemtables()
  }

  /** Switches to the SSTables of flushed memtables, so that their memory can be released. */
  private leaveMemtables(): void {
    const { parts, memtables } = this
    const left = parts === undefined ? memtables : memtables.filter(({ tables }) => tables)
    if (left.length === 0) return
    this.memtables = memtables.filter((use) => !left.includes(use))
    parts?.collector.settle()
    this.target?.settle()
    for (const { slot, reader, tables } of left) {
      if (parts !== undefined) reader.leaveMemtable(slot, tables!, this.mode)
      slot.endUse(this)
    }
  }

  /** Disables prefetch, because an observer sees each row. */
  protected readNothingAhead(): void {
    this.rowsAhead = 1
  }

  /** Sets the listener for rows without a result; see `RowScanner.onRowFiltered`. */
  protected tellFiltered(told: (row: Buffer) => boolean): void {
    if (this.parts !== undefined) this.parts.rows.onRowFiltered = told
  }

  /**
   * The next result; undefined at the end. 'pause' after many rows without a result, so that the
   * caller yields to the event loop. May throw `BlockMissing` if the scan must not block; the call
   * is then repeated.
   */
  next(): Result | 'pause' | undefined {
    const result = this.nextReady()
    const { parts } = this
    if (result !== undefined || parts === undefined) return result
    if (this.readAhead(parts) === 'pause') {
      return this.needCursorResult
        ? PageResult.ofCursor(parts.rows.lastRow!, this.families)
        : 'pause'
    }
    const first = this.nextReady()
    if (first === undefined) this.close()
    return first
  }

  nextReady(): Result | undefined {
    const { ready, position, start } = this
    if (position === ready.count) return undefined
    const { cells } = ready
    const end = ready.ends[position]
    this.position = position + 1
    this.start = end
    this.results++
    this.cells += cellCount(cells, start, end)
    this.bytes += ready.bytes[position]
    const row = { page: ready.pages[position], cells, partial: this.partial }
    const result = new PageResult(row, this.families, noMarks, start, end)
    if (this.rowsLeft <= 0 && position + 1 === ready.count) this.close()
    return result
  }

  /**
   * Passes rows, or pieces of them, to a target until it is full or has `rowsMax` rows. REQUIRES a
   * scan without filter and without limit of rows. False at the end. May throw as {@link next}
   * does.
   */
  fill(target: RowTarget, rowsMax: number): boolean {
    assert(this.plain, 'a scan with a filter makes results')
    this.target = target
    for (let rows = 0; rows < rowsMax && !target.full; rows++) {
      if (this.parts === undefined) return false
      const outcome = this.parts.rows.nextRow(target, barrenRowsMax)
      if (outcome === 'pause') return true
      if (outcome !== 'end') continue
      this.close()
    }
    return true
  }

  /** Reads the next rows; none at the end, or if it returns 'pause'. */
  private readAhead(parts: ScanParts): RowOutcome {
    if (this.failure !== undefined) throw this.failure
    if (this.exhausted) return 'end'
    const { collector } = parts
    let outcome: RowOutcome = 'rows'
    if (this.rowsAhead > 1) collector.wantRows(Math.min(this.rowsAhead, this.rowsLeft))
    try {
      do {
        outcome = this.step(parts)
        if (outcome === 'row' || outcome === 'piece') collector.endRow()
      } while (outcome === 'row' && collector.wantsRows)
    } catch (error) {
      if (collector.rowCount === 0) throw error
      if (error !== blockMissing) this.failure = error as Error
    }
    this.exhausted = outcome === 'end'
    if (collector.rowCount === 0) return outcome
    this.takeRows(collector, outcome === 'piece')
    return 'rows'
  }

  private takeRows(collector: RowCollector, partial: boolean): void {
    const ready = collector.takeRows()
    this.ready = ready
    this.position = 0
    this.start = 0
    this.partial = partial
    if (!partial) this.rowsLeft -= ready.count
    if (this.rowsAhead > 1) this.rowsAhead = Math.min(2 * this.rowsAhead, rowsAheadMax)
  }

  private step({ rows, collector }: ScanParts): RowOutcome {
    const missesBefore = this.counters.cacheMisses
    this.stepping = true
    try {
      return rows.nextRow(collector, barrenRowsMax)
    } catch (error) {
      if (error === blockMissing) this.blockMisses++
      throw error
    } finally {
      this.stepping = false
      if (this.memtables.length > 0) this.leaveMemtables()
      this.blockMisses += this.counters.cacheMisses - missesBefore
    }
  }

  /** The metrics of the scan so far. */
  get metrics(): ScanMetrics {
    const { results, cells, bytes, blockMisses } = this
    const { rows } = this.parts ?? {}
    const rowsScanned = rows?.rowsScanned ?? this.rowsScanned
    const rowsFiltered = rows?.rowsFiltered ?? this.rowsFiltered
    const ahead = this.ready.count - this.position
    return {
      rowsScanned: rowsScanned - ahead,
      rowsFiltered,
      results,
      cells,
      bytes,
      blockMisses,
    }
  }

  /** Ends the scan and releases its files. */
  close(): void {
    this.end()
  }

  private end(): void {
    this.ended = true
    const ahead = this.ready.count - this.position
    this.ready = noRows
    this.position = 0
    const { parts, pool } = this
    if (parts === undefined) return
    this.parts = undefined
    this.rowsScanned = parts.rows.rowsScanned - ahead
    this.rowsFiltered = parts.rows.rowsFiltered
    for (const version of this.versions) version.release()
    if (this.heldReadPoint >= 0) this.readPoints.remove(this.heldReadPoint)
    pool.keep(this)
    // A filter may close its own scan, which still reads until the filter returns.
    if (this.stepping) return
    this.leaveMemtables()
    // The memory of the cells is released with the scan.
    this.target?.settle()
    parts.release()
    pool.giveBack(parts)
  }
}
