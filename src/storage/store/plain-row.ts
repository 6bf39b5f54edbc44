/**
 * Finds a row in the memory of a cached block, if all of its entries are plain puts, one of each
 * column. Such a row can be copied as it lies there, without a cursor and without the rules.
 *
 * Failure behaviour: lengths are compared with the block before use, as cursors do
 * (`ERR_CORRUPTION`).
 */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import { readVarint, varintLength } from '../../base/varint.js'
import {
  keySuffixBytes,
  qualifierEndOf,
  rowEndOf,
  terminatorBytes,
  typeOf,
} from '../cell/cell-key.js'
import { CellType } from '../cell/cell-type.js'
import { plainValueFlags } from '../cell/cell-value.js'
import { damagedEntry, entryOffset, findEntry, type Block } from '../sstable/blocks/block.js'
import { frequencyMax } from '../sstable/blocks/block-cache.js'
import type { SsTableReader } from '../sstable/reader.js'

/** The place of a row that was found; see the file header. */
export class PlainRow {
  /** Index of the block in its SSTable. */
  index = 0
  /** Slot of the row's first entry. */
  slot = 0
  /** The entries of the row are `buffer[start, end)`; borrowed until the cache changes. */
  buffer: Buffer = emptyBytes
  start = 0
  end = 0

  /**
   * Finds the row that begins with `row[0, length)`, which ends with a terminator. False: the row
   * is not here, not plain, goes on in another block, or its block is not in the cache.
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
    const start = entryOffset(block, slot)
    const cells = this.passRow(block, start, row, length)
    if (cells === 0) return false
    const next = slot + cells
    const isLast = next >= block.count
    // The slots agree with the lengths, unless the block is damaged: then the cursor decides.
    if ((isLast ? block.entriesEnd : entryOffset(block, next)) !== this.end) return false
    if (isLast && (next > block.count || goesOn(table, block.index, row, length))) return false
    const { frequency } = block
    // As in a cursor: a negative frequency stands for the use that the block was read for.
    if (frequency >= 0) table.counters.cacheHits++
    if (frequency < frequencyMax) block.frequency = frequency + 1
    this.index = block.index
    this.slot = slot
    this.buffer = block.buffer
    this.start = start
    return true
  }

  /**
   * Sets the end of the entries from offset `start` on that begin with `row[0, length)`, and
   * returns their number; 0: there is none, or they are not plain puts of different columns.
   */
  private passRow(block: Block, start: number, row: Buffer, length: number): number {
    const { buffer, entriesEnd } = block
    let at = start
    let cells = 0
    /** The qualifier of the entry before, with its terminator; -1: there is none. */
    let columnStart = -1
    let columnEnd = -1
    while (at < entriesEnd) {
      let keyStart = at
      let keyLength = buffer[keyStart++]
      if (keyLength >= 0x80) {
        keyLength = readVarint(buffer, at, entriesEnd)
        keyStart = at + varintLength(keyLength)
      }
      const lengthStart = keyStart
      let valueLength = buffer[keyStart++]
      if (valueLength >= 0x80) {
        valueLength = readVarint(buffer, lengthStart, entriesEnd)
        keyStart = lengthStart + varintLength(valueLength)
      }
      const keyEnd = keyStart + keyLength
      const valueEnd = keyEnd + valueLength
      if (!(valueEnd <= entriesEnd) || keyLength < 0 || valueLength < 0) {
        throw damagedEntry(block, at)
      }
      const qualifierStart = keyStart + length
      if (
        qualifierStart > keyEnd ||
        !equalBytes(buffer, keyStart, qualifierStart, row, 0, length)
      ) {
        break
      }
      if (
        buffer[keyEnd] !== plainValueFlags ||
        // The high byte of a timestamp is zero except in the far future; it is stored as 0x7f.
        buffer[keyEnd - keySuffixBytes] !== 0x7f ||
        typeOf(buffer, keyEnd) !== CellType.put ||
        rowEndOf(buffer, keyStart, keyEnd) !== qualifierStart - terminatorBytes
      ) {
        return 0
      }
      const qualifierEnd = qualifierEndOf(keyEnd) + terminatorBytes
      if (isSame(buffer, columnStart, columnEnd, qualifierStart, qualifierEnd)) return 0
      columnStart = qualifierStart
      columnEnd = qualifierEnd
      at = valueEnd
      cells++
    }
    this.end = at
    return cells
  }
}

function cachedBlock(table: SsTableReader, index: number): Block | undefined {
  return table.blocks[index] ?? table.findWritten(index)
}

/** Whether the block after `index` may have entries of the row too, by the separator. */
function goesOn({ index }: SsTableReader, at: number, row: Buffer, length: number): boolean {
  const { separators, separatorOffsets } = index
  const start = separatorOffsets[at]
  const end = start + length
  if (at + 1 === index.blockCount || end > separatorOffsets[at + 1]) return false
  return equalBytes(separators, start, end, row, 0, length)
}

/** Whether two ranges have equal bytes; neighbours of one length differ mostly at their ends. */
function isSame(
  buffer: Buffer,
  start: number,
  end: number,
  otherStart: number,
  otherEnd: number,
): boolean {
  let length = end - start
  if (start < 0 || length !== otherEnd - otherStart) return false
  while (--length >= 0 && buffer[start + length] === buffer[otherStart + length]);
  return length < 0
}
