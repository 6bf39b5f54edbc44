/**
 * The memory of collected rows: the page in which cells are copied, those that are still to be
 * copied, and the numbers of the cells.
 *
 * Ownership: as of the collector (row-collector.ts), which is the only user.
 */
import { assert } from '../../base/assert.js'
import { copyBytes, emptyBytes } from '../../base/bytes.js'
import { openRow, RowCounter } from '../sstable/rows/row-entries.js'
import { isWhole, numbersPerCell, wholeFamilyIndex, wholeMark } from './collected-row.js'
import { allocateHeld } from './held-memory.js'

/** Size of the first page in bytes; a row that does not fit gets a page of its own. */
const firstPageBytes = 16 * 1024

/**
 * Size in bytes of the pages of a scan that has filled its first one. Rows that are read ahead lie
 * in one page, so a larger one takes fewer steps; a result that is kept pins all of it.
 */
const pageBytes = 64 * 1024

/**
 * The unused rest of a released collector's page, for the next collector. Many scans need less than
 * a page, and allocating one costs as much as reading several rows.
 */
let spare: Buffer = emptyBytes
let spareUsed = 0

/** Size of the words to which cells are aligned. */
export const wordBytes = 8

/** Maximum number of bytes between two cells for which one copy is cheaper than two. */
const gapBytesMax = 16

export class RowPage {
  protected page: Buffer = emptyBytes
  protected used = 0
  protected rowStart = 0
  /**
   * Cells not copied yet: `source[sourceStart, sourceEnd)` is to be copied to `page` at `target`.
   */
  protected source: Buffer = emptyBytes
  protected sourceStart = 0
  protected sourceEnd = 0
  protected target = 0
  /** Bytes of the row in the page that belong to no cell. */
  protected gapBytes = 0
  protected cells: number[] = []
  /** Index of the first number of the open row. */
  protected openCells = 0
  /** Whether cells of the open row may be whole. */
  protected hasWhole = false
  /** Number of rows to be read ahead; 0: one row is read at a time. */
  protected rowsMax = 0
  /** True between {@link releasePage} and {@link reopen}, when no cell may be added. */
  private released = false
  protected readonly counter = new RowCounter()

  /**
   * The offset in the page to which `source[start, end)` will be copied: together with what is to
   * be copied already, if that is near.
   */
  protected placeOf(source: Buffer, start: number, end: number): number {
    const { used } = this
    const gap = start - this.sourceEnd
    if (
      source === this.source &&
      gap >= 0 &&
      gap <= gapBytesMax &&
      used + gap + end - start <= this.page.length
    ) {
      this.gapBytes += gap
      return used + gap
    }
    this.copyPending()
    this.reserve(end - start + wordBytes - 1)
    this.align(start)
    this.source = source
    this.sourceStart = start
    this.sourceEnd = start
    this.target = this.used
    return this.used
  }

  /** Adds the entries that were counted, from an offset of the page to the end of what is used. */
  protected pushWhole(familyIndex: number, start: number): void {
    const { cells, counter } = this
    this.hasWhole = true
    this.gapBytes += this.used - start - counter.bytes
    cells.push(wholeMark(familyIndex), start, counter.cells, this.used)
  }

  /** Opens the whole cells of the open row if it has others as well: cells are all alike. */
  protected unify(): void {
    if (!this.hasWhole) return
    this.hasWhole = false
    const { cells, openCells } = this
    for (let at = openCells; at < cells.length; at += numbersPerCell) {
      if (!isWhole(cells, at)) {
        this.openRows(openCells)
        return
      }
    }
  }

  /** Gives each cell from an index on numbers of its own, and a whole key. */
  protected openRows(from: number): void {
    const { counter } = this
    let bytes = 0
    for (let at = from; at < this.cells.length; at += numbersPerCell) {
      if (!isWhole(this.cells, at)) continue
      this.copyPending()
      const isRow = counter.read(this.page, this.cells[at + 1], this.cells[at + 3])
      assert(isRow && counter.cells === this.cells[at + 2], 'a whole row has the cells counted')
      bytes += counter.bytes
    }
    if (from <= this.openCells) this.hasWhole = false
    if (bytes === 0) return
    // A new page has the row at another place.
    this.reserve(bytes)
    const { cells, page } = this
    const groups = cells.splice(from)
    for (let at = 0; at < groups.length; at += numbersPerCell) {
      if (isWhole(groups, at)) {
        const familyIndex = wholeFamilyIndex(groups, at)
        openRow(page, familyIndex, groups[at + 1], groups[at + 3], page, this.used, cells)
        this.used = cells[cells.length - 1]
      } else {
        for (let i = 0; i < numbersPerCell; i++) cells.push(groups[at + i])
      }
    }
    this.gapBytes += bytes
  }

  /**
   * Aligns the cell to 8 bytes as in its source. V8 copies aligned shared memory, such as that of a
   * memtable, word by word, and unaligned shared memory byte by byte.
   */
  protected align(sourceStart: number): void {
    const skipped = (sourceStart - this.used) & (wordBytes - 1)
    this.used += skipped
    this.gapBytes += skipped
  }

  protected copyPending(): void {
    const { source } = this
    if (source === emptyBytes) return
    copyBytes(source, this.sourceStart, this.sourceEnd, this.page, this.target)
    this.source = emptyBytes
  }

  /** Copies all cells that are still borrowed. */
  settle(): void {
    this.copyPending()
  }

  /** Makes room for so many bytes in the page. */
  protected reserve(bytes: number): void {
    if (this.used + bytes > this.page.length) this.startPage(bytes)
  }

  /** Takes no cells until {@link reopen}, and leaves the rest of the page to other collectors. */
  protected releasePage(): void {
    if (this.page.length - this.used > spare.length - spareUsed) {
      spare = this.page
      spareUsed = this.used
    }
    this.page = emptyBytes
    this.used = 0
    this.rowStart = 0
    this.released = true
  }

  /** Ends the time after {@link releasePage}. */
  protected reopen(): void {
    this.released = false
  }

  /** Moves the open row to a new page, so that a row never spans pages. */
  private startPage(bytes: number): void {
    assert(!this.released, 'a collector is not used between release and configure')
    if (this.page === emptyBytes && spare.length - spareUsed >= bytes) {
      this.page = spare
      this.rowStart = spareUsed
      this.used = spareUsed
      spare = emptyBytes
      spareUsed = 0
      return
    }
    const begun = this.used - this.rowStart
    const usual = this.page !== emptyBytes && this.rowsMax > 0 ? pageBytes : firstPageBytes
    const size = Math.max(usual, 2 * (begun + bytes))
    const page = allocateHeld(size > usual && begun === 0 ? bytes : size)
    this.page.copy(page, 0, this.rowStart, this.used)
    const cells = this.cells
    for (let i = this.openCells; i < cells.length; i += numbersPerCell) {
      cells[i + 1] -= this.rowStart
      if (!isWhole(cells, i)) cells[i + 2] -= this.rowStart
      cells[i + 3] -= this.rowStart
    }
    this.page = page
    this.rowStart = 0
    this.used = begun
  }
}
