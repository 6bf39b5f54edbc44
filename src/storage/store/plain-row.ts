/**
 * Finds a plain row in the memory of a cached block, by the marks of the block or by its address,
 * or a copy of a row. Such a row can be copied as it lies there, without a cursor and without the
 * rules.
 *
 * Failure behaviour: lengths are compared with the block before use. A row whose lengths contradict
 * the block is not found; a cursor reports it (`ERR_CORRUPTION`).
 */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { addressHitsMax, entryOffset, plainRowCells, type Block } from '../sstable/blocks/block.js'
import { findEntry } from '../sstable/blocks/block-search.js'
import { frequencyMax, type BlockCache } from '../sstable/blocks/block-cache.js'
import { copySequence } from '../sstable/rows/row-copies.js'
import { keyStartAt, RowEntries } from '../sstable/rows/row-entries.js'
import type { SsTableReader } from '../sstable/reader.js'

export class PlainRow {
  /** Index of the block in its SSTable. */
  index = 0
  /** Slot of the row's first entry. */
  slot = 0
  /** The entries of the row are `buffer[start, end)`; borrowed until the cache changes. */
  buffer: Buffer = emptyBytes
  start = 0
  end = 0
  /** Longer rows are not found. */
  bytesMax = Infinity
  private readonly entries = new RowEntries()

  /**
   * Finds the row that begins with `row[0, length)`, which ends with a terminator. False: the row
   * is not here, is not marked as plain, or its block is not in the cache.
   */
  find(table: SsTableReader, row: Buffer, length: number): boolean {
    const { index } = table
    const at = index.find(row, length)
    if (at === index.blockCount) return false
    const block = cachedBlock(table, at)
    if (block === undefined) return false
    const slot = findEntry(block, row, length)
    return slot < block.count && this.take(table, block, slot, row, length)
  }

  /** Finds the row by the address at its location, which has to be found. */
  findAddressed(table: SsTableReader, row: Buffer, length: number): boolean {
    const { cache, counters, hits } = table
    const { rows } = cache
    if (rows.isCopy || !this.readAddress(cache, row, length)) return false
    counters.cacheHits++
    if (hits[rows.block] < addressHitsMax) hits[rows.block]++
    return true
  }

  /**
   * Finds a copy of the row by the address at its location, which has to be found: all cells of the
   * row that a read at `readPoint` sees. The hit counts for `table`.
   */
  findCopy(table: SsTableReader, row: Buffer, length: number, readPoint: number): boolean {
    const { cache, counters } = table
    if (!cache.rows.isCopy || !this.readAddress(cache, row, length)) return false
    if (copySequence(this.buffer, this.start) > readPoint) return false
    counters.cacheHits++
    return true
  }

  private readAddress({ addresses, rows }: BlockCache, row: Buffer, length: number): boolean {
    const buffer = addresses.find(rows.address, rows.generation)
    if (buffer === undefined || rows.length > this.bytesMax) return false
    const { start } = rows
    const key = keyStartAt(buffer, start)
    if (!equalBytes(buffer, key, key + length, row, 0, length)) return false
    this.buffer = buffer
    this.start = start
    this.end = start + rows.length
    return true
  }

  /** As {@link find}, for a row that may begin in `slot` of block `index`. */
  findAt(table: SsTableReader, index: number, slot: number, row: Buffer, length: number): boolean {
    const block = cachedBlock(table, index)
    if (block === undefined || slot >= block.count) return false
    return this.take(table, block, slot, row, length)
  }

  private take(
    table: SsTableReader,
    block: Block,
    slot: number,
    row: Buffer,
    length: number,
  ): boolean {
    const cells = plainRowCells(block, slot)
    if (cells === 0) return false
    const start = entryOffset(block, slot)
    const next = slot + cells
    const end = next < block.count ? entryOffset(block, next) : block.entriesEnd
    if (end - start > this.bytesMax) return false
    const { buffer } = block
    // Where the lengths do not lead to the end, the cursor reports the damage.
    if (!this.entries.read(buffer, start, end, cells)) return false
    const keyStart = keyStartAt(buffer, start)
    const rowEnd = keyStart + length
    if (rowEnd > this.entries.suffixEnds[0]) return false
    if (!equalBytes(buffer, keyStart, rowEnd, row, 0, length)) return false
    const { frequency } = block
    // As in a cursor: a negative frequency stands for the use that the block was read for.
    if (frequency >= 0) table.counters.cacheHits++
    if (frequency < frequencyMax) block.frequency = frequency + 1
    this.index = block.index
    this.slot = slot
    this.buffer = buffer
    this.start = start
    this.end = end
    return true
  }
}

function cachedBlock(table: SsTableReader, index: number): Block | undefined {
  return table.blocks[index] ?? table.findWritten(index)
}
