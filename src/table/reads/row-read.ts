/**
 * Reads one row: the core of get, exists and of every operation that reads before it writes.
 *
 * A `RowRead` is reusable and belongs to one table state; hot gets use the same one over and over
 * and so allocate nothing but the result. `step` may throw `BlockMissing` and is then called again.
 */
import { assert } from '../../base/assert.js'
import { emptyBytes } from '../../base/bytes.js'
import type { Moment } from '../../base/clock.js'
import { checksInvariants } from '../../base/invariants.js'
import { writeTerminator } from '../../cell/cell-key.js'
import type { TableState } from '../../engine/catalog.js'
import { RowCollector, type CollectedRow } from '../../scan/row-collector.js'
import { RowScanner } from '../../scan/row-scanner.js'
import { PlainRowReader } from '../../store/plain-row-reader.js'
import { StoreReader, type ReadMode } from '../../store/store-reader.js'
import type { PlainRead, ReadPlan } from './read-plan.js'

/** One row read; see the file header. */
export class RowRead {
  private readonly readers: (StoreReader | undefined)[] = []
  private readonly plainReaders: (PlainRowReader | undefined)[] = []
  private readonly collector = new RowCollector()
  private readonly rowScanner = new RowScanner()
  private plan!: ReadPlan
  private row: Buffer = emptyBytes
  private rowLength = 0
  private position = 0
  private positioned = false

  constructor(table: TableState) {
    this.collector.configure(table.familyNames, -1)
  }

  /**
   * Prepares to read `row[0, rowLength)` (escaped), which is borrowed until `release`; a terminator
   * is written behind it. Does no input or output. With `existenceOnly` the read may stop at the
   * first cell.
   */
  begin(
    plan: ReadPlan,
    row: Buffer,
    rowLength: number,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
    existenceOnly = false,
  ): void {
    this.plan = plan
    this.row = row
    this.rowLength = rowLength
    writeTerminator(row, rowLength)
    this.position = 0
    this.positioned = false
    this.collector.startRow()
    this.collector.cutAt(existenceOnly && plan.filter === undefined ? 1 : -1)
    const families = plan.families
    for (let i = 0; i < families.length; i++) {
      const { family, query } = families[i]
      const reader = (this.readers[family.index] ??= new StoreReader(family.store))
      reader.openRow(family.index, this.row, rowLength, query, readPoint, moment, mode)
    }
    if (plan.filter !== undefined) this.openFiltered(plan)
  }

  /**
   * Reads a row the short way (`plan.plain`), without `begin`; undefined if that is not possible.
   * The row is borrowed as by `begin`.
   */
  readPlain(
    plan: ReadPlan,
    plain: PlainRead,
    row: Buffer,
    rowLength: number,
    readPoint: number,
    mayBlock: boolean,
  ): CollectedRow | undefined {
    writeTerminator(row, rowLength)
    const { collector } = this
    collector.startRow()
    collector.cutAt(-1)
    const { families } = plan
    for (let i = 0; i < families.length; i++) {
      const { index, store } = families[i].family
      const reader = (this.plainReaders[index] ??= new PlainRowReader(store, index))
      if (!reader.read(row, rowLength, plain.qualifier, readPoint, mayBlock, collector)) {
        return undefined
      }
    }
    return collector.take(false)
  }

  /** Reads the row; an absent one has no cells. */
  step(): CollectedRow {
    if (this.plan.filter !== undefined) return this.stepFiltered()
    const families = this.plan.families
    while (this.position < families.length) {
      const reader = this.readers[families[this.position].family.index]!
      if (!this.positioned) reader.seekRow()
      this.positioned = true
      const complete = reader.scanner.readRow(this.row, this.rowLength, this.collector)
      // Only the first cell was wanted.
      if (!complete || this.collector.full) break
      this.positioned = false
      this.position++
    }
    return this.collector.take(false)
  }

  /** Drops what would keep outdated memtables and tables alive. */
  release(): void {
    this.row = emptyBytes
    const { readers } = this
    for (let i = 0; i < readers.length; i++) readers[i]?.release()
    const { plainReaders } = this
    for (let i = 0; i < plainReaders.length; i++) plainReaders[i]?.release()
  }

  private openFiltered(plan: ReadPlan): void {
    const row = Buffer.from(this.row.subarray(0, this.rowLength))
    const scanners = plan.families.map(({ family }) => this.readers[family.index]!.scanner)
    const bounds = {
      start: row,
      startInclusive: true,
      stop: row,
      stopInclusive: true,
      reversed: false,
    }
    this.rowScanner.open(scanners, bounds, plan.filter)
  }

  private stepFiltered(): CollectedRow {
    if (this.rowScanner.nextRow(this.collector) === 'end') this.collector.startRow()
    return this.collector.take(false)
  }
}

/** Free row reads of a table state. */
export class RowReads {
  private readonly table: TableState
  private readonly free: RowRead[] = []

  constructor(table: TableState) {
    this.table = table
  }

  acquire(): RowRead {
    return this.free.pop() ?? new RowRead(this.table)
  }

  /** Takes a read back; once. */
  release(read: RowRead): void {
    if (checksInvariants) assert(!this.free.includes(read), 'a read is given back once')
    read.release()
    if (this.free.length < 8) this.free.push(read)
  }
}
