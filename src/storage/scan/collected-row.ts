/**
 * The cells of rows as a read returns them: a page of memory, and four numbers for each cell. A
 * plain row that was copied as a whole has four numbers for all its cells, because most readers ask
 * for its values in their order, and need no list of places for that.
 *
 * Ownership: the page belongs to the rows in it; nobody writes to it any more.
 */
import { emptyBytes } from '../../base/bytes.js'
import { assert } from '../../base/assert.js'
import { openRow, RowCounter } from '../sstable/rows/row-entries.js'

/**
 * Numbers in {@link CollectedRow.cells} of a cell: family index, key start, key end (= value
 * start), value end. The adjacent entries of a whole row of one family have as many together: -1 -
 * family index, start, number of cells, end. Only the first cells of a row may be such.
 */
export const numbersPerCell = 4

/** The cells of a row or of a piece of a row. */
export interface CollectedRow {
  readonly page: Buffer
  /** See {@link numbersPerCell}. */
  readonly cells: readonly number[]
  /** Whether the next piece has more cells of the same row. */
  readonly partial: boolean
}

/** A row without cells. */
export const emptyRow: CollectedRow = { page: emptyBytes, cells: [], partial: false }

/** Rows that were read ahead. Row i is in `pages[i]`; its cells end at `cells[ends[i]]`. */
export interface CollectedRows {
  readonly count: number
  readonly pages: readonly Buffer[]
  readonly cells: readonly number[]
  readonly ends: readonly number[]
  /** Size of the cells of each row in bytes. */
  readonly bytes: readonly number[]
}

/** The first of the numbers of a whole row. */
export function wholeMark(familyIndex: number): number {
  return -1 - familyIndex
}

/** Whether the numbers at an index are those of a whole row. */
export function isWhole(cells: readonly number[], at: number): boolean {
  return cells[at] < 0
}

/** Index of the family of a whole row. */
export function wholeFamilyIndex(cells: readonly number[], at: number): number {
  return -1 - cells[at]
}

/** Number of cells of the row in `cells[from, end)`. */
export function cellCount(cells: readonly number[], from: number, end: number): number {
  if (from === end || !isWhole(cells, from)) return (end - from) / numbersPerCell
  let count = 0
  for (let at = from; at < end; at += numbersPerCell) count += cells[at + 2]
  return count
}

const counter = new RowCounter()

/**
 * The row in `cells[from, end)` with four numbers for each cell, in a list of its own. Whole cells
 * are written out in a page of their own.
 */
export function cellByCell(
  page: Buffer,
  cells: readonly number[],
  from: number,
  end: number,
): { readonly page: Buffer; readonly cells: number[] } {
  if (from === end || !isWhole(cells, from)) return { page, cells: cells.slice(from, end) }
  let bytes = 0
  for (let at = from; at < end; at += numbersPerCell) {
    const isRow = counter.read(page, cells[at + 1], cells[at + 3])
    assert(isRow && counter.cells === cells[at + 2], 'a whole row has the cells that were counted')
    bytes += counter.bytes
  }
  const opened = Buffer.allocUnsafe(bytes)
  const all: number[] = []
  for (let at = from; at < end; at += numbersPerCell) {
    const used = all.length === 0 ? 0 : all[all.length - 1]
    openRow(page, wholeFamilyIndex(cells, at), cells[at + 1], cells[at + 3], opened, used, all)
  }
  return { page: opened, cells: all }
}

/** A row with four numbers for each cell. */
export function rowCellByCell(row: CollectedRow): CollectedRow {
  const { page, cells, partial } = row
  if (cells.length === 0 || !isWhole(cells, 0)) return row
  return { ...cellByCell(page, cells, 0, cells.length), partial }
}
