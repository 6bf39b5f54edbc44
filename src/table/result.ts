/**
 * What a read returns: the cells of one row, decoded only when asked for.
 *
 * Ownership: a result keeps one page of memory alive (some KiB, shared with neighbours), and
 * the numbers of the rows that were read with it; the
 * Buffers that it hands out lie in that page and are the caller's to keep.
 */
import { emptyBytes, equalBytes, viewBytes } from '../base/bytes.js'
import { cellTypeName, type CellTypeCode, type CellTypeName } from '../cell/cell-type.js'
import {
  hasEscape,
  qualifierEndOf,
  rowEndOf,
  sequenceOf,
  terminatorBytes,
  timestampHighOf,
  timestampLowOf,
  typeOf,
  unescape,
} from '../cell/cell-key.js'
import { contentStart } from '../cell/cell-value.js'
import { approximateTimestamp, joinTimestamp } from '../cell/timestamp.js'
import { numbersPerCell, type CollectedRow } from '../scan/row-collector.js'
import { parseColumn } from '../cell/column-name.js'
import * as maps from './result-maps.js'
import type { ColumnName } from './types.js'

/** One version of one column, or a delete marker in a raw scan. */
export interface Cell {
  readonly row: Buffer
  readonly family: string
  readonly qualifier: Buffer
  /** Exact below 2^53; see `timestampExact`. */
  readonly timestamp: number
  readonly timestampExact: bigint
  readonly type: CellTypeName
  readonly value: Buffer
  /** Sequence of the mutation that wrote the cell. */
  readonly sequence: number
}

/** Decoded bytes of an escaped range; a view if nothing had to be unescaped. */
function decode(page: Buffer, start: number, end: number): Buffer {
  return hasEscape(page, start, end) ? unescape(page, start, end) : viewBytes(page, start, end)
}

const emptyRow: CollectedRow = { page: emptyBytes, cells: [], partial: false }
const noMarks = {}

/** The cells of one row (or of a piece of it); empty if there are none. */
export class Result {
  /** True if more cells of the row follow in the next result of the scan (`batch`). */
  readonly partial: boolean
  /**
   * For a get with `checkExistenceOnly`: whether there are cells; true for row mutations that were
   * applied. Else undefined.
   */
  readonly exists: boolean | undefined
  /**
   * Of a scan with `needCursorResult`: the row where the scan is. Such a result has no cells; all
   * others have no cursor.
   */
  readonly cursor: Buffer | undefined
  readonly #page: Buffer
  /** The numbers of this row's cells, and of others: {@link #from} to {@link #end} are its own. */
  readonly #cells: readonly number[]
  readonly #from: number
  readonly #end: number
  readonly #families: readonly string[]
  /** Where the cell behind the one found last is. */
  #next: number

  /** @internal Made by the table layer. The row's cells are `row.cells[from, end)`. */
  constructor(
    row: CollectedRow,
    families: readonly string[],
    marks: { readonly exists?: boolean; readonly cursor?: Buffer } = noMarks,
    from = 0,
    end = row.cells.length,
  ) {
    this.partial = row.partial
    this.exists = marks.exists
    this.cursor = marks.cursor
    this.#page = row.page
    this.#cells = row.cells
    this.#from = from
    this.#end = end
    this.#families = families
    this.#next = from
  }

  /** @internal A result that only says where a scan is. */
  static ofCursor(row: Buffer): Result {
    return new Result(emptyRow, [], { cursor: row })
  }

  /** Number of cells. */
  get size(): number {
    return (this.#end - this.#from) / numbersPerCell
  }

  /** True if the row is absent or nothing of it was asked for. */
  get isEmpty(): boolean {
    return this.#end === this.#from
  }

  /** The row, or undefined if the result is empty. */
  get row(): Buffer | undefined {
    if (this.isEmpty) return undefined
    const keyStart = this.#cells[this.#from + 1]
    const keyEnd = this.#cells[this.#from + 2]
    return decode(this.#page, keyStart, rowEndOf(this.#page, keyStart, keyEnd))
  }

  /** Value of the newest cell of a column, or undefined. */
  value(column: ColumnName): Buffer | undefined {
    const at = this.#find(column)
    return at < 0 ? undefined : this.#valueAt(at)
  }

  /** The newest cell of a column, or undefined (HBase: getColumnLatestCell). */
  cell(column: ColumnName): Cell | undefined {
    const at = this.#find(column)
    return at < 0 ? undefined : this.#cellAt(at)
  }

  /** Whether the result has a cell of the column. */
  has(column: ColumnName): boolean {
    return this.#find(column) >= 0
  }

  /** Whether the newest cell of a column is there and empty (HBase: containsEmptyColumn). */
  hasEmpty(column: ColumnName): boolean {
    return this.value(column)?.length === 0
  }

  /** Whether the newest cell of a column is there and not empty (HBase: containsNonEmptyColumn). */
  hasNonEmpty(column: ColumnName): boolean {
    const value = this.value(column)
    return value !== undefined && value.length > 0
  }

  /** All cells in HBase's order: family, qualifier, newest first (HBase: listCells). */
  cells(): Cell[] {
    const cells: Cell[] = []
    for (let at = this.#from; at < this.#end; at += numbersPerCell) cells.push(this.#cellAt(at))
    return cells
  }

  /** The cells of one column, newest first (HBase: getColumnCells). */
  columnCells(column: ColumnName): Cell[] {
    const cells: Cell[] = []
    for (let at = this.#find(column); at >= 0 && at < this.#end; at += numbersPerCell) {
      if (!this.#matches(at, column)) break
      cells.push(this.#cellAt(at))
    }
    return cells
  }

  [Symbol.iterator](): IterableIterator<Cell> {
    return this.cells()[Symbol.iterator]()
  }

  /** Newest values by `'family:qualifier'`, qualifiers and values as UTF-8 strings, for display. */
  toObject(): Record<string, string> {
    const entries: Record<string, string> = {}
    for (const { family, qualifier, value } of this.cells()) {
      const name = `${family}:${qualifier.toString('utf8')}`
      entries[name] ??= value.toString('utf8')
    }
    return entries
  }

  /**
   * Values by family, qualifier and timestamp, newest first (HBase: getMap). Qualifiers become text
   * by `encoding`; take 'latin1' or 'hex' if they may be no UTF-8.
   */
  map(encoding: BufferEncoding = 'utf8'): maps.ValuesByFamily<Map<bigint, Buffer>> {
    return maps.versionsByFamily(this.cells(), encoding)
  }

  /** Newest values by family and qualifier (HBase: getNoVersionMap). */
  noVersionMap(encoding: BufferEncoding = 'utf8'): maps.ValuesByFamily<Buffer> {
    return maps.newestByFamily(this.cells(), encoding)
  }

  /** Newest values of a family by qualifier (HBase: getFamilyMap). */
  familyMap(family: string, encoding: BufferEncoding = 'utf8'): Map<string, Buffer> {
    return this.noVersionMap(encoding).get(family) ?? new Map<string, Buffer>()
  }

  #find(column: ColumnName): number {
    const { family, escapedQualifier } = parseColumn(column)
    if (escapedQualifier === undefined) return this.#findFamily(family)
    // Columns are usually asked for in their order.
    const next = this.#next
    const from = this.#from
    const end = this.#end
    if (
      next < end &&
      this.#inColumn(next, family, escapedQualifier) &&
      (next === from || !this.#inColumn(next - numbersPerCell, family, escapedQualifier))
    ) {
      this.#next = next + numbersPerCell
      return next
    }
    for (let at = from; at < end; at += numbersPerCell) {
      if (!this.#inColumn(at, family, escapedQualifier)) continue
      this.#next = at + numbersPerCell
      return at
    }
    return -1
  }

  #inColumn(at: number, family: string, escapedQualifier: Buffer): boolean {
    const cells = this.#cells
    if (this.#families[cells[at]] !== family) return false
    const keyEnd = cells[at + 2]
    const start = rowEndOf(this.#page, cells[at + 1], keyEnd) + terminatorBytes
    const end = qualifierEndOf(keyEnd)
    return equalBytes(this.#page, start, end, escapedQualifier, 0, escapedQualifier.length)
  }

  #findFamily(family: string): number {
    for (let at = this.#from; at < this.#end; at += numbersPerCell) {
      if (this.#families[this.#cells[at]] === family) return at
    }
    return -1
  }

  #matches(at: number, column: ColumnName): boolean {
    const { family, escapedQualifier } = parseColumn(column)
    if (escapedQualifier !== undefined) return this.#inColumn(at, family, escapedQualifier)
    return this.#families[this.#cells[at]] === family
  }

  #valueAt(at: number): Buffer {
    const valueStart = this.#cells[at + 2]
    return viewBytes(this.#page, contentStart(this.#page, valueStart), this.#cells[at + 3])
  }

  #cellAt(at: number): Cell {
    const page = this.#page
    const keyStart = this.#cells[at + 1]
    const keyEnd = this.#cells[at + 2]
    const rowEnd = rowEndOf(page, keyStart, keyEnd)
    const high = timestampHighOf(page, keyEnd)
    const low = timestampLowOf(page, keyEnd)
    return {
      row: decode(page, keyStart, rowEnd),
      family: this.#families[this.#cells[at]],
      qualifier: decode(page, rowEnd + terminatorBytes, qualifierEndOf(keyEnd)),
      timestamp: approximateTimestamp(high, low),
      timestampExact: joinTimestamp(high, low),
      type: cellTypeName(typeOf(page, keyEnd) as CellTypeCode),
      value: this.#valueAt(at),
      sequence: sequenceOf(page, keyEnd),
    }
  }
}
