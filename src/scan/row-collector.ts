/**
 * Collects the cells of one row at a time into memory that results keep.
 *
 * Cells are copied, key and value together, into pages that many rows share; a row is handed out as
 * a page plus four numbers per cell. So a result costs one small array and no copy of its own, and
 * it never keeps a block or a memtable alive: at most a page.
 *
 * Ownership: a page belongs to the rows in it once they are taken; the collector only appends.
 */
import { emptyBytes } from '../base/bytes.js'
import { CellView } from '../cell/cell-view.js'
import { writeValueHeader } from '../cell/cell-value.js'
import { emptyCursor, type EntryCursor } from './entry-cursor.js'
import type { Filter, RowCells } from '../filter/filter.js'
import type { CellCollector } from './cell-collector.js'

/** Size of a page; a row that does not fit gets a page of its own. */
const pageBytes = 16 * 1024

/** Numbers per cell in {@link CollectedRow.cells}: family index, key start, key end, value end. */
export const numbersPerCell = 4

/** The cells of a row (or of a piece of a row). */
export interface CollectedRow {
  readonly page: Buffer
  /**
   * {@link numbersPerCell} numbers a cell: family index, key start, key end (= value start), value
   * end.
   */
  readonly cells: readonly number[]
  /** More cells of the same row follow in the next piece. */
  readonly partial: boolean
}

export class RowCollector implements CellCollector, RowCells {
  full = false
  private page: Buffer = emptyBytes
  private used = 0
  private rowStart = 0
  private cells: number[] = []
  private batch = -1
  private bytesMax = Infinity
  private families: readonly string[] = []
  private readonly view = new CellView()
  private readonly entry: EntryCursor = emptyCursor()

  /**
   * Prepares for a scan. `batch` is the most cells in a piece, negative = whole rows; a piece also
   * ends with the cell that brings it to `bytesMax` bytes.
   */
  configure(families: readonly string[], batch: number, bytesMax = Infinity): void {
    this.families = families
    this.bytesMax = bytesMax
    this.startRow()
    this.cutAt(batch)
  }

  /** Changes how many cells a piece has at most. */
  cutAt(batch: number): void {
    this.batch = batch
  }

  /** Forgets cells that were not taken. */
  startRow(): void {
    this.full = false
    this.used = this.rowStart
    if (this.cells.length > 0) this.cells = []
  }

  get count(): number {
    return this.cells.length / numbersPerCell
  }

  /** Bytes of the cells not taken yet, without what a filter has dropped behind them. */
  get bytes(): number {
    return this.used - this.rowStart
  }

  add(cell: CellView, filter: Filter | undefined): void {
    const replaced = filter?.transformCell?.(cell)
    const keyBytes = cell.keyEnd - cell.keyStart
    const valueBytes =
      replaced === undefined ? cell.valueEnd - cell.valueStart : replaced.length + 1
    if (this.used + keyBytes + valueBytes > this.page.length) this.startPage(keyBytes + valueBytes)
    const page = this.page
    const keyStart = this.used
    const keyEnd = keyStart + keyBytes
    if (replaced === undefined) {
      // Key and value usually lie side by side in a block or an arena: one copy then.
      if (cell.valueStart === cell.keyEnd) {
        cell.buffer.copy(page, keyStart, cell.keyStart, cell.valueEnd)
      } else {
        cell.buffer.copy(page, keyStart, cell.keyStart, cell.keyEnd)
        cell.buffer.copy(page, keyEnd, cell.valueStart, cell.valueEnd)
      }
    } else {
      cell.buffer.copy(page, keyStart, cell.keyStart, cell.keyEnd)
      replaced.copy(page, writeValueHeader(page, keyEnd, 0))
    }
    this.used = keyEnd + valueBytes
    this.cells.push(cell.familyIndex, keyStart, keyEnd, this.used)
    if (this.batch > 0 && this.cells.length >= this.batch * numbersPerCell) this.full = true
    if (this.used - this.rowStart >= this.bytesMax) this.full = true
  }

  /** Hands out the collected cells and starts afresh. */
  take(partial: boolean): CollectedRow {
    const row = { page: this.page, cells: this.cells, partial }
    this.cells = []
    this.rowStart = this.used
    this.full = false
    return row
  }

  cell(index: number): CellView {
    const at = index * numbersPerCell
    const entry = this.entry
    entry.buffer = this.page
    entry.keyStart = this.cells[at + 1]
    entry.keyEnd = this.cells[at + 2]
    entry.valueStart = entry.keyEnd
    entry.valueEnd = this.cells[at + 3]
    this.view.set(entry)
    this.view.familyIndex = this.cells[at]
    this.view.family = this.families[this.cells[at]]
    return this.view
  }

  retain(keep: readonly boolean[]): void {
    const kept: number[] = []
    for (let i = 0; i < this.count; i++) {
      if (keep[i]) kept.push(...this.cells.slice(i * numbersPerCell, (i + 1) * numbersPerCell))
    }
    this.cells = kept
  }

  /** Puts the families into their order; cells of one family stay as they are. */
  sortFamilies(): void {
    const groups: number[][] = []
    for (let at = 0; at < this.cells.length; at += numbersPerCell) {
      const group = (groups[this.cells[at]] ??= [])
      group.push(...this.cells.slice(at, at + numbersPerCell))
    }
    this.cells = groups.flat()
  }

  /** Moves the row begun on the old page to a new one, so that a row never spans pages. */
  private startPage(bytes: number): void {
    const begun = this.used - this.rowStart
    const size = Math.max(pageBytes, 2 * (begun + bytes))
    const page = Buffer.allocUnsafeSlow(size > pageBytes && begun === 0 ? bytes : size)
    this.page.copy(page, 0, this.rowStart, this.used)
    const cells = this.cells
    for (let i = 0; i < cells.length; i += numbersPerCell) {
      cells[i + 1] -= this.rowStart
      cells[i + 2] -= this.rowStart
      cells[i + 3] -= this.rowStart
    }
    this.page = page
    this.rowStart = 0
    this.used = begun
  }
}
