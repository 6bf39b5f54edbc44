/**
 * The entries of one row (or column) in one table, in order: what a cursor shows, without a
 * cursor's seeks.
 *
 * Failure: `ERR_CORRUPTION` for a block that contradicts itself, and what reading one throws. A
 * block that is not in the cache and may not be read ends the row with `isMissing`. Ownership: the
 * entry shown lies in a block, which nobody changes.
 */
import { equalBytes } from '../base/bytes.js'
import { readVarint, varintLength } from '../base/varint.js'
import { terminatorBytes, writeBehind, writeTerminator } from '../cell/cell-key.js'
import { damagedEntry, entryOffset, type Block } from './block.js'
import type { SsTableReader } from './reader.js'

const noBytes = Buffer.alloc(0)

/** Walks through a row or a column; reusable. It has the fields of a `Cursor`. */
export class RowEntries {
  /** An entry of the row is shown. */
  valid = false
  buffer: Buffer = noBytes
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  /** Whether a block that is not in the cache is read from the disk. */
  mayBlock = false
  /** The row may go on in a block that is not in the cache, and that may not be read. */
  isMissing = false
  private table: SsTableReader | undefined = undefined
  private block: Block | undefined = undefined
  /** What the keys begin with, `row[0, length)`, terminator included; borrowed. */
  private row: Buffer = noBytes
  private length = 0

  /**
   * Shows the entry at `offset` of a block if its key begins with `row[0, length)`: a row, or a row
   * and a qualifier, with terminators. It is borrowed as long as entries are walked through.
   */
  start(table: SsTableReader, block: Block, offset: number, row: Buffer, length: number): void {
    this.table = table
    this.block = block
    this.row = row
    this.length = length
    this.buffer = block.buffer
    this.isMissing = false
    this.show(block, offset)
  }

  /** Moves to the next entry of the row. REQUIRES valid. */
  next(): void {
    const block = this.block!
    if (this.valueEnd < block.entriesEnd) this.show(block, this.valueEnd)
    else this.enterNextBlock(block)
  }

  /** Lets go of table and block. */
  release(): void {
    this.valid = false
    this.table = undefined
    this.block = undefined
    this.buffer = noBytes
    this.row = noBytes
  }

  private show(block: Block, at: number): void {
    const { buffer, entriesEnd } = block
    let offset = at
    let keyLength = buffer[offset++]
    if (keyLength >= 0x80) {
      keyLength = readVarint(buffer, offset - 1, entriesEnd)
      offset += varintLength(keyLength) - 1
    }
    let valueLength = buffer[offset++]
    if (valueLength >= 0x80) {
      valueLength = readVarint(buffer, offset - 1, entriesEnd)
      offset += varintLength(valueLength) - 1
    }
    const keyEnd = offset + keyLength
    const valueEnd = keyEnd + valueLength
    // Negated, so that a length read beyond the block (undefined, hence NaN) fails too.
    if (!(valueEnd <= entriesEnd) || keyLength < 0 || valueLength < 0) throw damagedEntry(block, at)
    const rowEnd = offset + this.length
    this.keyStart = offset
    this.keyEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = valueEnd
    this.valid = rowEnd <= keyEnd && equalBytes(buffer, offset, rowEnd, this.row, 0, this.length)
  }

  private enterNextBlock({ index }: Block): void {
    const table = this.table!
    if (this.endsWith(table, index)) {
      this.valid = false
      return
    }
    const block = table.find(index + 1, this.mayBlock)
    if (block === undefined) {
      this.valid = false
      this.isMissing = true
      return
    }
    this.block = block
    this.buffer = block.buffer
    this.show(block, entryOffset(block, 0))
  }

  /** Whether the row cannot go on behind a block. */
  private endsWith(table: SsTableReader, index: number): boolean {
    if (index + 1 === table.index.blockCount) return true
    const { row, length } = this
    writeBehind(row, length - terminatorBytes)
    const order = table.index.compareSeparator(index, row, 0, length)
    writeTerminator(row, length - terminatorBytes)
    return order >= 0
  }
}
