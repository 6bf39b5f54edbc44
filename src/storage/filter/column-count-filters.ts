/** Filters that count the columns of a row, across its families. */
import { compareBytes } from '../../base/bytes.js'
import { unescape } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import { escapeQualifier, type BytesLike } from '../cell/column-name.js'
import { checkFilterCount, checkList, copyBytes } from './arguments.js'
import { FilterCode, type CellHint } from './filter.js'
import { KeyFilter } from './filter-base.js'

/**
 * Returns the newest version of each of a row's first `columnsMax` columns (HBase:
 * ColumnCountGetFilter). Meant for gets: a scan ends with the first row that has more columns.
 */
export class ColumnCountGetFilter extends KeyFilter {
  private readonly columnsMax: number
  private columns = 0

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(columnsMax: number) {
    super()
    this.columnsMax = checkFilterCount(columnsMax, 'columnsMax')
  }

  protected override startScan(): void {
    this.columns = 0
  }

  override reset(): void {
    this.columns = 0
  }

  override filterAllRemaining(): boolean {
    return this.columns > this.columnsMax
  }

  override filterCell(): FilterCode {
    this.columns++
    return this.columns > this.columnsMax ? FilterCode.nextColumn : FilterCode.includeAndNextColumn
  }
}

/**
 * Skips the first columns of each row and returns the newest versions of the next `limit` columns
 * (HBase: ColumnPaginationFilter). `offset` is a number of columns to skip, or the qualifier to
 * begin with.
 */
export class ColumnPaginationFilter extends KeyFilter {
  private readonly limit: number
  private readonly offset: number
  private readonly qualifier: Buffer | undefined
  private readonly escaped: Buffer
  private columns = 0

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(limit: number, offset: number | BytesLike) {
    super()
    this.limit = checkFilterCount(limit, 'limit')
    const byNumber = typeof offset === 'number'
    this.offset = byNumber ? checkFilterCount(offset, 'offset') : 0
    this.qualifier = byNumber ? undefined : copyBytes(offset, 'offset')
    this.escaped = escapeQualifier(this.qualifier ?? Buffer.alloc(0))
  }

  override reset(): void {
    this.columns = 0
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.columns >= this.offset + this.limit) return FilterCode.nextRow
    if (this.qualifier !== undefined && this.columns === 0) {
      const { escaped } = this
      const { buffer, qualifierStart, qualifierEnd } = cell
      const order = compareBytes(buffer, qualifierStart, qualifierEnd, escaped, 0, escaped.length)
      if (order < 0) return FilterCode.seekUsingHint
    }
    this.columns++
    // The last column does not leave the row: later members of a filter list count the next column
    // too.
    return this.columns <= this.offset ? FilterCode.nextColumn : FilterCode.includeAndNextColumn
  }

  /** Whether the offset is a column. */
  mayHint(): boolean {
    return this.qualifier !== undefined
  }

  /** The column at the offset. */
  nextCellHint(cell: CellView): CellHint | undefined {
    const qualifier = this.qualifier
    return qualifier === undefined ? undefined : { row: cell.copyRow(), qualifier }
  }
}

/**
 * Returns the first cell of each row, for counting rows (HBase: FirstKeyOnlyFilter). The filter
 * leaves the row at the second cell, not at the first, so that a filter around it sees that there
 * is a second one.
 */
export class FirstKeyOnlyFilter extends KeyFilter {
  private found = false

  override reset(): void {
    this.found = false
  }

  override filterCell(): FilterCode {
    if (this.found) return FilterCode.nextRow
    this.found = true
    return FilterCode.include
  }
}

/**
 * Returns the cells of each row up to and including the first with one of the given qualifiers
 * (HBase: FirstKeyValueMatchingQualifiersFilter).
 */
export class FirstKeyValueMatchingQualifiersFilter extends KeyFilter {
  private readonly qualifiers: ReadonlySet<string>
  private found = false

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(qualifiers: readonly BytesLike[]) {
    super()
    const copies = checkList(qualifiers, 'qualifiers').map((each) => copyBytes(each, 'qualifier'))
    this.qualifiers = new Set(copies.map((each) => each.toString('latin1')))
  }

  override reset(): void {
    this.found = false
  }

  override filterCell(cell: CellView): FilterCode {
    if (this.found) return FilterCode.nextRow
    const qualifier = unescape(cell.buffer, cell.qualifierStart, cell.qualifierEnd)
    this.found = this.qualifiers.has(qualifier.toString('latin1'))
    return FilterCode.include
  }
}
