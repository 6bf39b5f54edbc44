/**
 * A cursor over the SSTables of one level below 0. They are sorted and disjoint, so they are read
 * one after the other, and a seek finds its SSTable by binary search. See
 * `src/storage/cursor/cursor.ts` for the contract.
 *
 * One SSTable cursor is read at a time. Blocks of an SSTable that was left are never recycled,
 * because cells of the current row may be in them, and its cursor holds none.
 */
import { compareBytes, emptyBytes } from '../../base/bytes.js'
import { ShownEntry, type BackwardCursor } from '../cursor/cursor.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'
import { findTable } from './row-probe.js'
import type { ReadMode } from './source-cursors.js'

/** Gives the cursors of SSTables by their indexes among the sources. */
export interface TableCursors {
  tableOfRange(position: number, mode: ReadMode): SsTableCursor
}

export class LevelCursor extends ShownEntry implements BackwardCursor {
  private readonly cursors: TableCursors
  /** In key order. */
  private readonly tables: SsTableReader[] = []
  /** The index of each SSTable among the sources. */
  private readonly positions: number[] = []
  private mode: ReadMode = { mayBlock: true, cacheBlocks: true }
  /** Index of the SSTable that {@link child} reads. */
  private index = -1
  private child: SsTableCursor | undefined = undefined
  /** True if `next` or `previous` has left one SSTable and threw for a block of the other. */
  private entering = false

  constructor(cursors: TableCursors) {
    super()
    this.cursors = cursors
  }

  /** Begins a read of the SSTables that are then added. Invalid until the first seek. */
  begin(mode: ReadMode): void {
    while (this.tables.length > 0) this.tables.pop()
    while (this.positions.length > 0) this.positions.pop()
    this.mode = mode
    this.index = -1
    this.child = undefined
    this.entering = false
    this.valid = false
  }

  /** Adds an SSTable of the level, behind those added before. */
  add(position: number, table: SsTableReader): void {
    this.positions.push(position)
    this.tables.push(table)
  }

  seek(key: Uint8Array, length: number): void {
    this.valid = false
    this.entering = false
    const index = findTable(this.tables, 0, this.tables.length, key, length)
    if (index === this.tables.length) return
    const child = this.childAt(index)
    child.seek(key, length)
    this.showEntryOf(child)
  }

  seekBefore(key: Uint8Array, length: number): void {
    this.valid = false
    this.entering = false
    const { tables } = this
    let low = 0
    let high = tables.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const { firstKey } = tables[middle].properties
      if (compareBytes(firstKey, 0, firstKey.length, key, 0, length) < 0) low = middle + 1
      else high = middle
    }
    if (low === 0) return
    const child = this.childAt(low - 1)
    child.seekBefore(key, length)
    this.showEntryOf(child)
  }

  next(): void {
    let child = this.child!
    if (!this.entering) {
      child.next()
      if (child.valid) {
        this.showEntryOf(child)
        return
      }
      if (this.index + 1 === this.tables.length) {
        this.valid = false
        return
      }
      this.entering = true
      child = this.childAt(this.index + 1)
    }
    child.seek(emptyBytes, 0)
    this.entering = false
    this.showEntryOf(child)
  }

  override plainRowEnd(readPoint: number, oldest: number, rowBytes: number): number {
    return this.child!.plainRowEnd(readPoint, oldest, rowBytes)
  }

  override passRow(): void {
    this.child!.passRow()
    this.showEntryOf(this.child!)
  }

  override plainRowBack(readPoint: number, oldest: number, rowBytes: number): number {
    const end = this.child!.plainRowBack(readPoint, oldest, rowBytes)
    if (end > 0) this.showEntryOf(this.child!)
    return end
  }

  previous(): void {
    let child = this.child!
    if (!this.entering) {
      child.previous()
      if (child.valid) {
        this.showEntryOf(child)
        return
      }
      if (this.index === 0) {
        this.valid = false
        return
      }
      this.entering = true
      child = this.childAt(this.index - 1)
    }
    child.seekLast()
    this.entering = false
    this.showEntryOf(child)
  }

  /** See {@link SsTableCursor.endRead}. */
  endRead(): void {
    this.child?.endRead()
    this.child = undefined
    this.index = -1
    this.valid = false
    this.buffer = emptyBytes
  }

  private childAt(index: number): SsTableCursor {
    if (index === this.index) return this.child!
    this.child?.abandonRead()
    const child = this.cursors.tableOfRange(this.positions[index], this.mode)
    this.child = child
    this.index = index
    return child
  }
}
