/**
 * A merge that shows plain rows as wholes, also those with cells in several sources: the cells of
 * the other sources are laid over the row of the largest one (`RowOverlay`). Sources in memory are
 * moved past their cells for that, and are sought back if one of the cells is no plain put.
 *
 * Invariants, which replace the first one of the merge while a row is put together
 * 1. From {@link RowMergeCursor.plainRowEnd} to the next move the first `laid` children in order
 *    are those with entries of the row. All others are after the row, or before it if backwards.
 * 2. While `isPassing`, the next move of each of them leaves the row; the first `movedCount` have
 *    made that move.
 *
 * Failure behaviour: as of the merge. A move past a row that throws is continued by the next call,
 * or dropped by a seek, which then moves all children.
 *
 * Ownership: a row in several sources is shown in memory of this object, until the next such row.
 */
import { assert } from '../../../base/assert.js'
import { emptyBytes, equalBytes } from '../../../base/bytes.js'
import { isVisiblePut } from '../../cell/plain-put.js'
import type { BackwardCursor, Cursor, DeferredCursor } from '../../cursor/cursor.js'
import { MergeCursor } from '../../cursor/merge-cursor.js'
import { SeekKey } from '../../filter/seek-key.js'
import { entryStartOf, RowCounter } from '../../sstable/rows/row-entries.js'
import { RowOverlay } from '../../sstable/rows/row-overlay.js'
import { RowWalk } from '../../sstable/rows/row-walk.js'
import { BackwardRow } from './backward-loop.js'

/** Number of cells of a source in memory that are laid over a row; more are read one by one. */
const cellsInMemoryMax = 32

/** The sources of a row that are put together; rows with more are read cell by cell. */
const sourcesMax = 8

export class RowMergeCursor extends MergeCursor {
  /** Whether rows in several sources are put together, of the newest put of each column. */
  laysOver = false
  /** Number of children with entries of the row that was put together; 0: there is no such row. */
  private laid = 0
  private isPassing = false
  private movedCount = 0
  /** Ends of the row in the sources, in order; 0: the source is in memory. */
  private readonly ends = new Float64Array(sourcesMax)
  /** Where the sources in memory were. */
  private readonly places: SeekKey[] = []
  private readonly overlay = new RowOverlay()
  private readonly walk = new RowWalk()
  private readonly counter = new RowCounter()
  /** The cells of a source that was walked backwards. */
  private readonly behind = new BackwardRow()

  override setChildren(
    children: readonly Cursor[],
    deferring?: readonly (DeferredCursor | undefined)[],
  ): void {
    this.dropRow()
    super.setChildren(children, deferring)
  }

  /** Drops references to the memory of rows and cells, and all children. */
  release(): void {
    this.setChildren([])
    this.overlay.release()
    this.walk.buffer = emptyBytes
    this.behind.release()
  }

  override startWithin(key: Uint8Array, length: number): void {
    this.dropRow()
    super.startWithin(key, length)
  }

  override seek(key: Uint8Array, length: number): void {
    if (this.laid > 0) this.leaveRow()
    super.seek(key, length)
  }

  override seekBefore(key: Uint8Array, length: number): void {
    this.dropRow()
    super.seekBefore(key, length)
  }

  override next(): void {
    if (this.isPassing) {
      this.moveOn()
      return
    }
    if (this.laid > 0) this.leaveRow()
    this.nextEntry()
  }

  override previous(): void {
    if (this.laid > 0) this.moveBack()
    else super.previous()
  }

  override plainRowEnd(readPoint: number, oldest: number, rowBytes: number): number {
    const { children, sorted } = this
    const sources = this.countSources(rowBytes)
    if (sources > 1) return this.layRow(sources, readPoint, oldest, rowBytes)
    const first = children[sorted[0]]
    const end = first.plainRowEnd(readPoint, oldest, rowBytes)
    if (end > 0) this.showEntryOf(first)
    return end
  }

  override passRow(): void {
    const { children, sorted, laid } = this
    if (laid === 0) {
      const first = children[sorted[0]]
      first.passRow()
      this.showEntryOf(first)
      return
    }
    assert(!this.isPassing, 'a row is passed once')
    for (let i = 0; i < laid; i++) if (this.ends[i] > 0) children[sorted[i]].passRow()
    this.isPassing = true
    this.movedCount = 0
  }

  override plainRowBack(readPoint: number, oldest: number, rowBytes: number): number {
    const { children, sorted } = this
    const sources = this.countSources(rowBytes)
    if (sources > 1) return this.layRowBack(sources, readPoint, oldest, rowBytes)
    const first = children[sorted[0]] as BackwardCursor
    const end = first.plainRowBack(readPoint, oldest, rowBytes)
    if (end > 0) this.showEntryOf(first)
    return end
  }

  /** Number of children with entries of the row shown: the first ones in order. */
  private countSources(rowBytes: number): number {
    const { children, sorted, size } = this
    let count = 1
    while (count < size && this.isInRow(children[sorted[count]], rowBytes)) count++
    return count
  }

  private layRow(sources: number, readPoint: number, oldest: number, rowBytes: number): number {
    const { children, sorted, ends, overlay, places } = this
    if (!this.mayLay(sources)) return 0
    for (let i = 0; i < sources; i++) {
      const child = children[sorted[i]]
      const walks = child.isInMemory && isPlain(child, readPoint, oldest)
      ends[i] = child.isInMemory ? 0 : child.plainRowEnd(readPoint, oldest, rowBytes)
      if (ends[i] === 0 && !walks) return 0
    }
    const base = this.beginOverlay(sources)
    if (base < 0) return 0
    for (let i = 0; i < sources; i++) {
      if (i === base) continue
      const child = children[sorted[i]]
      overlay.beginSource()
      if (child.isInMemory) (places[i] ??= new SeekKey()).setEntry(child)
      const isLaid =
        ends[i] > 0
          ? this.addRow(child, ends[i])
          : this.addAhead(child, readPoint, oldest, rowBytes)
      if (!isLaid || !overlay.endSource()) {
        this.seekBack(i + 1)
        return 0
      }
    }
    return this.showOverlay(sources)
  }

  private layRowBack(sources: number, readPoint: number, oldest: number, rowBytes: number): number {
    const { children, sorted, ends, overlay } = this
    if (!this.mayLay(sources)) return 0
    let failure = 0
    for (let i = 0; i < sources; i++) {
      const child = children[sorted[i]] as BackwardCursor
      const walks = child.isInMemory && isPlain(child, readPoint, oldest)
      ends[i] = child.isInMemory ? 0 : child.plainRowBack(readPoint, oldest, rowBytes)
      if (ends[i] === 0 && !walks) return failure
      // A source with one entry of the row has not moved.
      if (ends[i] > child.valueEnd) failure = -1
    }
    const base = this.beginOverlay(sources)
    if (base < 0) return failure
    for (let i = 0; i < sources; i++) {
      if (i === base) continue
      const child = children[sorted[i]] as BackwardCursor
      overlay.beginSource()
      const isLaid =
        ends[i] > 0
          ? this.addRow(child, ends[i])
          : this.addBehind(child, readPoint, oldest, rowBytes)
      if (!isLaid || !overlay.endSource()) return -1
    }
    return this.showOverlay(sources)
  }

  private mayLay(sources: number): boolean {
    assert(this.laid === 0, 'a row is passed or left before another one is put together')
    return this.laysOver && sources <= sourcesMax && this.deferring.length === 0
  }

  /** Begins with the largest row of the sources, and returns its place; -1: there is none. */
  private beginOverlay(sources: number): number {
    const { children, sorted, ends, counter } = this
    let base = -1
    let bytes = 0
    for (let i = 0; i < sources; i++) {
      const { keyStart } = children[sorted[i]]
      if (ends[i] - keyStart <= bytes) continue
      base = i
      bytes = ends[i] - keyStart
    }
    if (base < 0) return -1
    const { buffer, keyStart, keyEnd, valueEnd } = children[sorted[base]]
    const start = entryStartOf(keyStart, keyEnd, valueEnd)
    // A row of one entry is read as fast by itself.
    if (ends[base] === valueEnd || !counter.read(buffer, start, ends[base])) return -1
    this.overlay.begin(buffer, start, ends[base])
    return base
  }

  /** Lays the row of a source over; false if its lengths do not lead to its end. */
  private addRow({ buffer, keyStart, keyEnd, valueEnd }: Cursor, end: number): boolean {
    const { walk, overlay } = this
    let isAtEntry = walk.begin(buffer, entryStartOf(keyStart, keyEnd, valueEnd), end)
    while (isAtEntry) {
      overlay.addEntry(walk)
      isAtEntry = walk.next()
    }
    return walk.isComplete
  }

  /** Moves a source in memory past its cells of the row, and lays them over. */
  private addAhead(child: Cursor, readPoint: number, oldest: number, rowBytes: number): boolean {
    let cells = 0
    do {
      if (!isPlain(child, readPoint, oldest) || ++cells > cellsInMemoryMax) return false
      const { buffer, keyStart, keyEnd } = child
      this.overlay.add(buffer, keyStart, keyEnd, child.valueEnd)
      child.next()
    } while (child.valid && this.isInRow(child, rowBytes))
    return true
  }

  /** As {@link addAhead}, backwards. */
  private addBehind(
    child: BackwardCursor,
    readPoint: number,
    oldest: number,
    rowBytes: number,
  ): boolean {
    const { behind } = this
    behind.count = 0
    do {
      if (!isPlain(child, readPoint, oldest) || behind.count === cellsInMemoryMax) return false
      behind.keep(child.buffer, child.keyStart, child.keyEnd, child.valueEnd)
      child.previous()
    } while (child.valid && this.isInRow(child, rowBytes))
    behind.layOver(this.overlay)
    return true
  }

  /** Whether a child is at an entry of the row shown. */
  private isInRow({ buffer, keyStart, keyEnd }: Cursor, rowBytes: number): boolean {
    const { buffer: row, keyStart: start } = this
    const end = keyStart + rowBytes
    return end <= keyEnd && equalBytes(buffer, keyStart, end, row, start, start + rowBytes)
  }

  /** Shows the row that was put together. */
  private showOverlay(sources: number): number {
    const { walk } = this
    const { buffer, start, end } = this.overlay
    const isRow = walk.begin(buffer, start, end)
    assert(isRow, 'a row that was put together begins with its key')
    this.buffer = buffer
    this.keyStart = walk.keyStart
    this.keyEnd = walk.keyEnd
    this.valueStart = walk.valueStart
    this.valueEnd = walk.valueEnd
    this.laid = sources
    return end
  }

  /** Moves past the row. */
  private moveOn(): void {
    const { children, sorted, ends, laid } = this
    for (; this.movedCount < laid; this.movedCount++) {
      if (ends[this.movedCount] > 0) children[sorted[this.movedCount]].next()
    }
    this.dropRow()
    this.placeMoved(laid)
  }

  /** Moves before the row. */
  private moveBack(): void {
    const { children, sorted, ends, laid } = this
    for (let i = 0; i < laid; i++) {
      if (ends[i] > 0) (children[sorted[i]] as BackwardCursor).previous()
    }
    this.dropRow()
    this.placeMoved(laid)
  }

  /** Returns to the entries of the row, or lets a seek move all children. */
  private leaveRow(): void {
    if (this.isPassing || this.backward) this.ordered = false
    else {
      this.seekBack(this.laid)
      this.showEntryOf(this.children[this.sorted[0]])
    }
    this.dropRow()
  }

  /** Seeks the sources in memory back to their first entries of the row, of the first `count`. */
  private seekBack(count: number): void {
    const { children, sorted, places, ends } = this
    for (let i = 0; i < count; i++) {
      if (ends[i] === 0) children[sorted[i]].seek(places[i].buffer, places[i].length)
    }
  }

  private dropRow(): void {
    this.laid = 0
    this.isPassing = false
  }
}

/** Whether the entry of a cursor is a plain put that the read sees. */
function isPlain(cursor: Cursor, readPoint: number, oldest: number): boolean {
  return isVisiblePut(cursor.buffer, cursor.keyEnd, cursor.valueStart, readPoint, oldest)
}
