/**
 * Takes the plain rows of one store as wholes, for the plain loop (plain-loop.ts). A filter sees
 * the cells of such a row here, without the rules, which have nothing to decide about it: each cell
 * is a visible put, the newest version of its column. If the filter includes all cells, the row is
 * copied as the cursor shows it.
 *
 * Ownership: the cells shown lie in memory of this object until the next row, which is read when
 * the collector has copied or dropped those of this row.
 */
import { emptyBytes } from '../../../base/bytes.js'
import { CellView } from '../../cell/cell-view.js'
import type { Cursor } from '../../cursor/cursor.js'
import { checkedCode } from '../../filter/arguments.js'
import { isIncluded } from '../../filter/filter-base.js'
import { FilterCode, type Filter } from '../../filter/filter.js'
import { entryStartOf, RowCounter } from '../../sstable/rows/row-entries.js'
import { BlockMemory, wordSlackBytes } from '../../sstable/blocks/block-memory.js'
import { RowWalk } from '../../sstable/rows/row-walk.js'
import type { RowTarget } from '../cell-collector.js'
import type { ReadPosition } from '../read-position.js'
import type { StoreRead } from '../store-read.js'

/** Bytes of the longest row that is shown here, because the memory for it is kept. */
const shownBytesMax = 64 * 1024

export class PlainRows {
  /** Index of the family of the store. */
  readonly familyIndex: number
  /** Whether the filter has ended the whole scan in the last row. */
  hasEnded = false
  private readonly walk = new RowWalk()
  private readonly counter = new RowCounter()
  private readonly cell = new CellView()
  private memory: BlockMemory | undefined = undefined
  /** The block of the last row shown, and a view of its bytes. */
  private block: Buffer = emptyBytes
  private blockWords: DataView | undefined = undefined
  /**
   * Start of the key, end of the key and end of the value of cells that are to be added. Not
   * emptied between rows, because that would release its memory.
   */
  private readonly included: number[] = []

  /** Takes the rows of one family. */
  constructor(familyIndex: number, family: string) {
    this.familyIndex = familyIndex
    this.cell.familyIndex = familyIndex
    this.cell.family = family
  }

  /**
   * Adds the cells that the filter includes of the plain row that begins with the current entry,
   * and passes the row (`Cursor.passRow`); false: no row begins, or its cells are to be added one
   * by one.
   */
  take(
    cursor: Cursor,
    position: ReadPosition,
    { query, readPoint, oldest }: StoreRead,
    rowBytes: number,
    collector: RowTarget,
  ): boolean {
    if (!collector.takesRows || !position.triesRow()) return false
    this.hasEnded = false
    const { buffer } = cursor
    const end = cursor.plainRowEnd(readPoint, oldest, rowBytes)
    // A row of one entry is read as fast by itself.
    if (end > cursor.valueEnd && this.add(cursor, end, query.filter, collector)) {
      // A row that the cursor has put together lies in memory of the next such row.
      if (cursor.buffer !== buffer) collector.settle()
      cursor.passRow()
      position.passedRow(cursor)
      return true
    }
    position.missedRow()
    return false
  }

  /** Drops references to memory of blocks. */
  release(): void {
    this.block = emptyBytes
    this.blockWords = undefined
  }

  private add(cursor: Cursor, end: number, filter: Filter | undefined, rows: RowTarget): boolean {
    const { buffer, keyStart, keyEnd, valueEnd } = cursor
    const { familyIndex } = this
    if (filter !== undefined && filter.includesRow?.() !== true) {
      const start = entryStartOf(keyStart, keyEnd, valueEnd)
      if (!this.counter.read(buffer, start, end) || this.counter.bytes > shownBytesMax) return false
      if (!this.showRow(buffer, start, end, filter, rows)) return true
    }
    return rows.addRow(familyIndex, buffer, keyStart, keyEnd, valueEnd, end)
  }

  /**
   * Shows the cells of the row `buffer[start, end)` to a filter, until the filter leaves the row.
   * True: all cells are included, and none is added yet; false: those that are included are added.
   */
  private showRow(
    buffer: Buffer,
    start: number,
    end: number,
    filter: Filter,
    rows: RowTarget,
  ): boolean {
    const { cell, counter, included, walk } = this
    const { buffer: memory, words } = this.reserve(counter.bytes)
    const source = this.wordsOf(buffer)
    const replaces = filter.transformCell !== undefined
    let count = 0
    let used = 0
    let isAtCell = walk.begin(buffer, start, end)
    while (isAtCell) {
      if (filter.filterAllRemaining()) {
        this.hasEnded = true
        break
      }
      const keyStart = used
      const keyEnd = keyStart + walk.keyBytes
      used = keyEnd + walk.valueEnd - walk.valueStart
      if (walk.isAtRow || !walk.writeWords(source, words, keyStart)) walk.write(memory, keyStart)
      cell.setCell(memory, keyStart, keyEnd, used)
      const code = checkedCode(filter.filterCell(cell))
      if (isIncluded(code)) {
        if (replaces) rows.add(cell, filter)
        else {
          included[count++] = keyStart
          included[count++] = keyEnd
          included[count++] = used
        }
      }
      if (code === FilterCode.nextRow || code === FilterCode.includeAndNextRow) break
      isAtCell = walk.next()
    }
    if (!replaces && count === 3 * counter.cells) return true
    for (let i = 0; i < count; i += 3) {
      rows.addRange(this.familyIndex, memory, included[i], included[i + 1], included[i + 2])
    }
    return false
  }

  private reserve(bytes: number): BlockMemory {
    const { memory } = this
    if (memory !== undefined && memory.buffer.length >= bytes + wordSlackBytes) return memory
    return (this.memory = new BlockMemory(Math.min(2 * bytes, shownBytesMax)))
  }

  private wordsOf(block: Buffer): DataView {
    if (this.blockWords === undefined || this.block !== block) {
      this.block = block
      this.blockWords = new DataView(block.buffer, block.byteOffset, block.length)
    }
    return this.blockWords
  }
}
