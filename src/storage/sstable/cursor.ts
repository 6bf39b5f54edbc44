/**
 * A cursor over one SSTable. See `src/storage/cursor/cursor.ts` for the contract.
 *
 * The cursor holds every block that it enters. So its entries stay readable when the block is
 * evicted, and even after the reader is closed; then moves that need another block, and all seeks,
 * throw `ERR_CLOSED`. A caller that has no references to entries of earlier reads calls
 * {@link SsTableCursor.beginRead} or {@link SsTableCursor.endRead}. The memory of the blocks may
 * then be recycled.
 *
 * A column entry is shown with its whole key in memory of the cursor (`ShownColumns`).
 *
 * A block that was read by a call that then threw `BlockMissing` is kept, so that the repeated call
 * makes progress even without a cache.
 */
import { assert } from '../../base/assert.js'
import { closedError } from '../../base/errors.js'
import { compareBytes, equalBytes } from '../../base/bytes.js'
import type { Hash64 } from '../../base/hash.js'
import { readVarint, varintLength } from '../../base/varint.js'
import { blockMissing, throwBlockMissing } from '../cursor/cursor.js'
import type { BackwardCursor } from '../cursor/cursor.js'
import {
  damagedEntry,
  entryOffset,
  heldForGood,
  isRowEntry,
  plainRowCells,
  rowSlotOf,
} from './blocks/block.js'
import { lowerBound } from './blocks/block-search.js'
import type { Block } from './blocks/block.js'
import { frequencyMax } from './blocks/block-cache.js'
import type { BlockSource } from './blocks/block-source.js'
import type { BlockStream } from './blocks/block-stream.js'
import { HeldBlocks } from './blocks/held-blocks.js'
import type { RowEntries } from './rows/row-entries.js'
import { ShownColumns } from './rows/shown-columns.js'
import { aheadCacheBytesMin, readAheadBytes } from './blocks/read-ahead.js'

const emptyBuffer = Buffer.alloc(0)

/** Iterates over the entries of an SSTable. Made by `SsTableReader.cursor`. */
export class SsTableCursor implements BackwardCursor {
  valid = false
  buffer: Buffer = emptyBuffer
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = false
  /**
   * If false, a missing block throws BlockMissing instead of being read from disk, unless the gate
   * of the SSTable is open.
   */
  mayBlock = true
  /** If false, blocks read by this cursor are not added to the cache, and its hits do not count. */
  cacheBlocks = true
  /**
   * Only entries that share this number of first bytes with the current one are wanted next. For
   * other entries no block is entered, and the cursor becomes invalid. 0: all entries are wanted.
   */
  rowBytes = 0
  /** Source of blocks that are not in the cache; undefined: the SSTable's file. */
  stream: BlockStream | undefined = undefined
  /** View of the bytes of {@link buffer}; undefined without a stream. */
  words: DataView | undefined = undefined
  private readonly reader: BlockSource
  private block: Block | undefined = undefined
  private slot = 0
  private count = 0
  private entriesEnd = 0
  /** End of the current entry in the block. */
  private entryEnd = 0
  /** Column entries are shown here; made on first use. */
  private columns: ShownColumns | undefined = undefined
  /** Whether the current entry is a column entry. */
  private isAtColumn = false
  /** Number of entries of the row found by {@link plainRowEnd}, and their end. */
  private rowCells = 0
  private rowEnd = 0
  /** Whether the row of the entry shown is passed, so that the position is at the row's end. */
  private isPassed = false
  /** A block read by a call that then threw BlockMissing. */
  private fetched: Block | undefined = undefined
  /** Adjacent blocks that were read ahead, from index {@link aheadFrom} on. */
  private ahead: Block[] = []
  private aheadFrom = 0
  /** Number of consecutive blocks entered since the last seek. */
  private run = 0
  private readonly held = new HeldBlocks()

  /** @internal */
  constructor(reader: BlockSource) {
    this.reader = reader
  }

  /**
   * Begins a read. REQUIRES that there are no references to entries of earlier reads, except those
   * of the cursor itself. Without this call no block is recycled, which costs only memory.
   */
  beginRead(): void {
    this.columns?.beginRead()
    if (this.held.beginRead(this.block)) this.fetched = undefined
  }

  /** Ends a read: releases all blocks, under the conditions of {@link beginRead}. */
  endRead(): void {
    this.valid = false
    this.buffer = emptyBuffer
    this.words = undefined
    this.block = undefined
    if (this.ahead.length > 0) this.ahead = []
    this.beginRead()
  }

  /**
   * Ends a read whose entries are still in use: leaves its blocks to the garbage collector, so that
   * their memory is never recycled.
   */
  abandonRead(): void {
    this.held.abandon()
    this.columns?.abandon()
    this.endRead()
  }

  seek(key: Uint8Array, length: number): void {
    const { reader } = this
    if (reader.closed) this.failClosed()
    if (this.valid && !this.isPassed && this.seekInBlock(key, length)) return
    this.valid = false
    this.run = 0
    const index = reader.index.find(key, length)
    if (index === reader.index.blockCount) return
    const block = this.fetch(index)
    const slot = lowerBound(block, key, length, 0)
    if (slot < block.count) {
      this.enter(block, slot)
    } else if (index + 1 < reader.index.blockCount) {
      // The key is after the last key of the block, and at or below its separator.
      this.fetched = block
      this.enter(this.fetch(index + 1), 0)
    }
  }

  /**
   * Moves to the entry in `slot` of block `index`, a remembered location. Returns false, and
   * becomes invalid, if the entry's key does not begin with `key[0, length)`.
   */
  seekLocated(index: number, slot: number, key: Uint8Array, length: number): boolean {
    const { reader } = this
    if (reader.closed) this.failClosed()
    this.valid = false
    this.run = 0
    const block = this.fetch(index)
    if (slot >= block.count) return false
    this.enter(block, slot)
    const end = this.keyStart + length
    this.valid = end <= this.keyEnd && equalBytes(this.buffer, this.keyStart, end, key, 0, length)
    return this.valid
  }

  /** Remembers the current entry as the first of a row; see {@link RowLocations.note}. */
  noteLocation(hash: Hash64, tablesId: number, table: number): void {
    const block = this.block!
    this.reader.cache.rows.note(hash, tablesId, table, block.index, this.slot)
  }

  seekBefore(key: Uint8Array, length: number): void {
    const { reader } = this
    if (reader.closed) this.failClosed()
    this.valid = false
    this.run = 0
    const { index: tableIndex } = reader
    const index = tableIndex.find(key, length)
    if (index < tableIndex.blockCount) {
      const block = this.fetch(index)
      const slot = lowerBound(block, key, length, 0)
      if (slot > 0) {
        this.enter(block, slot - 1)
        return
      }
      this.fetched = block
    }
    if (index === 0) return
    const before = this.fetch(index - 1)
    this.enter(before, before.count - 1)
  }

  /** Moves to the last entry, or becomes invalid if there is none. */
  seekLast(): void {
    const { reader } = this
    if (reader.closed) this.failClosed()
    this.valid = false
    this.run = 0
    const { blockCount } = reader.index
    if (blockCount === 0) return
    const block = this.fetch(blockCount - 1)
    this.enter(block, block.count - 1)
  }

  previous(): void {
    if (this.slot === 0) {
      this.previousBlock()
      return
    }
    this.slot--
    this.decode(entryOffset(this.block!, this.slot))
  }

  next(): void {
    const slot = this.slot + 1
    if (slot < this.count) {
      this.slot = slot
      this.decode(this.entryEnd)
    } else {
      this.nextBlock()
    }
  }

  plainRowEnd(readPoint: number, oldest: number, _rowBytes: number): number {
    if (!this.showsAll(readPoint, oldest)) return 0
    const block = this.block!
    const cells = plainRowCells(block, this.slot)
    if (cells === 0) return 0
    const next = this.slot + cells
    const end = next < this.count ? entryOffset(block, next) : this.entriesEnd
    const follows = cells === 1 ? end === this.entryEnd : end > this.entryEnd
    if (!follows || end > this.entriesEnd) this.failDamaged(end)
    this.rowCells = cells
    this.rowEnd = end
    return end
  }

  /** Whether a read sees all puts of the SSTable. */
  private showsAll(readPoint: number, oldest: number): boolean {
    const { properties, earliestPut } = this.reader
    return properties.maxSequence <= readPoint && earliestPut >= oldest
  }

  passRow(): void {
    assert(this.rowCells > 0, 'a row that is passed was found to be plain')
    this.slot += this.rowCells - 1
    this.rowCells = 0
    if (this.slot + 1 < this.count) {
      this.entryEnd = this.rowEnd
      this.isPassed = true
    } else this.decode(entryOffset(this.block!, this.slot))
  }

  /** 0 also for a row that begins the block, before which a block may be missing. */
  plainRowBack(readPoint: number, oldest: number, _rowBytes: number): number {
    const { slot, count, entryEnd } = this
    const block = this.block!
    if (!this.showsAll(readPoint, oldest)) return 0
    if (slot + 1 < count && !isRowEntry(block, slot + 1)) return 0
    const rowSlot = rowSlotOf(block, slot)
    if (rowSlot === 0 || plainRowCells(block, rowSlot) === 0) return 0
    if (rowSlot === slot) return entryEnd
    this.slot = rowSlot
    this.decode(entryOffset(block, rowSlot))
    if (entryEnd <= this.entryEnd) this.failDamaged(entryEnd)
    return entryEnd
  }

  /**
   * Reads the lengths of the row that {@link plainRowEnd} has found, which ends at `end`. False:
   * they do not lead there.
   */
  readRow(row: RowEntries, end: number): boolean {
    return row.read(this.block!.buffer, entryOffset(this.block!, this.slot), end, this.rowCells)
  }

  /** Seeks forward without the index, if the key is in the rest of the block. */
  private seekInBlock(key: Uint8Array, length: number): boolean {
    const block = this.block!
    const order = compareBytes(this.buffer, this.keyStart, this.keyEnd, key, 0, length)
    if (order === 0) return true
    if (order > 0) return false
    // A key above the separator is not in this block.
    if (this.reader.index.compareSeparator(block.index, key, 0, length) < 0) return false
    this.valid = false
    const slot = lowerBound(block, key, length, this.slot + 1)
    if (slot === this.count) return false
    this.enter(block, slot)
    return true
  }

  private previousBlock(): void {
    const { reader } = this
    if (reader.closed) this.failClosed()
    const { index } = this.block!
    if (index === 0) {
      this.valid = false
      return
    }
    this.run = 0
    const block = this.fetchBeside(index - 1)
    this.enter(block, block.count - 1)
  }

  private nextBlock(): void {
    const { reader } = this
    if (reader.closed) this.failClosed()
    const index = this.block!.index + 1
    if (index === reader.index.blockCount || this.endsRow(index - 1)) {
      this.valid = false
      return
    }
    const block = this.fetchBeside(index)
    this.run++
    this.enter(block, 0)
  }

  /** Whether, by the block's separator, no wanted entry follows the block. */
  private endsRow(index: number): boolean {
    const { rowBytes, buffer, keyStart, reader } = this
    if (rowBytes === 0) return false
    const { separators, separatorOffsets } = reader.index
    const start = separatorOffsets[index]
    const end = start + rowBytes
    return (
      end > separatorOffsets[index + 1] ||
      !equalBytes(separators, start, end, buffer, keyStart, keyStart + rowBytes)
    )
  }

  /** Fetches a block for a step, which is repeated if the block is missing. */
  private fetchBeside(index: number): Block {
    try {
      return this.fetch(index)
    } catch (error) {
      if (error !== blockMissing) this.valid = false
      throw error
    }
  }

  private enter(block: Block, slot: number): void {
    this.block = block
    this.fetched = undefined
    this.count = block.count
    this.entriesEnd = block.entriesEnd
    this.slot = slot
    this.isAtColumn = false
    this.decode(entryOffset(block, slot))
    this.valid = true
  }

  /** Decodes the entry in the current slot, at offset `at` of the block, as the current one. */
  private decode(at: number): void {
    const block = this.block!
    this.isPassed = false
    if (!isRowEntry(block, this.slot)) {
      this.showColumn(block, at)
      return
    }
    const { buffer } = block
    const { entriesEnd } = this
    if (at >= entriesEnd) this.failDamaged(at)
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
    // Negated, so that a length read after the end of the block (undefined, hence NaN) fails too.
    if (!(valueEnd <= entriesEnd) || keyLength < 0 || valueLength < 0) this.failDamaged(at)
    if (this.buffer !== buffer) this.showBlock(block)
    this.keyStart = offset
    this.keyEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = valueEnd
    this.entryEnd = valueEnd
    this.isAtColumn = false
  }

  private showBlock({ buffer }: Block): void {
    this.buffer = buffer
    const memory = this.stream?.memory
    this.words = memory?.buffer === buffer ? memory.words : undefined
  }

  /** Shows the column entry in the current slot, at offset `at` of the block. */
  private showColumn(block: Block, at: number): void {
    const columns = (this.columns ??= new ShownColumns(this.stream?.pool))
    if (!columns.show(block, this.slot, at, this.isAtColumn)) this.failDamaged(at)
    this.isAtColumn = true
    this.keyStart = columns.keyStart
    this.keyEnd = columns.keyEnd
    this.valueStart = columns.keyEnd
    this.valueEnd = columns.valueEnd
    this.entryEnd = columns.entryEnd
    const { buffer, words } = columns.memory!
    if (this.buffer === buffer) return
    this.buffer = buffer
    this.words = this.stream === undefined ? undefined : words
  }

  /**
   * Fetches block `index` from cache, read-ahead or file, and holds it. Throws BlockMissing before
   * any change.
   */
  private fetch(index: number): Block {
    const { reader } = this
    const cached = reader.blocks[index] ?? this.findWritten(index)
    if (cached === undefined) return this.fetchMissing(index)
    this.held.hold(cached)
    const { frequency } = cached
    // A negative frequency means that this call, made before, requested the block: not a hit.
    if (frequency >= 0) reader.counters.cacheHits++
    if (this.cacheBlocks) {
      if (frequency < frequencyMax) cached.frequency = frequency + 1
    } else if (frequency < 0 && cached.pins === 0) {
      // The block was read ahead for this cursor, which holds it now.
      reader.cache.remove(cached)
    }
    return cached
  }

  private findWritten(index: number): Block | undefined {
    // A job is to find damage of the file.
    return this.stream === undefined ? this.reader.findWritten(index) : undefined
  }

  private fetchMissing(index: number): Block {
    const { reader, block, fetched, ahead } = this
    if (block !== undefined && block.index === index) return block
    if (fetched !== undefined && fetched.index === index) return fetched
    const position = index - this.aheadFrom
    if (position >= 0 && position < ahead.length) return this.admit(ahead[position])
    if (this.stream !== undefined) {
      reader.counters.cacheMisses++
      return this.stream.read(index)
    }
    if (this.mayBlock) return this.readMissing(index)
    const startedAt = reader.gate?.enter() ?? -1
    if (startedAt < 0) throwBlockMissing(reader, index)
    const read = this.readMissing(index)
    reader.gate!.leave(startedAt)
    return read
  }

  private readMissing(index: number): Block {
    const { reader } = this
    reader.counters.cacheMisses++
    const bytes = readAheadBytes(reader.index, index, this.run)
    if (bytes === 0) return this.admit(reader.readBlockSync(index))
    const blocks: Block[] = []
    reader.readBlocksSync(index, reader.adjacentEnd(index, bytes), blocks)
    this.keepAhead(blocks, index)
    return this.admit(blocks[0])
  }

  /**
   * Keeps blocks for later steps: in the cache, or in the cursor if they must not be added to the
   * cache.
   */
  private keepAhead(blocks: Block[], from: number): void {
    const { cache } = this.reader
    if (this.cacheBlocks && cache.bytesMax >= aheadCacheBytesMin) {
      // These blocks are not held; one that is evicted before its use is read again.
      for (let i = 1; i < blocks.length; i++) {
        blocks[i].frequency = -1
        cache.admit(blocks[i])
      }
    } else {
      // The cursor may return to them after they were added to the cache and evicted.
      for (let i = 0; i < blocks.length; i++) blocks[i].holders |= heldForGood
      this.ahead = blocks
      this.aheadFrom = from
    }
  }

  /** Holds the block before its admission, because a cache without room drops it at once. */
  private admit(block: Block): Block {
    this.held.hold(block)
    if (!this.cacheBlocks) return block
    const admitted = this.reader.cache.admit(block)
    if (admitted !== block) this.held.hold(admitted)
    return admitted
  }

  private failClosed(): never {
    this.valid = false
    throw closedError(`SSTable ${this.reader.path}`)
  }

  private failDamaged(at: number): never {
    this.valid = false
    throw damagedEntry(this.block!, at)
  }
}
