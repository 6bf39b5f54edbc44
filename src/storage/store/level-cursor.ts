/**
 * A cursor over the SSTables of one level below 0. They are sorted and disjoint, so they are read
 * one after the other, and a seek finds its SSTable by binary search. See
 * `src/storage/cursor/cursor.ts` for the contract.
 *
 * One SSTable cursor is open at a time. Blocks of an SSTable that was left are never recycled,
 * because cells of the current row may be in them.
 */
import { compareBytes, emptyBytes } from '../../base/bytes.js'
import { ShownEntry, type BackwardCursor } from '../cursor/cursor.js'
import type { SsTableCursor } from '../sstable/cursor.js'
import type { SsTableReader } from '../sstable/reader.js'
import { findTable } from './row-probe.js'

export class LevelCursor extends ShownEntry implements BackwardCursor {
  private tables: readonly SsTableReader[] = []
  private mayBlock = true
  private cacheBlocks = true
  /** Index of the SSTable that {@link child} reads. */
  private index = -1
  private child: SsTableCursor | undefined = undefined
  /** True if `next` or `previous` has left one SSTable and threw for a block of the other. */
  private entering = false

  /** Sets the SSTables of a level, or some of them, in key order. Invalid until the next seek. */
  setTables(tables: readonly SsTableReader[], mayBlock: boolean, cacheBlocks: boolean): void {
    this.tables = tables
    this.mayBlock = mayBlock
    this.cacheBlocks = cacheBlocks
    this.index = -1
    this.child = undefined
    this.entering = false
    this.valid = false
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

  override plainRowEnd(readPoint: number, rowBytes: number): number {
    return this.child!.plainRowEnd(readPoint, rowBytes)
  }

  override passRow(): void {
    this.child!.passRow()
    this.showEntryOf(this.child!)
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
    const child = this.tables[index].cursor()
    child.mayBlock = this.mayBlock
    child.cacheBlocks = this.cacheBlocks
    child.beginRead()
    this.child = child
    this.index = index
    return child
  }
}
