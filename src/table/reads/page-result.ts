/**
 * The result of the embedded engine: encoded cells in a page, decoded on request. Cells as objects
 * also decode their members on request. Whole cells are read entry by entry, from the cell found
 * last on, where the next column that is asked for usually follows. A row of many cells gets
 * numbers when one of them is not found soon.
 *
 * Ownership: a result pins one page of memory (16 KiB, or 64 in a long scan, shared with
 * neighbours), and the numbers of the rows read with it. The Buffers that it returns are views of
 * the page.
 */
import type { CellarError } from '../../base/errors.js'
import { readVarint, varintLength } from '../../base/varint.js'
import { equalBytes, isShortAscii, viewBytes, type ByteRange } from '../../base/bytes.js'
import { decodeRange, encodings, type Encoding } from '../../api/results/encodings.js'
import { Result, type Cell } from '../../api/results/result.js'
import {
  keySuffixBytes,
  qualifierEndOf,
  rowEndOf,
  terminatorBytes,
} from '../../storage/cell/cell-key.js'
import { contentStart } from '../../storage/cell/cell-value.js'
import { noQualifier, parseColumn, type ColumnName } from '../../storage/cell/column-name.js'
import {
  cellByCell,
  cellCount,
  emptyRow,
  wholeFamilyIndex,
  isWhole,
  numbersPerCell,
  type CollectedRow,
} from '../../storage/scan/collected-row.js'
import { keyStartAt } from '../../storage/sstable/rows/row-entries.js'
import { RowWalk } from '../../storage/sstable/rows/row-walk.js'
import { firstCellOf, hasQualifier, parseAt } from './cell-search.js'
import { CellPlace, decodeBytes, PageCell } from './page-cell.js'

/** Number of whole cells that are passed for one column before they get numbers. */
const walkedMax = 32

/** In place of an index: there is no such cell, or it was not found soon. */
const absent = -1
const unknown = -2

/** The cell found last by any result; used at once. */
const place = new CellPlace()
const walk = new RowWalk()

const noMarks = {}

/** Texts may share a decoded row of this length: one that is kept alone keeps the row's text. */
const sharedTextMax = 256

/** The cells of one row or of a piece of it; may be empty. */
export class PageResult extends Result {
  #page: Buffer
  /** The numbers of this row's cells, {@link #from} to {@link #end}, and those of other rows. */
  #cells: readonly number[]
  #from: number
  #end: number
  /**
   * Index in the numbers of the cell after the one found last; -1: the cells may be in any order.
   * Of whole cells, of those that hold that cell.
   */
  #next: number
  /** If the cells are whole, the offset of the entry after the one found last; otherwise -1. */
  #entry: number
  /** Number of whole cells passed, which is where the next name is remembered. */
  #passed = 0
  /** The name of the cell before {@link #next}, if it was requested as text. */
  #foundName: string | undefined = undefined
  /** The bytes from the first value of the row to its end as Latin-1; see {@link #textAt}. */
  #text: string | undefined = undefined

  declare protected readonly families: readonly string[]

  /** @internal Made by the table layer. The row's cells are `row.cells[from, end)`. */
  constructor(
    row: CollectedRow,
    families: readonly string[],
    marks: { readonly exists?: boolean; readonly cursor?: Buffer } = noMarks,
    from = 0,
    end = row.cells.length,
  ) {
    super(row.partial, marks.exists, marks.cursor, families)
    this.#page = row.page
    this.#cells = row.cells
    this.#from = from
    this.#end = end
    this.#next = from
    this.#entry = -1
    if (from < end && isWhole(row.cells, from)) this.#entry = row.cells[from + 1]
  }

  /** @internal The result of a mutation: cells in the order of its operations. */
  static written(
    row: CollectedRow,
    families: readonly string[],
    marks: { readonly exists?: boolean } | undefined,
  ): PageResult {
    const result = new PageResult(row, families, marks)
    result.#next = -1
    return result
  }

  /** @internal A result without cells, which gives the position of a scan. */
  static ofCursor(row: Buffer, families: readonly string[]): PageResult {
    return new PageResult(emptyRow, families, { cursor: row })
  }

  override get size(): number {
    return cellCount(this.#cells, this.#from, this.#end)
  }

  override get isEmpty(): boolean {
    return this.#end === this.#from
  }

  override get row(): Buffer | undefined {
    if (this.isEmpty) return undefined
    const { source, start, end } = this.escapedRow()
    return decodeBytes(source, start, end)
  }

  protected override storedValue(column: ColumnName): Buffer | undefined {
    if (this.#find(column) < 0) return undefined
    return viewBytes(this.#page, contentStart(this.#page, place.valueStart), place.valueEnd)
  }

  /** @internal */
  override escapedRow(): ByteRange {
    const source = this.#page
    if (this.isEmpty) return { source, start: 0, end: 0 }
    const keyEnd = this.#firstKeyEnd()
    const first = this.#cells[this.#from + 1]
    const start = this.#entry < 0 ? first : keyStartAt(source, first)
    return { source, start, end: rowEndOf(source, start, keyEnd) }
  }

  /** End of the key of the first cell. REQUIRES not empty. */
  #firstKeyEnd(): number {
    const cells = this.#cells
    const from = this.#from
    if (this.#entry < 0) return cells[from + 2]
    const page = this.#page
    const start = cells[from + 1]
    return keyStartAt(page, start) + readVarint(page, start, cells[from + 3])
  }

  /** @internal */
  override valueRange(column: ColumnName): ByteRange | undefined {
    if (this.#find(column) < 0) return undefined
    const source = this.#page
    return { source, start: contentStart(source, place.valueStart), end: place.valueEnd }
  }

  /** @internal */
  override decoded<T>(
    column: ColumnName,
    encoding: Encoding<T>,
    where: string,
    name?: unknown,
  ): T | undefined {
    if (this.#find(column) < 0) return undefined
    const page = this.#page
    const { valueStart, valueEnd: end } = place
    const start = contentStart(page, valueStart)
    if ((encoding as unknown) === encodings.utf8 && isShortAscii(page, start, end)) {
      return this.#textAt(start, end) as T
    }
    return decodeRange(encoding, page, start, end, where, name)
  }

  /**
   * A value of ASCII. A short row is decoded once and its values are parts of that text, because a
   * native call costs more than such a row has bytes.
   */
  #textAt(start: number, end: number): string {
    const cells = this.#cells
    const first = this.#firstKeyEnd()
    const last = cells[this.#end - 1]
    if (last - first > sharedTextMax || start < first || end > last) {
      return this.#page.toString('latin1', start, end)
    }
    this.#text ??= this.#page.toString('latin1', first, last)
    return this.#text.slice(start - first, end - first)
  }

  override cell(column: ColumnName): Cell | undefined {
    const at = this.#find(column)
    if (at < 0) return undefined
    if (this.#entry >= 0) this.#completePlace(at)
    return new PageCell(this.#page, this.families[this.#familyOf(at)], place)
  }

  override has(column: ColumnName): boolean {
    const { family, escapedQualifier } = parseColumn(column)
    const isFamily = escapedQualifier === undefined
    return (isFamily ? this.#findFamily(family) : this.#find(column)) >= 0
  }

  override cells(): Cell[] {
    const cells: Cell[] = []
    const isWalked = this.#entry >= 0
    for (let at = this.#from; at < this.#end; at += numbersPerCell) {
      if (isWalked) this.#addCells(at, cells)
      else cells.push(this.#cellAt(at))
    }
    return cells
  }

  override columnCells(column: ColumnName): Cell[] {
    const { family, escapedQualifier } = parseColumn(column)
    // Whole cells are one of each column.
    if (this.#entry >= 0 && escapedQualifier !== undefined) {
      const cell = this.cell(column)
      return cell === undefined ? [] : [cell]
    }
    this.#openCells()
    const cells: Cell[] = []
    let at = escapedQualifier === undefined ? this.#findFamily(family) : this.#locate(column)
    for (; at >= 0 && at < this.#end; at += numbersPerCell) {
      if (this.#matches(at, family, escapedQualifier)) cells.push(this.#cellAt(at))
      else if (this.#next >= 0) break
    }
    return cells
  }

  /** Appends the whole cells with numbers at an index. */
  #addCells(at: number, cells: Cell[]): void {
    const numbers = this.#cells
    const page = this.#page
    const family = this.families[wholeFamilyIndex(numbers, at)]
    let isAtCell = walk.begin(page, numbers[at + 1], numbers[at + 3])
    place.rowStart = walk.keyStart
    place.rowEnd = walk.keyStart + walk.rowBytes - terminatorBytes
    while (isAtCell) {
      place.columnStart = walk.columnStart
      place.columnEnd = walk.columnEnd
      place.suffixEnd = walk.suffixEnd
      place.valueStart = walk.valueStart
      place.valueEnd = walk.valueEnd
      cells.push(new PageCell(page, family, place))
      isAtCell = walk.next()
    }
  }

  /** Index of the family of the cell, or the whole cells, with numbers at an index. */
  #familyOf(at: number): number {
    const cells = this.#cells
    return isWhole(cells, at) ? wholeFamilyIndex(cells, at) : cells[at]
  }

  /**
   * Finds a column, and moves past its cell: {@link place} says where that lies. Returns the index
   * of its numbers, or of those of the whole cells that hold it; negative: there is none.
   */
  #find(column: ColumnName): number {
    if (this.#entry >= 0) {
      const walked = this.#walkTo(column)
      if (walked !== unknown) return walked
    }
    this.#openCells()
    const at = this.#locate(column)
    if (at < 0) return absent
    place.setCell(this.#page, this.#cells[at + 1], this.#cells[at + 2], this.#cells[at + 3])
    if (this.#next < 0) return at
    this.#next = at + numbersPerCell
    this.#foundName = typeof column === 'string' ? column : undefined
    return at
  }

  /**
   * As `#find` among whole cells, from the cell found last on; {@link place} then has the
   * column, the value, and the end of a suffix of its own, or 0. May return {@link unknown}.
   */
  #walkTo(column: ColumnName): number {
    const cells = this.#cells
    const from = this.#from
    let passed = this.#passed
    const { family, escapedQualifier } = parseAt(column, passed)
    if (escapedQualifier === undefined) return unknown
    const page = this.#page
    const families = this.families
    const begun = this.#next
    let next = begun
    let entry = this.#entry
    let first = cells[next + 1]
    let end = families[wholeFamilyIndex(cells, next)] === family ? cells[next + 3] : entry
    let hasWrapped = false
    for (let left = walkedMax; left > 0; left--) {
      while (entry === end) {
        if (hasWrapped && next === begun) return this.#absent(family)
        next += numbersPerCell
        if (next === this.#end) {
          next = from
          passed = 0
          hasWrapped = true
        }
        first = cells[next + 1]
        entry = first
        end = families[wholeFamilyIndex(cells, next)] === family ? cells[next + 3] : entry
      }
      let start = entry + 2
      let head = page[entry]
      let valueLength = page[entry + 1]
      if ((head | valueLength) >= 0x80) {
        head = readVarint(page, entry, end)
        start = entry + varintLength(head)
        valueLength = readVarint(page, start, end)
        start += varintLength(valueLength)
      }
      // A row entry begins with its whole key, a column entry with the qualifier.
      let valueStart = start + head
      let stop = qualifierEndOf(valueStart)
      let suffixEnd = valueStart
      if (entry === first) start = rowEndOf(page, start, valueStart) + terminatorBytes
      else {
        stop = start + (head >>> 1)
        valueStart = stop + (head & 1) * keySuffixBytes
        suffixEnd = valueStart === stop ? 0 : valueStart
      }
      entry = valueStart + valueLength
      passed++
      if (!equalBytes(page, start, stop, escapedQualifier, 0, escapedQualifier.length)) continue
      place.columnStart = start
      place.columnEnd = stop
      place.suffixEnd = suffixEnd
      place.valueStart = valueStart
      place.valueEnd = entry
      this.#next = next
      this.#entry = entry
      this.#passed = passed
      return next
    }
    return unknown
  }

  #absent(family: string): number {
    this.checkFamily(family)
    return absent
  }

  /** Adds the row, and the suffix if that is shared, to the {@link place} found by a walk. */
  #completePlace(at: number): void {
    const cells = this.#cells
    walk.begin(this.#page, cells[at + 1], cells[at + 3])
    place.rowStart = walk.keyStart
    place.rowEnd = walk.keyStart + walk.rowBytes - terminatorBytes
    if (place.suffixEnd === 0) place.suffixEnd = walk.keyEnd
  }

  /** Gives each cell of a whole row numbers of its own. */
  #openCells(): void {
    if (this.#entry < 0) return
    const { page, cells } = cellByCell(this.#page, this.#cells, this.#from, this.#end)
    this.#page = page
    this.#text = undefined
    this.#cells = cells
    this.#next = 0
    this.#from = 0
    this.#end = cells.length
    this.#entry = -1
  }

  /** Index of the cell of a column; -1: there is none. REQUIRES cells with numbers. */
  #locate(column: ColumnName): number {
    const next = this.#next
    const from = this.#from
    const end = this.#end
    const { family, escapedQualifier } = parseAt(column, (next - from) / numbersPerCell)
    if (escapedQualifier === undefined) throw this.#noQualifier(family)
    // Columns are usually requested in their order.
    if (next >= 0 && next < end && this.#inColumn(next, family, escapedQualifier)) {
      // Different names mean different columns; with the same name the cell may be an older
      // version.
      const found = this.#foundName
      const isFirst =
        next === from ||
        (found !== undefined && typeof column === 'string' && found !== column) ||
        !this.#inColumn(next - numbersPerCell, family, escapedQualifier)
      if (isFirst) return next
    }
    let at = from
    if (next >= 0) {
      const familyIndex = this.families.indexOf(family)
      at = firstCellOf(this.#page, this.#cells, from, end, familyIndex, escapedQualifier)
    } else while (at < end && !this.#inColumn(at, family, escapedQualifier)) at += numbersPerCell
    if (at < end && this.#inColumn(at, family, escapedQualifier)) return at
    this.checkFamily(family)
    return -1
  }

  #noQualifier(family: string): CellarError {
    this.checkFamily(family, true)
    return noQualifier(family)
  }

  #inColumn(at: number, family: string, escapedQualifier: Buffer): boolean {
    const cells = this.#cells
    if (this.families[cells[at]] !== family) return false
    return hasQualifier(this.#page, cells, at, escapedQualifier)
  }

  #findFamily(family: string): number {
    for (let at = this.#from; at < this.#end; at += numbersPerCell) {
      if (this.families[this.#familyOf(at)] === family) return at
    }
    this.checkFamily(family)
    return -1
  }

  #matches(at: number, family: string, escapedQualifier: Buffer | undefined): boolean {
    if (escapedQualifier !== undefined) return this.#inColumn(at, family, escapedQualifier)
    return this.families[this.#cells[at]] === family
  }

  #cellAt(at: number): Cell {
    const cells = this.#cells
    place.setCell(this.#page, cells[at + 1], cells[at + 2], cells[at + 3])
    return new PageCell(this.#page, this.families[cells[at]], place)
  }
}
