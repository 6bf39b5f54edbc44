/**
 * Lays cells of other sources over a row that was found as adjacent entries: of two versions of a
 * column only the newer one stays. Entries between the cells that stay are copied as they are.
 *
 * Ownership: the row lies where it was found, or in memory of the overlay until the next row. The
 * memory of a cell that was added must not change until the next row either.
 */
import { compareBytes, emptyBytes, equalBytes } from '../../../base/bytes.js'
import { keySuffixBytes, qualifierEndOf, rowEndOf, terminatorBytes } from '../../cell/cell-key.js'
import { RowWalk } from './row-walk.js'
import { RowWriter } from './row-writer.js'

/** The overlay; see the file header. */
export class RowOverlay {
  /** The entries of the row are `buffer[start, end)`. */
  buffer: Buffer = emptyBytes
  start = 0
  end = 0
  private readonly walk = new RowWalk()
  private writer = new RowWriter()
  private other = new RowWriter()
  /** Whether the walk is at an entry, and where the entries begin that are not copied yet. */
  private isAtEntry = false
  private runStart = 0
  /** Whether entries are written one by one, because the row has another row entry. */
  private rewrites = false
  /** Whether the cell added last takes the place of the walk's entry. */
  private replaces = false
  /** Whether a cell had the key of an entry. */
  private isUndecided = false
  /** The column of the cell added last. */
  private last: Buffer = emptyBytes
  private lastStart = 0
  private lastEnd = 0

  /** Begins with the row in `buffer[start, end)`. REQUIRES lengths that lead to the end. */
  begin(buffer: Buffer, start: number, end: number): void {
    this.buffer = buffer
    this.start = start
    this.end = end
  }

  /** Begins the cells of a source, which come in the order of their keys. */
  beginSource(): void {
    this.isAtEntry = this.walk.begin(this.buffer, this.start, this.end)
    this.runStart = this.start
    this.rewrites = false
    this.isUndecided = false
    this.last = emptyBytes
    this.writer.begin()
  }

  /** Lays a cell over the row: `buffer[keyStart, keyEnd)` is its key, which its value follows. */
  add(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    const start = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
    if (!this.place(buffer, start, qualifierEndOf(keyEnd), keyEnd)) return
    this.writer.addCell(buffer, keyStart, keyEnd, valueEnd)
    this.passReplaced()
  }

  /** As {@link add}, for the cell at which a walk is. */
  addEntry(entry: RowWalk): void {
    const { buffer, columnStart, columnEnd, suffixEnd } = entry
    if (!this.place(buffer, columnStart, columnEnd, suffixEnd)) return
    this.writer.addEntry(entry)
    this.passReplaced()
  }

  /**
   * Copies the entries before the column `buffer[start, end)`; false if a newer cell of the column
   * is there. The suffix of the cell's key ends at `suffixEnd`.
   */
  private place(buffer: Buffer, start: number, end: number, suffixEnd: number): boolean {
    const { walk } = this
    if (this.last !== emptyBytes) {
      // The version before was newer.
      if (equalBytes(this.last, this.lastStart, this.lastEnd, buffer, start, end)) return false
    }
    let order = 1
    while (this.isAtEntry) {
      order = compareBytes(walk.buffer, walk.columnStart, walk.columnEnd, buffer, start, end)
      if (order >= 0) break
      this.passEntry()
    }
    this.replaces = this.isAtEntry && order === 0
    if (this.replaces) {
      const age = this.compareAge(buffer, suffixEnd)
      if (age === 0) this.isUndecided = true
      if (age < 0) return false
    }
    this.copyRun(this.isAtEntry ? walk.start : this.end)
    if (this.writer.length === 0) this.rewrites = true
    this.last = buffer
    this.lastStart = start
    this.lastEnd = end
    return true
  }

  /** Passes the entry in whose place a cell was written. */
  private passReplaced(): void {
    if (!this.replaces) return
    this.runStart = this.walk.valueEnd
    this.isAtEntry = this.walk.next()
  }

  /**
   * Ends the cells of a source. False: a cell has the key of one laid before, and only the order of
   * their sources tells which one is newer.
   */
  endSource(): boolean {
    if (this.last === emptyBytes) return true
    while (this.rewrites && this.isAtEntry) this.passEntry()
    this.copyRun(this.end)
    const { writer } = this
    this.begin(writer.buffer, 0, writer.length)
    this.writer = this.other
    this.other = writer
    return !this.isUndecided
  }

  /** Drops references to the memory of rows and cells. */
  release(): void {
    this.begin(emptyBytes, 0, 0)
    this.last = emptyBytes
    this.walk.buffer = emptyBytes
  }

  private passEntry(): void {
    const { walk } = this
    if (this.rewrites) {
      this.writer.addEntry(walk)
      this.runStart = walk.valueEnd
    }
    this.isAtEntry = walk.next()
  }

  private copyRun(end: number): void {
    if (end > this.runStart) this.writer.addRun(this.buffer, this.runStart, end)
    this.runStart = end
  }

  /** Below 0: the walk's entry is newer than a cell of its column; 0: their keys are equal. */
  private compareAge(buffer: Buffer, suffixEnd: number): number {
    const { walk } = this
    const own = walk.suffixEnd - keySuffixBytes
    const suffix = suffixEnd - keySuffixBytes
    return compareBytes(walk.buffer, own, walk.suffixEnd, buffer, suffix, suffixEnd)
  }
}

/** Writes the cells of some columns (escaped, ascending) of a row as a row by themselves. */
export class ColumnPick {
  private readonly walk = new RowWalk()
  readonly writer = new RowWriter()

  /** Picks from the row in `buffer[start, end)`; false: it has none of the columns. */
  pick(buffer: Buffer, start: number, end: number, columns: readonly Buffer[]): boolean {
    const { walk, writer } = this
    writer.begin()
    let next = 0
    let isAtEntry = walk.begin(buffer, start, end)
    while (isAtEntry && next < columns.length) {
      const column = columns[next]
      const order = compareBytes(buffer, walk.columnStart, walk.columnEnd, column, 0, column.length)
      if (order === 0) writer.addEntry(walk)
      if (order >= 0) next++
      if (order <= 0) isAtEntry = walk.next()
    }
    return writer.length > 0
  }
}
