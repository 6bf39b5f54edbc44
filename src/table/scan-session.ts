/**
 * One running scan: it takes its read point and its sources when it is made and keeps both until it
 * is closed, so that writes, flushes and compactions do not change what it returns (spec 1.2).
 */
import { assert } from '../base/assert.js'
import { Moment } from '../base/clock.js'
import type { TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import { blockMissing } from '../cursor/cursor.js'
import type { RowTarget } from '../scan/cell-collector.js'
import { RowCollector } from '../scan/row-collector.js'
import { RowScanner } from '../scan/row-scanner.js'
import type { StoreScanner } from '../scan/store-scanner.js'
import type { ReadCounters } from '../sstable/read-counters.js'
import { StoreReader } from '../store/store-reader.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Version } from '../version/version.js'
import { Result } from './result.js'
import type { ScanMetrics } from './types.js'
import type { ScanPlan } from './scan-plan.js'

/**
 * Rows without result after which a step pauses, so that a selective scan does not hold the loop.
 */
const barrenRowsMax = 512

export class ScanSession {
  /** True once the scan has ended or was closed. */
  ended = false
  private readonly counters: ReadCounters
  private readonly needCursorResult: boolean
  /** There is no filter. */
  private readonly plain: boolean
  private results = 0
  private cells = 0
  private bytes = 0
  private blockMisses = 0
  private readonly collector = new RowCollector()
  private readonly rows = new RowScanner()
  private readonly families: readonly string[]
  private readonly version: Version
  private readonly pinned: MemtableSlot[] = []
  private rowsLeft: number
  private released = false

  constructor(
    engine: Engine,
    table: TableState,
    plan: ScanPlan,
    readPoint: number,
    mayBlock: boolean,
  ) {
    const { read, bounds, limit, batch, bytesMax } = plan
    const mode = { mayBlock, cacheBlocks: read.cacheBlocks }
    const moment = new Moment(engine.clock)
    this.families = table.familyNames
    this.rowsLeft = limit
    this.counters = engine.readers.counters
    this.needCursorResult = plan.needCursorResult
    this.collector.configure(table.familyNames, batch, bytesMax)
    for (const { family } of read.families) this.pinned.push(...family.store.sources.memtables)
    for (const slot of this.pinned) slot.pinCount++
    const { filter } = read
    this.plain = filter === undefined
    const scanners: StoreScanner[] = []
    const joined: StoreScanner[] = []
    for (const { family, query } of read.families) {
      const reader = new StoreReader(family.store)
      reader.openRange(family.index, query, bounds, readPoint, moment, mode)
      const essential = !read.onDemand || (filter?.isFamilyEssential?.(family.name) ?? true)
      const part = essential ? scanners : joined
      part.push(reader.scanner)
    }
    if (scanners.length === 0) this.rows.open(joined, bounds, filter)
    else this.rows.open(scanners, bounds, filter, joined)
    this.version = engine.versions.current.acquire()
  }

  /**
   * The next result; undefined at the end; 'pause' if nothing came for a while and the caller
   * should give up its turn. May throw `BlockMissing` if the scan may not block; call again then.
   */
  next(): Result | 'pause' | undefined {
    if (this.ended) return undefined
    const outcome = this.step()
    switch (outcome) {
      case 'pause':
        return this.needCursorResult ? Result.ofCursor(this.rows.lastRow!) : 'pause'
      case 'end':
        this.close()
        return undefined
      case 'piece':
        return this.result(true)
      case 'row': {
        const result = this.result(false)
        if (--this.rowsLeft <= 0) this.close()
        return result
      }
    }
  }

  /**
   * Lets a target take rows, or pieces of them, until it is full or took `rowsMax`; without limit
   * of rows, and only for a scan without filter. False at the end. May throw as {@link next} does.
   */
  fill(target: RowTarget, rowsMax: number): boolean {
    assert(this.plain, 'a scan with a filter makes results')
    for (let rows = 0; rows < rowsMax && !target.full; rows++) {
      if (this.ended) return false
      const outcome = this.rows.nextRow(target, barrenRowsMax)
      if (outcome === 'pause') return true
      if (outcome === 'end') this.close()
    }
    return true
  }

  private step(): ReturnType<RowScanner['nextRow']> {
    const missesBefore = this.counters.cacheMisses
    try {
      return this.rows.nextRow(this.collector, barrenRowsMax)
    } catch (error) {
      if (error === blockMissing) this.blockMisses++
      throw error
    } finally {
      this.blockMisses += this.counters.cacheMisses - missesBefore
    }
  }

  private result(partial: boolean): Result {
    this.bytes += this.collector.bytes
    this.cells += this.collector.count
    this.results++
    return new Result(this.collector.take(partial), this.families)
  }

  /** What the scan has done so far. */
  get metrics(): ScanMetrics {
    const { results, cells, bytes, blockMisses } = this
    const { rowsScanned, rowsFiltered } = this.rows
    return { rowsScanned, rowsFiltered, results, cells, bytes, blockMisses }
  }

  /** Ends the scan and lets its files go. */
  close(): void {
    this.ended = true
    if (this.released) return
    this.released = true
    this.version.release()
    this.collector.release()
    for (const slot of this.pinned) slot.pinCount--
  }
}
