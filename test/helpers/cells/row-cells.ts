/** Rows as adjacent entries, and their cells with their whole keys. */
import { numbersPerCell } from '../../../src/storage/scan/collected-row.js'
import { openRow, RowCounter } from '../../../src/storage/sstable/rows/row-entries.js'
import { RowWriter } from '../../../src/storage/sstable/rows/row-writer.js'

/** The cells of a row: four numbers each, in a page of their own. */
export interface OpenedRow {
  readonly page: Buffer
  readonly cells: number[]
}

/** The cells of the row in `buffer[start, end)`. REQUIRES lengths that lead to the end. */
export function openedRow(buffer: Buffer, start = 0, end = buffer.length, family = 0): OpenedRow {
  const counter = new RowCounter()
  if (!counter.read(buffer, start, end)) throw new Error('the lengths of a row miss its end')
  const page = Buffer.alloc(counter.bytes)
  const cells: number[] = []
  openRow(buffer, family, start, end, page, 0, cells)
  return { page, cells }
}

/** The stored bytes of each cell: its key and its value. */
export function cellBytes({ page, cells }: OpenedRow): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0; at < cells.length; at += numbersPerCell) {
    found.push(page.subarray(cells[at + 1], cells[at + 3]))
  }
  return found
}

/** Cells of a row, given as their bytes and the lengths of their keys, as adjacent entries. */
export function adjacentEntries(
  parts: readonly { readonly bytes: Buffer; readonly keyEnd: number }[],
): Buffer {
  const writer = new RowWriter()
  writer.begin()
  for (const { bytes, keyEnd } of parts) writer.addCell(bytes, 0, keyEnd, bytes.length)
  return Buffer.from(writer.buffer.subarray(0, writer.length))
}
