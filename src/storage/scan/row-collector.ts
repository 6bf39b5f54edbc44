/**
 * Collects the cells of rows into memory that results own: of one row at a time (`take`), or of
 * several rows read ahead (`wantRows`, `endRow`, `takeRows`).
 *
 * Cells are copied, key and value together, into pages shared by many rows (row-page.ts). A row is
 * returned as a page plus four numbers per cell, or four for a plain row that was copied as a whole
 * (collected-row.ts). So a result needs no further copy and pins no block or memtable, only a page
 * and the numbers of the rows read with it.
 *
 * Cells that are close together in their block are copied in one go, also across rows, with the few
 * bytes between them. The copy is made when rows are taken or a cell is elsewhere.
 *
 * Ownership: a page belongs to the rows in it once they are taken; the collector only appends. The
 * memory of an added cell must not change until the row is taken or dropped.
 */
import { checkedValue, wrongAnswer } from '../filter/arguments.js'
import { assert } from '../../base/assert.js'
import { copyBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import { CellView } from '../cell/cell-view.js'
import { writeValueHeader } from '../cell/cell-value.js'
import type { Filter, RowCells } from '../filter/filter.js'
import type { RowTarget } from './cell-collector.js'
import { entryEndAt, entryStartOf } from '../sstable/rows/row-entries.js'
import type { RowWriter } from '../sstable/rows/row-writer.js'
import {
  cellByCell,
  isWhole,
  numbersPerCell,
  rowCellByCell,
  type CollectedRow,
  type CollectedRows,
} from './collected-row.js'
import { RowPage, wordBytes } from './row-page.js'

/**
 * Number of cells, a whole row counted as one, at which reading ahead stops, because results pin
 * the numbers of all rows read together.
 */
const cellsAheadMax = 256

export class RowCollector extends RowPage implements RowTarget, RowCells {
  full = false
  /** Number of rows that were ended and not taken yet. */
  rowCount = 0
  private pages: Buffer[] = []
  private ends: number[] = []
  private rowBytes: number[] = []
  private batch = -1
  private bytesMax = Infinity
  private families: readonly string[] = []
  private readonly view = new CellView()

  /**
   * Prepares for a scan. `batch` is the maximum number of cells per piece; negative: whole rows. A
   * piece also ends with the cell that reaches `bytesMax` bytes.
   */
  configure(families: readonly string[], batch: number, bytesMax = Infinity): void {
    this.families = families
    this.bytesMax = bytesMax
    this.reopen()
    this.dropRows()
    this.rowsMax = 0
    this.startRow()
    this.cutAt(batch)
  }

  /**
   * Releases the rest of the page for other collectors. `configure` must come before further use.
   */
  release(): void {
    this.dropRows()
    this.startRow()
    this.releasePage()
  }

  /** Changes the maximum number of cells per piece. */
  cutAt(batch: number): void {
    this.batch = batch
  }

  /** Drops the cells of the open row that were not taken. */
  startRow(): void {
    this.full = false
    this.hasWhole = false
    this.used = this.rowStart
    if (this.rowCount > 0) this.copyPending()
    this.source = emptyBytes
    this.gapBytes = 0
    if (this.cells.length > this.openCells) this.cells.length = this.openCells
  }

  get rowCells(): RowCells {
    return this
  }

  get count(): number {
    const { cells, openCells } = this
    const groups = (cells.length - openCells) / numbersPerCell
    if (!this.hasWhole) return groups
    let count = groups
    for (let at = openCells; at < cells.length; at += numbersPerCell) {
      if (isWhole(cells, at)) count += cells[at + 2] - 1
    }
    return count
  }

  /** Requests up to this number of rows, which are ended one by one and taken together. */
  wantRows(rowsMax: number): void {
    this.rowsMax = rowsMax
  }

  /** Whether another row is to follow the open one before the rows are taken. */
  get wantsRows(): boolean {
    const { rowCount, rowsMax } = this
    if (rowCount === 0) return rowsMax > 0
    if (rowCount >= rowsMax || this.cells.length > cellsAheadMax * numbersPerCell) return false
    return this.pages[0] === this.page
  }

  /** Ends the open row; the next cell starts another one. */
  endRow(): void {
    assert(this.cells.length > this.openCells, 'a row that is ended has cells')
    this.unify()
    this.pages.push(this.page)
    this.rowBytes.push(this.bytes)
    this.openCells = this.cells.length
    this.ends.push(this.openCells)
    this.rowCount++
    this.rowStart = this.used
    this.gapBytes = 0
    this.full = false
  }

  /** Returns the rows that were ended. An open row stays open. */
  takeRows(): CollectedRows {
    this.copyPending()
    const { rowCount: count, pages, cells, ends, rowBytes: bytes } = this
    const open = cells.length > this.openCells ? cells.slice(this.openCells) : []
    this.forgetRows(open)
    return { count, pages, cells, ends, bytes }
  }

  private dropRows(): void {
    if (this.rowCount > 0) this.forgetRows([])
  }

  private forgetRows(open: number[]): void {
    this.cells = open
    this.openCells = 0
    this.rowCount = 0
    this.pages = []
    this.ends = []
    this.rowBytes = []
  }

  /** Bytes of the cells not taken yet, without cells that a filter dropped afterwards. */
  get bytes(): number {
    return this.used - this.rowStart - this.gapBytes
  }

  add(cell: CellView, filter: Filter | undefined): void {
    const { buffer, keyStart, keyEnd } = cell
    const replaced = checkedValue(filter?.transformCell?.(cell))
    if (replaced === undefined && cell.isReference) {
      throw wrongAnswer('transformCell', 'a Buffer, as replacesValues says', replaced)
    }
    if (replaced !== undefined) this.addReplaced(cell, replaced)
    else if (cell.valueStart !== keyEnd) this.addParts(cell)
    else this.addRange(cell.familyIndex, buffer, keyStart, keyEnd, cell.valueEnd)
  }

  addRange(
    familyIndex: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void {
    this.used = this.placeOf(buffer, keyStart, valueEnd)
    this.sourceEnd = valueEnd
    this.push(familyIndex, keyEnd - keyStart, valueEnd - keyEnd)
  }

  get takesRows(): boolean {
    return this.batch <= 0 && this.bytesMax === Infinity
  }

  addRow(
    familyIndex: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
    end: number,
  ): boolean {
    if (!this.takesRows) return false
    const start = entryStartOf(keyStart, keyEnd, valueEnd)
    const { counter } = this
    if (!counter.read(buffer, start, end)) return false
    const place = this.placeOf(buffer, start, end)
    this.used = place + end - start
    this.sourceEnd = end
    this.pushWhole(familyIndex, place)
    return true
  }

  /**
   * Copies the adjacent entries of a row, `buffer[start, end)`, as they lie in their block. With a
   * limit of one cell only the first entry is copied.
   */
  addFoundRow(familyIndex: number, buffer: Buffer, start: number, end: number): void {
    assert(this.batch <= 1, 'a row that is added as a whole is not cut, or after one cell')
    this.copyPending()
    this.full = this.batch === 1
    const length = (this.full ? entryEndAt(buffer, start, end) : end) - start
    this.reserve(length + wordBytes - 1)
    this.align(start)
    const { used } = this
    copyBytes(buffer, start, start + length, this.page, used)
    this.used = used + length
    const isRow = this.counter.read(this.page, used, this.used)
    assert(isRow, 'a row ends with its last value')
    this.pushWhole(familyIndex, used)
  }

  /** Whether one cell of the row is enough. */
  get wantsOneCell(): boolean {
    return this.batch === 1
  }

  /** Whether rows are cut into pieces of some cells. */
  get cutsRows(): boolean {
    return this.batch > 0
  }

  /** Writes the cells from index `from` on, those of a family, as adjacent entries. */
  writeRow(from: number, writer: RowWriter): void {
    this.copyPending()
    this.openRows(from)
    writer.begin()
    const { cells, page } = this
    for (let at = from; at < cells.length; at += numbersPerCell) {
      writer.addCell(page, cells[at + 1], cells[at + 2], cells[at + 3])
    }
  }

  /** Whether the cells from index `from` on are those of a row. */
  hasCells(from: number, row: CollectedRow): boolean {
    const all = cellByCell(this.page, this.cells, from, this.cells.length)
    const own = all.cells
    const { page, cells } = rowCellByCell(row)
    if (own.length !== cells.length) return false
    for (let i = 1; i < own.length; i += numbersPerCell) {
      if (own[i + 1] - own[i] !== cells[i + 1] - cells[i]) return false
      if (!equalBytes(all.page, own[i], own[i + 2], page, cells[i], cells[i + 2])) return false
    }
    return true
  }

  /** Index behind the numbers of the cells. */
  get cellsEnd(): number {
    return this.cells.length
  }

  private addParts(cell: CellView): void {
    const keyBytes = cell.keyEnd - cell.keyStart
    const valueBytes = cell.valueEnd - cell.valueStart
    this.copyPending()
    this.reserve(keyBytes + valueBytes)
    cell.buffer.copy(this.page, this.used, cell.keyStart, cell.keyEnd)
    cell.buffer.copy(this.page, this.used + keyBytes, cell.valueStart, cell.valueEnd)
    this.push(cell.familyIndex, keyBytes, valueBytes)
  }

  private addReplaced(cell: CellView, content: Buffer): void {
    const keyBytes = cell.keyEnd - cell.keyStart
    this.copyPending()
    this.reserve(keyBytes + content.length + 1)
    cell.buffer.copy(this.page, this.used, cell.keyStart, cell.keyEnd)
    content.copy(this.page, writeValueHeader(this.page, this.used + keyBytes, 0))
    this.push(cell.familyIndex, keyBytes, content.length + 1)
  }

  private push(familyIndex: number, keyBytes: number, valueBytes: number): void {
    const keyStart = this.used
    const keyEnd = keyStart + keyBytes
    this.used = keyEnd + valueBytes
    this.cells.push(familyIndex, keyStart, keyEnd, this.used)
    if (this.batch > 0 && this.cells.length >= this.batch * numbersPerCell) this.full = true
    if (this.bytes >= this.bytesMax) this.full = true
  }

  /** Returns the collected cells and starts afresh. REQUIRES that no ended rows are pending. */
  take(partial: boolean): CollectedRow {
    assert(this.rowCount === 0, 'rows that were ended are taken together')
    this.copyPending()
    this.unify()
    const row = { page: this.page, cells: this.cells, partial }
    this.cells = []
    this.rowStart = this.used
    this.gapBytes = 0
    this.full = false
    return row
  }

  cell(index: number): CellView {
    this.copyPending()
    this.openRows(this.openCells)
    const at = index * numbersPerCell
    this.view.setCell(this.page, this.cells[at + 1], this.cells[at + 2], this.cells[at + 3])
    this.view.familyIndex = this.cells[at]
    this.view.family = this.families[this.cells[at]]
    return this.view
  }

  retain(keep: readonly boolean[]): void {
    this.openRows(this.openCells)
    const kept: number[] = []
    for (let i = 0; i < this.count; i++) {
      if (keep[i]) kept.push(...this.cells.slice(i * numbersPerCell, (i + 1) * numbersPerCell))
    }
    this.cells = kept
  }

  sortFamilies(): void {
    this.openRows(0)
    const groups: number[][] = []
    for (let at = 0; at < this.cells.length; at += numbersPerCell) {
      const group = (groups[this.cells[at]] ??= [])
      group.push(...this.cells.slice(at, at + numbersPerCell))
    }
    this.cells = groups.flat()
  }
}
