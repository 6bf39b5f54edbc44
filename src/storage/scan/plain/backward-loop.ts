/**
 * The fast path of reversed scans, as plain-loop.ts. A plain row is taken as a whole. The cells of
 * other rows come last cell first, so they are kept until the row has ended. A row with another
 * entry, or with too many cells, has to be read again from its start, forward.
 */
import { emptyBytes, equalBytes } from '../../../base/bytes.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../../cell/cell-key.js'
import { isVisiblePut } from '../../cell/plain-put.js'
import type { BackwardCursor } from '../../cursor/cursor.js'
import type { RowOverlay } from '../../sstable/rows/row-overlay.js'
import type { RowTarget } from '../cell-collector.js'
import type { PlainRows } from './plain-rows.js'
import { isOutside, ReadStep } from './plain-loop.js'
import type { ReadPosition } from '../read-position.js'
import type { RowBounds } from '../row-scanner.js'
import type { StoreRead } from '../store-read.js'

/** Maximum number of cells; rows with more are read forward. */
const cellsMax = 64

/** Start and end of the key, and end of the value. */
const numbersPerCell = 3

/**
 * Reads and ends rows backwards, until the collector wants no more, a row is out of bounds, or an
 * entry is no plain put. REQUIRES a read of all columns with {@link StoreRead.isNewest}.
 */
export function readBackward(
  cursor: BackwardCursor,
  position: ReadPosition,
  read: StoreRead,
  { familyIndex }: PlainRows,
  bounds: RowBounds,
  collector: RowTarget,
): ReadStep {
  const row = (position.backward ??= new BackwardRow())
  row.count = 0
  position.rows = 0
  while (cursor.valid) {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    const end = rowEndOf(buffer, keyStart, keyEnd)
    if (position.inRow && !position.isRow(buffer, keyStart, end)) {
      position.inRow = false
      row.collect(familyIndex, collector)
      if (!collector.wantsRows) return ReadStep.enough
    }
    if (!isVisiblePut(buffer, keyEnd, valueStart, read.readPoint, read.oldest)) {
      return ReadStep.rulesNeeded
    }
    if (!position.inRow) {
      if (isOutside(buffer, keyStart, end, bounds)) return ReadStep.bound
      position.startRow(buffer, keyStart, end)
      position.rows++
      const rowBytes = end + terminatorBytes - keyStart
      const tries = collector.takesRows && position.triesRow()
      const rowEnd = tries ? cursor.plainRowBack(read.readPoint, read.oldest, rowBytes) : 0
      if (rowEnd > cursor.valueEnd) {
        const { buffer: first, keyStart: start, keyEnd: middle } = cursor
        // The row is read again, forward, where its cells are to be added one by one.
        const isAdded = collector.addRow(familyIndex, first, start, middle, cursor.valueEnd, rowEnd)
        if (!isAdded) return ReadStep.rulesNeeded
        // A row that the cursor has put together lies in memory of the next such row.
        if (first !== buffer) collector.settle()
        position.passedRow(cursor)
        cursor.previous()
        continue
      }
      if (tries) position.missedRow()
      if (rowEnd < 0) return ReadStep.rulesNeeded
    }
    if (row.count === cellsMax) return ReadStep.rulesNeeded
    row.keep(buffer, keyStart, keyEnd, valueEnd)
    cursor.previous()
  }
  if (position.inRow) row.collect(familyIndex, collector)
  position.inRow = false
  return collector.wantsRows ? ReadStep.bound : ReadStep.enough
}

/** The cells of a row in progress, last cell first. */
export class BackwardRow {
  /** Number of cells. */
  count = 0
  private readonly buffers: Buffer[] = Array<Buffer>(cellsMax).fill(emptyBytes)
  private readonly ranges = new Float64Array(cellsMax * numbersPerCell)

  /** Keeps a cell. */
  keep(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    const { count, buffers, ranges } = this
    const at = numbersPerCell * count
    if (buffers[count] !== buffer) buffers[count] = buffer
    ranges[at] = keyStart
    ranges[at + 1] = keyEnd
    ranges[at + 2] = valueEnd
    this.count = count + 1
  }

  /** Collects the newest cell of each column, ends the row, and starts another one. */
  collect(familyIndex: number, collector: RowTarget): void {
    const { buffers, ranges } = this
    let last = emptyBytes
    let lastStart = 0
    let lastEnd = -1
    for (let i = this.count - 1; i >= 0; i--) {
      const buffer = buffers[i]
      const keyStart = ranges[numbersPerCell * i]
      const keyEnd = ranges[numbersPerCell * i + 1]
      const start = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
      const end = qualifierEndOf(keyEnd)
      if (lastEnd >= 0 && equalBytes(last, lastStart, lastEnd, buffer, start, end)) continue
      last = buffer
      lastStart = start
      lastEnd = end
      const valueEnd = ranges[numbersPerCell * i + 2]
      collector.addRange(familyIndex, buffer, keyStart, keyEnd, valueEnd)
    }
    this.count = 0
    collector.endRow()
  }

  /** Lays the cells over a row, and starts another one. */
  layOver(overlay: RowOverlay): void {
    const { buffers, ranges } = this
    while (this.count > 0) {
      const i = --this.count
      const at = numbersPerCell * i
      overlay.add(buffers[i], ranges[at], ranges[at + 1], ranges[at + 2])
    }
  }

  /** Drops references to the memory of cells. */
  release(): void {
    this.buffers.fill(emptyBytes)
  }
}
