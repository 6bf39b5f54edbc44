/**
 * The reads of one table: its current state, the plans of its reads, and gets and scans by them.
 *
 * An altered table gets a new state. The state is looked up again when an operation finds that the
 * known one is outdated.
 */
import { argumentError, checkBoolean, readArguments } from '../../base/arguments.js'
import type { ByteRange } from '../../base/bytes.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import type { BytesLike, Get, ReadOptions, Scan } from '../../api/index.js'
import type { Result } from '../../api/results/result.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { TableParts } from '../../storage/engine/engine.js'
import { timestampHighOf, timestampLowOf } from '../../storage/cell/cell-key.js'
import { approximateTimestamp } from '../../storage/cell/timestamp.js'
import {
  emptyRow,
  numbersPerCell,
  rowCellByCell,
  type CollectedRow,
} from '../../storage/scan/collected-row.js'
import { oldestUnexpired } from '../../storage/scan/user-matcher.js'
import type { FamilySettings } from '../../storage/store/family-settings.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { RowKey } from '../arguments/row-key.js'
import { checkGet } from '../../checks/reads.js'
import { PageResult } from './page-result.js'
import { planRead, ReadPlans, withCaching, type ReadPlan } from './read-plan.js'
import { RowReads } from './row-read.js'
import { planScan } from './scan-plan.js'
import { ScanPool } from './scan-pool.js'
import { ScanSession } from './scan-session.js'
import { readPointOf, readTimeOf } from './snapshot.js'

/** Reads the row of an escaped key. May throw `BlockMissing`. */
export type RowGetter = (key: ByteRange) => Result

export class TableReads {
  readonly parts: TableParts
  readonly name: string
  private current: TableState
  private rowReads: RowReads
  private plans: ReadPlans
  private scans: ScanPool
  /** Plans of raw reads by the families, which callers keep. */
  private rawPlans = new WeakMap<readonly string[], ReadPlan>()
  private readonly readRowKey = new RowKey()

  constructor(parts: TableParts, table: TableState) {
    this.parts = parts
    this.name = table.name
    this.current = table
    this.rowReads = new RowReads(table, parts.clock)
    this.plans = new ReadPlans(table)
    this.scans = new ScanPool(parts.clock)
  }

  /**
   * The present state of the table; `ERR_CLOSED`, `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_NOT_ENABLED`.
   */
  state(): TableState {
    const table = this.description()
    if (!table.settings.disabled) return table
    const message = `table '${this.name}' is disabled; Admin.enableTable opens it again`
    throw new CellarError(ErrorCode.tableNotEnabled, message)
  }

  /** As {@link state}, but also for a disabled table. */
  description(): TableState {
    this.parts.lifecycle.checkOpen()
    return this.current.live ? this.current : this.refresh()
  }

  /** Reads a row, or with `existenceOnly` only whether it exists. */
  get(get: Get, mode: ReadMode, existenceOnly = false): Result {
    const table = this.state()
    let plan: ReadPlan
    let readPoint: number
    let time: number | undefined
    try {
      checkGet(get)
      existenceOnly ||= checkBoolean(get.checkExistenceOnly, 'checkExistenceOnly', false)
      this.readRowKey.set(get.row)
      plan = this.plans.plan(get)
      readPoint = readPointOf(get, this.parts.readPoints)
      time = readTimeOf(get)
    } catch (error) {
      throw argumentError(error)
    }
    const row = this.readRow(this.readRowKey, plan, readPoint, mode, existenceOnly, time)
    if (!existenceOnly) return new PageResult(row, table.familyNames)
    return new PageResult(emptyRow, table.familyNames, { exists: row.cells.length > 0 })
  }

  /** Gets of rows by their escaped keys with these options, in this turn of the event loop. */
  getter(options: ReadOptions, mode: ReadMode): RowGetter {
    const table = this.state()
    const { plan, readPoint, time } = readArguments(() => ({
      plan: this.plans.plan(options),
      readPoint: readPointOf(options, this.parts.readPoints),
      time: readTimeOf(options),
    }))
    return ({ source, start, end }) => {
      this.readRowKey.copyFrom(source, start, end)
      const row = this.readRow(this.readRowKey, plan, readPoint, mode, false, time)
      return new PageResult(row, table.familyNames)
    }
  }

  /**
   * All versions and delete markers of families of a row that have not expired, in the newest
   * state.
   */
  getRaw(row: BytesLike, families: readonly string[], mode: ReadMode): Result {
    const table = this.state()
    this.readRowKey.set(row)
    let plan = this.rawPlans.get(families)
    if (plan === undefined) {
      plan = planRead(table, { columns: families, versions: 'all' }, true)
      this.rawPlans.set(families, plan)
    }
    const found = this.readRow(this.readRowKey, plan, this.parts.readPoints.lastSequence, mode)
    return new PageResult(this.unexpired(found, table), table.familyNames)
  }

  /** The row `page[start, end)` (escaped) by a plan, in the newest state. */
  getEscaped(page: Buffer, start: number, end: number, plan: ReadPlan, mode: ReadMode): Result {
    this.readRowKey.copyFrom(page, start, end)
    const { readPoints } = this.parts
    const found = this.readRow(this.readRowKey, plan, readPoints.lastSequence, mode)
    return new PageResult(found, this.current.familyNames)
  }

  /** Whether the row has a cell that the get selects. */
  exists(get: Get, mode: ReadMode): boolean {
    return this.get(get, mode, true).exists!
  }

  openScan(scan: Scan, mayBlock: boolean): ScanSession {
    const table = this.state()
    const { plan, readPoint, readTime } = readArguments(() => ({
      plan: planScan(table, scan, this.plans),
      readPoint: readPointOf(scan, this.parts.readPoints),
      readTime: readTimeOf(scan),
    }))
    return new ScanSession(this.parts, table, plan, readPoint, mayBlock, readTime, this.scans)
  }

  /** The plan of a read of the table's present state. */
  planOf(options: Parameters<ReadPlans['plan']>[0]): ReadPlan {
    return this.plans.plan(options)
  }

  /** Reads the row of a key. */
  readRow(
    row: RowKey,
    plan: ReadPlan,
    readPoint: number,
    mode: ReadMode,
    existenceOnly = false,
    time?: number,
  ): CollectedRow {
    const reads = this.rowReads
    const read = reads.acquire()
    const { readPoints } = this.parts
    const isFiltered = plan.filter !== undefined
    if (isFiltered) readPoints.filteredReadCount++
    try {
      const { buffer, length } = row
      const how = withCaching(mode, plan)
      return read.read(plan, buffer, length, readPoint, how, existenceOnly, time)
    } finally {
      reads.release(read)
      if (isFiltered) readPoints.filteredReadCount--
    }
  }

  private refresh(): TableState {
    const table = this.parts.catalog.tables.get(this.name)
    if (table === undefined || table.tableId !== this.current.tableId) {
      throw new CellarError(ErrorCode.tableNotFound, `table '${this.name}' was dropped`)
    }
    this.current = table
    this.rowReads = new RowReads(table, this.parts.clock)
    this.plans = new ReadPlans(table)
    this.scans = new ScanPool(this.parts.clock)
    this.rawPlans = new WeakMap()
    return table
  }

  /** A raw row without the cells that the TTL of their family hides from gets. */
  private unexpired(row: CollectedRow, { families }: TableState): CollectedRow {
    if (!families.some(({ settings }) => hidesExpired(settings))) return row
    const now = this.parts.clock.now()
    const { page, cells, partial } = rowCellByCell(row)
    const kept: number[] = []
    for (let at = 0; at < cells.length; at += numbersPerCell) {
      const { settings } = families[cells[at]]
      const oldest = hidesExpired(settings) ? oldestUnexpired(settings, now) : 0
      const keyEnd = cells[at + 2]
      const high = timestampHighOf(page, keyEnd)
      if (approximateTimestamp(high, timestampLowOf(page, keyEnd)) < oldest) continue
      for (let i = 0; i < numbersPerCell; i++) kept.push(cells[at + i])
    }
    return kept.length === cells.length ? row : { page, cells: kept, partial }
  }
}

/** Whether gets of a family leave out cells by their age alone. */
function hidesExpired({ ttlSeconds, minVersions }: FamilySettings): boolean {
  return ttlSeconds !== Infinity && minVersions === 0
}
