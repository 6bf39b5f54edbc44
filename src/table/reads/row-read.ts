/**
 * Reads one row: the core of get, exists and of all operations that read before they write.
 *
 * A `RowRead` is reusable and belongs to one table state. Hot gets reuse the same one, and so
 * allocate only the result. `read` may throw `BlockMissing`; the shell loads the block and reads
 * the row again from its start.
 */
import { assert } from '../../base/assert.js'
import { Moment, type Clock } from '../../base/clock.js'
import { checksInvariants } from '../../base/invariants.js'
import { writeTerminator } from '../../storage/cell/cell-key.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { CollectedRow } from '../../storage/scan/collected-row.js'
import { RowCollector } from '../../storage/scan/row-collector.js'
import { RowScanner } from '../../storage/scan/row-scanner.js'
import { StoreReader, type ReadMode } from '../../storage/store/store-reader.js'
import type { ReadPlan } from './read-plan.js'

/** One row read; see the file header. */
export class RowRead {
  private readonly readers: (StoreReader | undefined)[] = []
  private readonly collector = new RowCollector()
  private readonly rowScanner = new RowScanner()
  /** Of this read alone: a filter may read other rows meanwhile, as of another time. */
  private readonly moment: Moment

  constructor(table: TableState, clock: Clock) {
    this.collector.configure(table.familyNames, -1)
    this.moment = new Moment(clock)
  }

  /**
   * Reads `row[0, rowLength)` (escaped), which is borrowed until `release`; the memory after the
   * row is overwritten. An absent row has no cells. With `existenceOnly` the read may stop at the
   * first cell. Cells expire as of `time`, by default now. May throw `BlockMissing`; the read then
   * starts again.
   */
  read(
    plan: ReadPlan,
    row: Buffer,
    rowLength: number,
    readPoint: number,
    mode: ReadMode,
    existenceOnly: boolean,
    time?: number,
  ): CollectedRow {
    const { collector, moment } = this
    const { families, filter } = plan
    moment.renew(time)
    writeTerminator(row, rowLength)
    collector.startRow()
    collector.cutAt(existenceOnly && filter === undefined ? 1 : -1)
    if (filter !== undefined) return this.readFiltered(plan, row, rowLength, readPoint, mode)
    for (let i = 0; i < families.length; i++) {
      const { family, query } = families[i]
      const reader = (this.readers[family.index] ??= new StoreReader(family.store, family.index))
      const isRead = reader.readRow(row, rowLength, query, readPoint, moment, mode, collector)
      // Full: only the first cell was wanted.
      if (!isRead || collector.full) break
    }
    return collector.take(false)
  }

  /** Drops references to outdated memtables and SSTables. */
  release(): void {
    const { readers } = this
    for (let i = 0; i < readers.length; i++) readers[i]?.release()
  }

  private readFiltered(
    { families, filter }: ReadPlan,
    row: Buffer,
    rowLength: number,
    readPoint: number,
    mode: ReadMode,
  ): CollectedRow {
    const { collector, moment, rowScanner } = this
    const only = Buffer.from(row.subarray(0, rowLength))
    const scanners = families.map(({ family, query }) => {
      const reader = (this.readers[family.index] ??= new StoreReader(family.store, family.index))
      reader.openRow(row, rowLength, query, readPoint, moment, mode)
      return reader.scanner
    })
    const bounds = {
      start: only,
      startInclusive: true,
      stop: only,
      stopInclusive: true,
      reversed: false,
    }
    rowScanner.open(scanners, bounds, filter)
    if (rowScanner.nextRow(collector) === 'end') collector.startRow()
    return collector.take(false)
  }
}

/** A pool of row reads of a table state. */
export class RowReads {
  private readonly table: TableState
  private readonly clock: Clock
  private readonly free: RowRead[] = []

  constructor(table: TableState, clock: Clock) {
    this.table = table
    this.clock = clock
  }

  acquire(): RowRead {
    return this.free.pop() ?? new RowRead(this.table, this.clock)
  }

  /** Returns a read to the pool. REQUIRES one call per read. */
  release(read: RowRead): void {
    if (checksInvariants) assert(!this.free.includes(read), 'a read is given back once')
    read.release()
    if (this.free.length < 8) this.free.push(read)
  }
}
