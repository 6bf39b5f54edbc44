/** Finds columns among the cells of a result that have numbers of their own. */
import { compareBytes, equalBytes } from '../../base/bytes.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import { parseColumn, type ColumnName, type ParsedColumn } from '../../storage/cell/column-name.js'
import { numbersPerCell } from '../../storage/scan/collected-row.js'

/**
 * Column names last requested as text, by the index of their cell. Results are usually asked for
 * the same columns again, and a comparison is faster than parsing.
 */
const askedMax = 64
const askedNames = Array<string>(askedMax).fill('')
const askedColumns = Array<ParsedColumn>(askedMax).fill(parseColumn(''))

/** As `parseColumn`, for the cell at an index. */
export function parseAt(column: ColumnName, position: number): ParsedColumn {
  if (typeof column !== 'string' || position < 0 || position >= askedMax) return parseColumn(column)
  if (askedNames[position] === column) return askedColumns[position]
  const parsed = parseColumn(column)
  askedNames[position] = column
  askedColumns[position] = parsed
  return parsed
}

/** Whether the cell with numbers at an index has a qualifier (escaped). */
export function hasQualifier(
  page: Buffer,
  cells: readonly number[],
  at: number,
  qualifier: Buffer,
): boolean {
  const keyEnd = cells[at + 2]
  const start = rowEndOf(page, cells[at + 1], keyEnd) + terminatorBytes
  return equalBytes(page, start, qualifierEndOf(keyEnd), qualifier, 0, qualifier.length)
}

/**
 * Index of the first of the ordered cells in `cells[from, end)` that is not before a column; the
 * end if there is none.
 */
export function firstCellOf(
  page: Buffer,
  cells: readonly number[],
  from: number,
  end: number,
  familyIndex: number,
  qualifier: Buffer,
): number {
  let low = 0
  let high = (end - from) / numbersPerCell
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = from + middle * numbersPerCell
    const keyEnd = cells[at + 2]
    let order = cells[at] - familyIndex
    if (order === 0) {
      const start = rowEndOf(page, cells[at + 1], keyEnd) + terminatorBytes
      order = compareBytes(page, start, qualifierEndOf(keyEnd), qualifier, 0, qualifier.length)
    }
    if (order < 0) low = middle + 1
    else high = middle
  }
  return from + low * numbersPerCell
}
