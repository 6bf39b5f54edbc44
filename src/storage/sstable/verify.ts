/** Checks an open SSTable completely: in scrubs, after compactions, at bulk loads and restores. */
import { commonPrefixLength, compareBytes, equalBytes } from '../../base/bytes.js'
import type { CellarError } from '../../base/errors.js'
import { isWellFormedKey, keySuffixBytes } from '../cell/cell-key.js'
import { isPlainPutOf } from '../cell/plain-put.js'
import type { Codecs } from '../codec/codec.js'
import type { File } from '../fs/types.js'
import { damagedEntry, entryOffset, isRowEntry, rowMarks, type Block } from './blocks/block.js'
import { BlockMemoryPool } from './blocks/block-memory.js'
import { BlockStream } from './blocks/block-stream.js'
import { RowWalk } from './rows/row-walk.js'
import { beginsRowMark, plainRowMark } from './format.js'
import { readSsTableMeta } from './meta.js'
import type { BlockSource } from './blocks/block-source.js'
import { damaged } from './blocks/section.js'

/** Totals over the blocks checked so far. */
class Totals {
  entryCount = 0
  keyBytes = 0
  valueBytes = 0
  readonly walk = new RowWalk()
  readonly lastKey = new LastKey()
  readonly lastColumn = new LastColumn()
  /** Whether the row of the last key is marked as plain. */
  isPlainRow = false
}

/**
 * Reads `file` again, bypassing the cache: footer, sections and every block. Throws
 * `ERR_CORRUPTION` unless all agree with each other and with the open reader. Yields after each
 * block.
 */
export function* verifySsTable(
  reader: BlockSource,
  file: File,
  codecs: Codecs,
  databaseId: Buffer,
): Generator<void, void> {
  const { writtenAs, fileBytes: expectedBytes, keyPatch } = reader
  const expected = { databaseId, expectedBytes, keyPatch }
  const meta = readSsTableMeta(file, writtenAs, { codecs, ...expected })
  const { index, properties } = meta
  const totals = new Totals()
  const pool = new BlockMemoryPool()
  const stream = new BlockStream(reader, pool)
  for (let i = 0; i < index.blockCount; i++) {
    verifyBlock(reader, stream.read(i), totals)
    // The totals now refer to the last key of this block, no longer to the previous block.
    pool.recycle()
    yield
    reader.throwIfClosed()
  }
  if (
    totals.entryCount !== properties.entryCount ||
    totals.keyBytes !== properties.keyBytes ||
    totals.valueBytes !== properties.valueBytes
  ) {
    const { entryCount, keyBytes, valueBytes } = totals
    throw damaged(
      reader,
      0,
      `${properties.entryCount} entries of ${properties.keyBytes} + ${properties.valueBytes} bytes`,
      `${entryCount} of ${keyBytes} + ${valueBytes}`,
    )
  }
  const { buffer, start, end } = totals.lastKey
  const { lastKey } = properties
  if (compareBytes(buffer, start, end, lastKey, 0, lastKey.length) !== 0) {
    throw damaged(reader, 0, 'the last key that the properties name', 'another')
  }
}

/** The last key of the block before, or of the row before. */
class LastKey {
  buffer: Buffer = Buffer.alloc(0)
  start = 0
  end = 0
  private memory: Buffer = Buffer.allocUnsafe(256)

  /** Sets the key to that of the entry of a walk, which is borrowed for a row entry. */
  set(walk: RowWalk): void {
    if (walk.isAtRow) {
      this.buffer = walk.buffer
      this.start = walk.keyStart
      this.end = walk.keyEnd
      return
    }
    if (walk.keyBytes > this.memory.length) this.memory = Buffer.allocUnsafe(2 * walk.keyBytes)
    this.buffer = this.memory
    this.start = 0
    this.end = walk.writeKey(this.memory, 0)
  }

  /** Number of first bytes that it shares with a key, which has to be after it; -1: it is not. */
  sharedWith(buffer: Buffer, start: number, end: number): number {
    const shared = commonPrefixLength(this.buffer, this.start, this.end, buffer, start, end)
    if (start + shared === end) return -1
    // The last key ends there, or has a smaller byte.
    const at = this.start + shared
    return at === this.end || this.buffer[at] < buffer[start + shared] ? shared : -1
  }
}

/** The column of the entry before in a row. */
class LastColumn {
  private start = 0
  private end = 0
  private suffixEnd = 0

  set({ columnStart, columnEnd, suffixEnd }: RowWalk): void {
    this.start = columnStart
    this.end = columnEnd
    this.suffixEnd = suffixEnd
  }

  /** Whether a column entry is of the same column. */
  isSame({ buffer, columnStart, columnEnd }: RowWalk): boolean {
    return equalBytes(buffer, this.start, this.end, buffer, columnStart, columnEnd)
  }

  /** Whether the key of a column entry is after the key before, by column and suffix. */
  isBefore({ buffer, columnStart, columnEnd, suffixEnd }: RowWalk): boolean {
    const order = compareBytes(buffer, this.start, this.end, buffer, columnStart, columnEnd)
    if (order !== 0) return order < 0
    const last = this.suffixEnd - keySuffixBytes
    const start = suffixEnd - keySuffixBytes
    return compareBytes(buffer, last, this.suffixEnd, buffer, start, suffixEnd) < 0
  }
}

/**
 * Checks the marks of the slot of an entry. `isOther`: it is a cell of another row than the entry
 * before, or the first of the block in that row and `begins` is false; of a column entry, it is of
 * another column.
 */
function checkMarks(
  reader: BlockSource,
  block: Block,
  slot: number,
  walk: RowWalk,
  isOther: boolean,
  totals: Totals,
): void {
  const { buffer, index } = block
  const marks = rowMarks(block, slot)
  const begins = (marks & beginsRowMark) !== 0
  if (begins) totals.isPlainRow = (marks & plainRowMark) !== 0
  else if (marks !== 0) throw reader.damagedBlock(index, 'a plain row that begins', 'none')
  const isCell = walk.rowBytes > 0 && isWellFormedKey(buffer, walk.keyStart, walk.keyEnd)
  if (!isCell && (totals.isPlainRow || !walk.isAtRow)) {
    throw reader.damagedBlock(index, 'a cell key', otherAt(slot))
  }
  if (begins ? isCell && !isOther : totals.isPlainRow && (slot === 0 || !isOther)) {
    const expected = begins ? 'another row' : 'another column of the row'
    throw reader.damagedBlock(index, expected, otherAt(slot))
  }
  if (totals.isPlainRow && !isPlainPutOf(buffer, walk.suffixEnd, walk.valueStart)) {
    throw reader.damagedBlock(index, 'plain puts in a plain row', otherAt(slot))
  }
}

function otherAt(slot: number): string {
  return `slot ${slot} with another`
}

function verifyBlock(reader: BlockSource, block: Block, totals: Totals): void {
  const { index } = reader
  const { buffer, entriesEnd } = block
  const { walk, lastKey, lastColumn } = totals
  let { keyBytes, valueBytes } = totals
  let at = 0
  for (let slot = 0; slot < block.count; slot++) {
    const offset = entryOffset(block, slot)
    if (offset !== at) throw reader.damagedBlock(block.index, `slot ${slot} ${at}`, `${offset}`)
    let isOther = true
    if (isRowEntry(block, slot)) {
      if (totals.entryCount + slot > 0) lastKey.set(walk)
      if (!walk.begin(buffer, at, entriesEnd)) throw damagedEntry(block, at)
      isOther = checkRowEntry(reader, block, slot, totals)
    } else {
      lastColumn.set(walk)
      if (!walk.next()) throw damagedEntry(block, at)
      if (!lastColumn.isBefore(walk)) throw outOfOrder(reader, block, slot)
      isOther = !lastColumn.isSame(walk)
    }
    checkMarks(reader, block, slot, walk, isOther, totals)
    keyBytes += walk.keyBytes
    valueBytes += walk.valueEnd - walk.valueStart
    at = walk.valueEnd
  }
  if (at !== entriesEnd) {
    throw reader.damagedBlock(block.index, `entries of ${entriesEnd} bytes`, `${at}`)
  }
  totals.entryCount += block.count
  totals.keyBytes = keyBytes
  totals.valueBytes = valueBytes
  lastKey.set(walk)
  if (index.compareSeparator(block.index, lastKey.buffer, lastKey.start, lastKey.end) < 0) {
    throw reader.damagedBlock(block.index, 'keys up to the separator', 'one above')
  }
}

/** Checks the key of a row entry; returns whether it is of another row than the key before. */
function checkRowEntry(reader: BlockSource, block: Block, slot: number, totals: Totals): boolean {
  const { index, properties } = reader
  const { buffer, keyStart, keyEnd, rowBytes } = totals.walk
  if (totals.entryCount + slot === 0) {
    const { firstKey } = properties
    if (compareBytes(firstKey, 0, firstKey.length, buffer, keyStart, keyEnd) !== 0) {
      throw reader.damagedBlock(block.index, 'the first key that the properties name', 'another')
    }
    return true
  }
  const shared = totals.lastKey.sharedWith(buffer, keyStart, keyEnd)
  if (shared < 0) throw outOfOrder(reader, block, slot)
  if (slot === 0 && index.compareSeparator(block.index - 1, buffer, keyStart, keyEnd) >= 0) {
    throw reader.damagedBlock(block.index, 'keys above the separator before', 'one below')
  }
  return shared < rowBytes
}

function outOfOrder(reader: BlockSource, block: Block, slot: number): CellarError {
  return reader.damagedBlock(block.index, 'ascending keys', `slot ${slot} out of order`)
}
