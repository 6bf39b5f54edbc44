/**
 * One running scan: it takes its read point and its sources when it is made and keeps both until it
 * is closed, so that writes, flushes and compactions do not change what it returns (spec 1.2).
 */
import type { TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import { RowCollector } from '../scan/row-collector.js'
import { RowScanner } from '../scan/row-scanner.js'
import { StoreReader } from '../store/store-reader.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Version } from '../version/version.js'
import { Result } from './result.js'
import type { ScanPlan } from './scan-plan.js'

/**
 * Rows without result after which a step pauses, so that a selective scan does not hold the loop.
 */
const barrenRowsMax = 512

export class ScanSession {
  /** True once the scan has ended or was closed. */
  ended = false
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
    const { read, bounds, limit, batch } = plan
    const mode = { mayBlock, cacheBlocks: read.cacheBlocks }
    const now = engine.now()
    this.families = table.familyNames
    this.rowsLeft = limit
    this.collector.configure(table.familyNames, batch)
    for (const { family } of read.families) this.pinned.push(...family.store.sources.memtables)
    for (const slot of this.pinned) slot.pinCount++
    const scanners = read.families.map(({ family, query }) => {
      const reader = new StoreReader(family.store)
      reader.openRange(family.index, query, bounds, readPoint, now, mode)
      return reader.scanner
    })
    this.rows.open(scanners, bounds, read.filter)
    this.version = engine.versions.current.acquire()
  }

  /**
   * The next result; undefined at the end; 'pause' if nothing came for a while and the caller
   * should give up its turn. May throw `BlockMissing` if the scan may not block; call again then.
   */
  next(): Result | 'pause' | undefined {
    if (this.ended) return undefined
    const outcome = this.rows.nextRow(this.collector, barrenRowsMax)
    switch (outcome) {
      case 'pause':
        return 'pause'
      case 'end':
        this.close()
        return undefined
      case 'piece':
        return new Result(this.collector.take(true), this.families)
      case 'row': {
        const result = new Result(this.collector.take(false), this.families)
        if (--this.rowsLeft <= 0) this.close()
        return result
      }
    }
  }

  /** Ends the scan and lets its files go. */
  close(): void {
    this.ended = true
    if (this.released) return
    this.released = true
    this.version.release()
    for (const slot of this.pinned) slot.pinCount--
  }
}
