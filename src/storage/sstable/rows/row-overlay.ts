/**
 * Lays newer cells over a row that was found as adjacent entries: of two versions of a column only
 * the newer one stays. Entries between the newer cells are copied as they are.
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
    this.last = emptyBytes
    this.writer.begin()
  }

  /** Lays a cell over the row: `buffer[keyStart, keyEnd)` is its key, which its value follows. */
  add(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    const { walk } = this
    const start = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
    const end = qualifierEndOf(keyEnd)
    if (this.last !== emptyBytes) {
      // The version before was newer.
      if (equalBytes(this.last, this.lastStart, this.lastEnd, buffer, start, end)) return
    }
    let order = 1
    while (this.isAtEntry) {
      order = compareBytes(walk.buffer, walk.columnStart, walk.columnEnd, buffer, start, end)
      if (order >= 0) break
      this.passEntry()
    }
    if (this.isAtEntry && order === 0 && this.isOlder(buffer, keyEnd)) return
    this.copyRun(this.isAtEntry ? walk.start : this.end)
    if (this.writer.length === 0) this.rewrites = true
    this.writer.addCell(buffer, keyStart, keyEnd, valueEnd)
    this.last = buffer
    this.lastStart = start
    this.lastEnd = end
    if (!this.isAtEntry || order !== 0) return
    this.runStart = walk.valueEnd
    this.isAtEntry = walk.next()
  }

  /** Ends the cells of a source. */
  endSource(): void {
    if (this.last === emptyBytes) return
    while (this.rewrites && this.isAtEntry) this.passEntry()
    this.copyRun(this.end)
    const { writer } = this
    this.begin(writer.buffer, 0, writer.length)
    this.writer = this.other
    this.other = writer
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

  /** Whether a cell in the column of the walk's entry is older than that entry. */
  private isOlder(buffer: Buffer, keyEnd: number): boolean {
    const { walk } = this
    const own = walk.suffixEnd - keySuffixBytes
    return (
      compareBytes(walk.buffer, own, walk.suffixEnd, buffer, keyEnd - keySuffixBytes, keyEnd) < 0
    )
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
