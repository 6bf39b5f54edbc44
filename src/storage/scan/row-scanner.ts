/**
 * Reads rows over several families. Finds the next row among the stores' positions and consults the
 * filter at row level. Then each store adds its cells, families in order of their names.
 *
 * Resumability: as in store-scanner.ts; `nextRow` may throw `BlockMissing` and is then called
 * again. Reversed scans find the previous row with `seekBefore` and read it forward, so that
 * columns and versions keep their order.
 */
import { assert } from '../../base/assert.js'
import { copyBytes, emptyBytes } from '../../base/bytes.js'
import { terminatorBytes, unescape, writeBehind, writeTerminator } from '../cell/cell-key.js'
import { rowBytesMax } from '../cell/limits.js'
import { FilterBase } from '../filter/filter-base.js'
import type { Filter } from '../filter/filter.js'
import type { RowTarget } from './cell-collector.js'
import { isOutside, ReadStep } from './plain/plain-loop.js'
import type { StoreScanner } from './store-scanner.js'

/** Sorts after the keys of all rows. */
const behindAllRows = Buffer.alloc(rowBytesMax + 1, 0xff)

/** The range of a scan. Rows are escaped, without terminator; undefined: no bound on that side. */
export interface RowBounds {
  readonly start: Buffer | undefined
  readonly startInclusive: boolean
  readonly stop: Buffer | undefined
  readonly stopInclusive: boolean
  readonly reversed: boolean
}

const Phase = {
  seek: 0,
  pick: 1,
  align: 2,
  read: 3,
  skip: 4,
  previous: 5,
  ended: 6,
  join: 7,
  readJoined: 8,
} as const
type Phase = (typeof Phase)[keyof typeof Phase]

/** The outcome of {@link RowScanner.nextRow}. */
export type RowOutcome = 'row' | 'rows' | 'piece' | 'end' | 'pause'

export class RowScanner {
  private scanners: readonly StoreScanner[] = []
  /** Families that are read only for rows that pass the filter. */
  private joined: readonly StoreScanner[] = []
  private bounds!: RowBounds
  private filter: Filter | undefined = undefined
  /** Whether the filter looks at rows; to show each row to another filter would cost a Buffer. */
  private showsRow = false
  private phase: Phase = Phase.seek
  private family = 0
  /** One family, no filter, no limit: the fast path over rows applies. */
  private readsAhead = false
  /** Value of `rowsScanned` at which the current call pauses; negative between calls. */
  private pauseAt = -1
  private row: Buffer = Buffer.allocUnsafe(64)
  private rowLength = 0
  private key: Buffer = Buffer.allocUnsafe(64)
  /** Number of rows read, whether or not they passed (scan metrics). */
  rowsScanned = 0
  /** Number of rows dropped by the filter. */
  rowsFiltered = 0
  /** Called for each row that was read without a result; false ends the scan. */
  onRowFiltered: ((row: Buffer) => boolean) | undefined = undefined

  /**
   * Takes opened store scanners, ordered by family name. Those of `joined` are read only for rows
   * that pass the filter by the cells of the others.
   */
  open(
    scanners: readonly StoreScanner[],
    bounds: RowBounds,
    filter: Filter | undefined,
    joined: readonly StoreScanner[] = [],
  ): void {
    assert(joined.length === 0 || filter !== undefined, 'a filter decides which rows are joined')
    this.scanners = scanners
    this.joined = joined
    this.bounds = bounds
    this.filter = filter
    this.showsRow = filter?.filterRowKey !== FilterBase.prototype.filterRowKey
    this.phase = Phase.seek
    this.rowsScanned = 0
    this.rowsFiltered = 0
    this.pauseAt = -1
    const isSingle = scanners.length === 1 && filter === undefined
    this.readsAhead = isSingle && scanners[0].mayReadRows(bounds.reversed)
    this.onRowFiltered = undefined
    filter?.setReversed?.(bounds.reversed)
  }

  /** The row read last, unescaped; undefined before the first row. */
  get lastRow(): Buffer | undefined {
    return this.rowsScanned === 0 ? undefined : unescape(this.row, 0, this.rowLength)
  }

  /**
   * Fills the collector with the next row, or with its next piece if the collector is full. Returns
   * 'row' (complete), 'piece' (more of the row follows), 'end', or 'pause'. A pause comes after
   * `rowsMax` rows without a result, so that the caller can yield to the event loop. If the
   * collector wants several rows, the outcome may also be 'rows': the wanted number of rows is
   * ended there. With any other outcome, and if the call throws, some rows may have been ended too.
   */
  nextRow(collector: RowTarget, rowsMax = Infinity): RowOutcome {
    // A call repeated for a missing block continues the count.
    if (this.pauseAt < 0) this.pauseAt = this.rowsScanned + rowsMax
    const outcome = this.step(collector)
    this.pauseAt = -1
    return outcome
  }

  private step(collector: RowTarget): RowOutcome {
    const { pauseAt } = this
    for (;;) {
      switch (this.phase) {
        case Phase.seek:
          this.seekStart()
          this.phase = Phase.pick
          break
        case Phase.pick:
          if (!this.readsAhead || !collector.wantsRows) this.pickRow(collector)
          else if (this.readRows(this.scanners[0], collector)) return 'rows'
          break
        case Phase.align:
          this.align(this.scanners)
          this.phase = Phase.read
          break
        case Phase.read:
          if (!this.readFamilies(this.scanners, collector)) return 'piece'
          if (this.finishRow(collector)) return 'row'
          if (this.rowsScanned >= pauseAt) return 'pause'
          break
        case Phase.join:
          this.align(this.joined)
          this.family = 0
          this.phase = Phase.readJoined
          break
        case Phase.readJoined:
          if (!this.readFamilies(this.joined, collector)) {
            collector.sortFamilies()
            return 'piece'
          }
          collector.sortFamilies()
          this.phase = this.bounds.reversed ? Phase.previous : Phase.pick
          if (collector.count > 0) return 'row'
          break
        case Phase.skip:
          this.skipFamilies()
          this.phase = Phase.pick
          if (this.rowsScanned >= pauseAt) return 'pause'
          break
        case Phase.previous:
          this.seekPrevious()
          this.phase = Phase.pick
          break
        case Phase.ended:
          return 'end'
      }
    }
  }

  private seekStart(): void {
    const { start, startInclusive, reversed } = this.bounds
    if (start === undefined) {
      if (reversed) this.seekAllBefore(behindAllRows, behindAllRows.length)
      else for (const scanner of this.scanners) scanner.seek(this.key, 0)
      return
    }
    const key = this.keyBuffer(start.length + 2)
    copyBytes(start, 0, start.length, key, 0)
    // A reversed scan starts below the key, so "inclusive" means after the row.
    const behind = reversed === startInclusive
    const length = behind ? writeBehind(key, start.length) : writeTerminator(key, start.length)
    if (reversed) this.seekAllBefore(key, length)
    else for (const scanner of this.scanners) scanner.seek(key, length)
  }

  private seekAllBefore(key: Buffer, length: number): void {
    for (const scanner of this.scanners) scanner.seekBefore(key, length)
  }

  private seekPrevious(): void {
    const length = this.setRowKey()
    this.seekAllBefore(this.key, length)
  }

  private align(scanners: readonly StoreScanner[]): void {
    const length = this.setRowKey()
    for (const scanner of scanners) scanner.seek(this.key, length)
  }

  /** Sets the key to the row with its terminator; returns its length. */
  private setRowKey(): number {
    const key = this.keyBuffer(this.rowLength + terminatorBytes)
    copyBytes(this.row, 0, this.rowLength, key, 0)
    return writeTerminator(key, this.rowLength)
  }

  /**
   * Reads rows ahead; true if the collector wants no more rows. Otherwise the phase has changed.
   */
  private readRows(scanner: StoreScanner, collector: RowTarget): boolean {
    const { bounds } = this
    const { position } = scanner
    if (scanner.atCell) {
      try {
        if (scanner.readRows(bounds, collector) === ReadStep.enough) return true
      } finally {
        this.rowsScanned += position.rows
        if (position.inRow) {
          this.family = 0
          this.phase = bounds.reversed ? Phase.align : Phase.read
          this.setRow(position.buffer, position.rowStart, position.rowEnd)
        }
      }
      if (position.inRow) return false
    }
    this.pickRow(collector)
    return false
  }

  private setRow(buffer: Buffer, start: number, end: number): void {
    this.rowLength = end - start
    if (this.row.length < this.rowLength) this.row = Buffer.allocUnsafe(2 * this.rowLength)
    copyBytes(buffer, start, end, this.row, 0)
  }

  /** Chooses the next row and decides whether the row is read or skipped, or the scan ends. */
  private pickRow(collector: RowTarget): void {
    const reversed = this.bounds.reversed
    if (this.filter?.filterAllRemaining()) {
      this.phase = Phase.ended
      return
    }
    let best: StoreScanner | undefined
    for (const scanner of this.scanners) {
      if (!scanner.atCell) continue
      if (best === undefined) best = scanner
      else if (reversed ? scanner.compareRow(best) > 0 : scanner.compareRow(best) < 0)
        best = scanner
    }
    if (best === undefined) {
      this.phase = Phase.ended
      return
    }
    const { cell } = best
    this.setRow(cell.buffer, cell.keyStart, cell.rowEnd)
    if (isOutside(this.row, 0, this.rowLength, this.bounds)) {
      this.phase = Phase.ended
      return
    }
    this.rowsScanned++
    this.family = 0
    collector.startRow()
    const filter = this.filter
    if (filter !== undefined) {
      filter.reset()
      const row = this.showsRow ? unescape(this.row, 0, this.rowLength) : emptyBytes
      if (filter.filterRowKey(row)) {
        this.phase = reversed ? Phase.previous : Phase.skip
        this.dropRow()
        return
      }
    }
    this.phase = reversed ? Phase.align : Phase.read
  }

  /** False if the collector is full. */
  private readFamilies(scanners: readonly StoreScanner[], collector: RowTarget): boolean {
    while (this.family < scanners.length) {
      const scanner = scanners[this.family]
      if (!scanner.readRow(this.row, this.rowLength, collector)) return false
      if (scanner.ended) break
      this.family++
    }
    return true
  }

  private skipFamilies(): void {
    while (this.family < this.scanners.length) {
      this.scanners[this.family].skipRow(this.row, this.rowLength)
      this.family++
    }
  }

  /** Ends the row; true if it has cells that pass the filter. */
  private finishRow(collector: RowTarget): boolean {
    assert(this.phase === Phase.read, 'a row that is read is finished')
    const ended = this.family < this.scanners.length
    this.phase = ended ? Phase.ended : this.bounds.reversed ? Phase.previous : Phase.pick
    const filter = this.filter
    if (collector.count === 0) {
      this.dropRow()
      return false
    }
    if (filter === undefined) return true
    filter.filterRowCells?.(collector.rowCells!)
    // Filters that drop cells of a single family do so for the essential families only.
    const passes = (collector.count > 0 || this.joined.length > 0) && !filter.filterRow()
    if (passes && this.joined.length > 0 && !ended) {
      this.phase = Phase.join
      return false
    }
    if (passes && collector.count > 0) return true
    collector.startRow()
    this.dropRow()
    return false
  }

  /** Counts the current row as one without a result. REQUIRES that the next phase is set. */
  private dropRow(): void {
    if (this.filter !== undefined) this.rowsFiltered++
    if (this.onRowFiltered === undefined) return
    if (!this.onRowFiltered(unescape(this.row, 0, this.rowLength))) this.phase = Phase.ended
  }

  private keyBuffer(bytes: number): Buffer {
    if (this.key.length < bytes) this.key = Buffer.allocUnsafe(2 * bytes)
    return this.key
  }
}
