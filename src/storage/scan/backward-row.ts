/** The cells of a row that is read backwards, last cell first, until the row has ended. */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { qualifierEndOf, rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import type { BackwardCursor } from '../cursor/cursor.js'
import type { RowTarget } from './cell-collector.js'

/** Maximum number of cells; rows with more are read forward. */
const cellsMax = 64

/** Start and end of the key, and end of the value. */
const numbersPerCell = 3

export class BackwardRow {
  /** Number of cells. */
  count = 0
  private readonly buffers: Buffer[] = Array<Buffer>(cellsMax).fill(emptyBytes)
  private readonly ranges = new Float64Array(cellsMax * numbersPerCell)

  /** Keeps the cell under a cursor, and moves to the one before; false if there are too many. */
  keep(cursor: BackwardCursor): boolean {
    const { count, buffers, ranges } = this
    if (count === cellsMax) return false
    const { buffer } = cursor
    if (buffers[count] !== buffer) buffers[count] = buffer
    const at = numbersPerCell * count
    ranges[at] = cursor.keyStart
    ranges[at + 1] = cursor.keyEnd
    ranges[at + 2] = cursor.valueEnd
    this.count = count + 1
    cursor.previous()
    return true
  }

  /** Collects the newest cell of each column, and starts another row. */
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
  }

  /** Drops references to the memory of cells. */
  release(): void {
    this.buffers.fill(emptyBytes)
  }
}
