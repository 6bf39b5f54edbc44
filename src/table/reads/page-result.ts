/**
 * The result of the embedded engine: encoded cells in a page, decoded on request. Cells as objects
 * also decode their members on request. A row that was copied as a whole is read entry by entry;
 * its cells get numbers when a call needs more than values one after the other.
 *
 * Ownership: a result pins one page of memory (16 KiB, or 64 in a long scan, shared with
 * neighbours), and the numbers of the rows read with it. The Buffers that it returns are views of
 * the page.
 */
import type { CellarError } from '../../base/errors.js'
import { readVarint, varintLength } from '../../base/varint.js'
import {
  compareBytes,
  equalBytes,
  isShortAscii,
  viewBytes,
  type ByteRange,
} from '../../base/bytes.js'
import { decodeRange, encodings, type Encoding } from '../../api/results/encodings.js'
import { Result, type Cell } from '../../api/results/result.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import { contentStart } from '../../storage/cell/cell-value.js'
import {
  noQualifier,
  parseColumn,
  type ColumnName,
  type ParsedColumn,
} from '../../storage/cell/column-name.js'
import {
  cellByCell,
  cellCount,
  emptyRow,
  wholeFamilyIndex,
  isWhole,
  numbersPerCell,
  type CollectedRow,
} from '../../storage/scan/collected-row.js'
import { keyStartAt } from '../../storage/sstable/blocks/row-entries.js'
import { decodeBytes, PageCell } from './page-cell.js'

/**
 * Column names last requested as text, by the index of their cell. Results are usually asked for
 * the same columns again, and a comparison is faster than parsing.
 */
const askedMax = 64
const askedNames = Array<string>(askedMax).fill('')
const askedColumns = Array<ParsedColumn>(askedMax).fill(parseColumn(''))

/** As `parseColumn`, for the cell at an index. */
function parseAt(column: ColumnName, position: number): ParsedColumn {
  if (typeof column !== 'string' || position < 0 || position >= askedMax) return parseColumn(column)
  if (askedNames[position] === column) return askedColumns[position]
  const parsed = parseColumn(column)
  askedNames[position] = column
  askedColumns[position] = parsed
  return parsed
}

/** Number of cells of a whole row that are passed for one column before they get numbers. */
const walkedMax = 32

const noMarks = {}

/** Texts may share a decoded row of this length: one that is kept alone keeps the row's text. */
const sharedTextMax = 256

/** The cells of one row or of a piece of it; may be empty. */
export class PageResult extends Result {
  readonly #page: Buffer
  /** The numbers of this row's cells, {@link #from} to {@link #end}, and those of other rows. */
  #cells: readonly number[]
  #from: number
  #end: number
  /**
   * Index of the cell after the one found last, as if each cell had numbers of its own; -1: the
   * cells may be in any order.
   */
  #next: number
  /** If the row is whole, the offset of the entry of cell {@link #next}; otherwise -1. */
  #entry: number
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
    if (from === end || !isWhole(row.cells, from)) return
    this.#entry = row.cells[from + 1]
    if (end - from > numbersPerCell) this.#openCells()
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
    const valueStart = this.#passCell(column)
    if (valueStart > 0) {
      return viewBytes(this.#page, contentStart(this.#page, valueStart), this.#entry)
    }
    const at = this.#find(column)
    return at < 0 ? undefined : this.#valueAt(at)
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
    // An index looks at the row before its caller does, who begins with the first column.
    const at = this.#locate(column)
    if (at < 0) return undefined
    const source = this.#page
    return { source, start: contentStart(source, this.#cells[at + 2]), end: this.#cells[at + 3] }
  }

  /** @internal */
  override decoded<T>(
    column: ColumnName,
    encoding: Encoding<T>,
    where: string,
    name?: unknown,
  ): T | undefined {
    const page = this.#page
    let valueStart = this.#passCell(column)
    let end = this.#entry
    if (valueStart === 0) {
      const at = this.#find(column)
      if (at < 0) return undefined
      valueStart = this.#cells[at + 2]
      end = this.#cells[at + 3]
    }
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
    return at < 0 ? undefined : this.#cellAt(at)
  }

  override has(column: ColumnName): boolean {
    return this.#findFirst(column) >= 0
  }

  override cells(): Cell[] {
    this.#openCells()
    const cells: Cell[] = []
    for (let at = this.#from; at < this.#end; at += numbersPerCell) cells.push(this.#cellAt(at))
    return cells
  }

  override columnCells(column: ColumnName): Cell[] {
    const cells: Cell[] = []
    for (let at = this.#findFirst(column); at >= 0 && at < this.#end; at += numbersPerCell) {
      if (this.#matches(at, column)) cells.push(this.#cellAt(at))
      else if (this.#next >= 0) break
    }
    return cells
  }

  /**
   * Moves past the cell of a column in a whole row, from the cell passed last on. Returns where its
   * value starts, which ends at {@link #entry} then; 0: the column is to be searched.
   */
  #passCell(column: ColumnName): number {
    let entry = this.#entry
    if (entry < 0) return 0
    const cells = this.#cells
    const from = this.#from
    let next = this.#next
    const { family, escapedQualifier } = parseAt(column, (next - from) / numbersPerCell)
    if (escapedQualifier === undefined) return 0
    if (this.families[wholeFamilyIndex(cells, from)] !== family) return 0
    const page = this.#page
    const end = cells[from + 3]
    for (let left = Math.min(cells[from + 2], walkedMax); left > 0; left--) {
      if (entry === end) {
        entry = cells[from + 1]
        next = from
      }
      let keyStart = entry + 2
      let keyLength = page[entry]
      let valueLength = page[entry + 1]
      if ((keyLength | valueLength) >= 0x80) {
        keyLength = readVarint(page, entry, end)
        keyStart = entry + varintLength(keyLength)
        valueLength = readVarint(page, keyStart, end)
        keyStart += varintLength(valueLength)
      }
      const keyEnd = keyStart + keyLength
      const start = rowEndOf(page, keyStart, keyEnd) + terminatorBytes
      const stop = qualifierEndOf(keyEnd)
      entry = keyEnd + valueLength
      next += numbersPerCell
      if (equalBytes(page, start, stop, escapedQualifier, 0, escapedQualifier.length)) {
        this.#entry = entry
        this.#next = next
        return keyEnd
      }
    }
    return 0
  }

  /** Gives each cell of a whole row numbers of its own. */
  #openCells(): void {
    if (this.#entry < 0) return
    const cells = cellByCell(this.#page, this.#cells, this.#from, this.#end)
    this.#cells = cells
    this.#next -= this.#from
    this.#from = 0
    this.#end = cells.length
    this.#entry = -1
  }

  /** The cell of a column; in ordered cells the search of the next column begins after it. */
  #find(column: ColumnName): number {
    const at = this.#locate(column)
    if (at < 0 || this.#next < 0) return at
    this.#next = at + numbersPerCell
    this.#foundName = typeof column === 'string' ? column : undefined
    return at
  }

  #locate(column: ColumnName): number {
    this.#openCells()
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
    if (next >= 0) at = this.#firstOf(family, escapedQualifier)
    else while (at < end && !this.#inColumn(at, family, escapedQualifier)) at += numbersPerCell
    if (at < end && this.#inColumn(at, family, escapedQualifier)) return at
    this.checkFamily(family)
    return -1
  }

  /** The first cell that is not before a column, in ordered cells; the end if there is none. */
  #firstOf(family: string, escapedQualifier: Buffer): number {
    const page = this.#page
    const cells = this.#cells
    const from = this.#from
    const familyIndex = this.families.indexOf(family)
    let low = 0
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = from + middle * numbersPerCell
      const keyEnd = cells[at + 2]
      let order = cells[at] - familyIndex
      if (order === 0) {
        const start = rowEndOf(page, cells[at + 1], keyEnd) + terminatorBytes
        const end = qualifierEndOf(keyEnd)
        order = compareBytes(page, start, end, escapedQualifier, 0, escapedQualifier.length)
      }
      if (order < 0) low = middle + 1
      else high = middle
    }
    return from + low * numbersPerCell
  }

  #noQualifier(family: string): CellarError {
    this.checkFamily(family, true)
    return noQualifier(family)
  }

  #findFirst(column: ColumnName): number {
    const { family, escapedQualifier } = parseColumn(column)
    return escapedQualifier === undefined ? this.#findFamily(family) : this.#find(column)
  }

  #inColumn(at: number, family: string, escapedQualifier: Buffer): boolean {
    const cells = this.#cells
    if (this.families[cells[at]] !== family) return false
    const keyEnd = cells[at + 2]
    const start = rowEndOf(this.#page, cells[at + 1], keyEnd) + terminatorBytes
    const end = qualifierEndOf(keyEnd)
    return equalBytes(this.#page, start, end, escapedQualifier, 0, escapedQualifier.length)
  }

  #findFamily(family: string): number {
    this.#openCells()
    for (let at = this.#from; at < this.#end; at += numbersPerCell) {
      if (this.families[this.#cells[at]] === family) return at
    }
    this.checkFamily(family)
    return -1
  }

  #matches(at: number, column: ColumnName): boolean {
    const { family, escapedQualifier } = parseColumn(column)
    if (escapedQualifier !== undefined) return this.#inColumn(at, family, escapedQualifier)
    return this.families[this.#cells[at]] === family
  }

  #valueAt(at: number): Buffer {
    const valueStart = this.#cells[at + 2]
    return viewBytes(this.#page, contentStart(this.#page, valueStart), this.#cells[at + 3])
  }

  #cellAt(at: number): Cell {
    const cells = this.#cells
    const family = this.families[cells[at]]
    return new PageCell(this.#page, family, cells[at + 1], cells[at + 2], cells[at + 3])
  }
}
