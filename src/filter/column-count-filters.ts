/** Filters that count the columns of a row, across its families. */
import { compareBytes } from '../base/bytes.js'
import { unescape } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import { escapeQualifier, type BytesLike } from '../cell/column-name.js'
import { checkFilterCount, checkList, copyBytes } from './arguments.js'
import { FilterCode, type CellHint } from './filter.js'
import { KeyFilter } from './filter-base.js'
import { jumpInRow } from './single-column-filters.js'

/**
 * The newest version of a row's first columns (HBase: ColumnCountGetFilter). Meant for gets: a scan
 * ends with the first row that has more columns.
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
 * In each row skips columns and returns the newest versions of the next ones (HBase:
 * ColumnPaginationFilter). `offset` is a number of columns, or the qualifier to begin with.
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
      if (order < 0) return jumpInRow(cell)
    }
    this.columns++
    // The last column leaves no row: members of a list behind this one count the next column too.
    return this.columns <= this.offset ? FilterCode.nextColumn : FilterCode.includeAndNextColumn
  }

  nextCellHint(cell: CellView): CellHint | undefined {
    const qualifier = this.qualifier
    return qualifier === undefined ? undefined : { row: cell.copyRow(), qualifier }
  }
}

/**
 * The first cell of each row: what row counting needs (HBase: FirstKeyOnlyFilter). It leaves the
 * row at the second cell only, so that a filter around it learns that there is one.
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
 * The cells of each row up to the first one with one of the given qualifiers, and that one
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
