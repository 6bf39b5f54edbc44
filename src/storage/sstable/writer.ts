/**
 * Writes one SSTable from entries in ascending key order.
 *
 * Allocates no object per entry. The memory is that of a {@link SectionWriter}, a block, the index
 * and eight bytes per filter key.
 *
 * Failure behaviour: errors of the file (`ERR_IO`, `ERR_NO_SPACE`) are rethrown; the writer and its
 * file must then be discarded. Keys out of order are an `InvariantError`.
 */
import { assert } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { Hash64, hashRange } from '../../base/hash.js'
import type { Codec } from '../codec/codec.js'
import type { File } from '../fs/types.js'
import { BlockBuilder } from './blocks/block-builder.js'
import { IndexBuilder } from './blocks/block-index.js'
import { FilterBuilder } from './filter.js'
import { encodeFooter } from './footer.js'
import {
  beginsRowMark,
  blockBytesMax,
  blockBytesMin,
  databaseIdBytes,
  entryBytesMax,
  payloadBytesMax,
  plainRowMark,
  sectionBytesMax,
  trailerBytes,
  wideSlotBytes,
} from './format.js'
import { encodeProperties, type CellStatistics, type SsTableProperties } from './properties.js'
import type { RowEntries } from './rows/row-entries.js'
import { SectionWriter } from './blocks/section-writer.js'
import type { WrittenBlocksBuilder } from './blocks/written-blocks.js'

/** Options of an SSTable to be written. */
export interface SsTableWriterOptions {
  /** Number of the file, a safe integer >= 0; readers need the same number. */
  readonly fileNumber: number
  /** Identity of the file's database, 16 bytes. */
  readonly databaseId: Buffer
  /**
   * Target of the uncompressed size of data blocks, exceeded only by a single larger entry. 64 to
   * 16 Mi.
   */
  readonly blockBytes: number
  readonly codec: Codec
  /** Bits of the Bloom filter per filter key, about 10; 0: no filter. */
  readonly filterBitsPerKey: number
  /** Keeps copies of the blocks. Default: none are kept. */
  readonly kept?: WrittenBlocksBuilder | undefined
}

/** Writes one SSTable: calls of `addFilterKey` and `add`, then one call of `finish`. */
export class SsTableWriter {
  /** Number of entries. */
  entryCount = 0
  /** Length of the common prefix of the last two keys; 0 for the first key. */
  sharedBytes = 0
  private readonly sections: SectionWriter
  private readonly databaseId: Buffer
  private readonly blockBytes: number
  private readonly codec: Codec
  private readonly kept: WrittenBlocksBuilder | undefined
  private readonly block = new BlockBuilder()
  private readonly index = new IndexBuilder()
  private readonly filter: FilterBuilder | undefined
  private readonly hash = new Hash64()
  private keyBytes = 0
  private valueBytes = 0
  private firstKey: Buffer = Buffer.alloc(0)
  private lastKey: Buffer = Buffer.alloc(0)
  /**
   * Stored length of the last finished block while its separator waits for the next key; else 0.
   */
  private waitingBytes = 0
  /** Uncompressed size of the finished blocks. */
  private writtenBytes = 0
  /** Uncompressed offset of the current group's start. */
  private groupStart = 0
  /** Slot of the current group's first entry; -1: the group began in an earlier block, or none. */
  private groupSlot = -1
  private groupIsPlain = false

  /** REQUIRES an empty file open for writing. */
  constructor(file: File, options: SsTableWriterOptions) {
    const { fileNumber, databaseId, blockBytes, filterBitsPerKey } = options
    assert(databaseId.length === databaseIdBytes, 'writer: databaseId')
    assert(blockBytes >= blockBytesMin && blockBytes <= blockBytesMax, 'writer: blockBytes')
    this.sections = new SectionWriter(file, fileNumber)
    this.databaseId = databaseId
    this.blockBytes = blockBytes
    this.codec = options.codec
    this.kept = options.kept
    this.filter = filterBitsPerKey > 0 ? new FilterBuilder(filterBitsPerKey) : undefined
  }

  /** Size of the file so far, including the uncompressed size of the open block. */
  get bytesWritten(): number {
    return this.sections.bytesWritten + this.block.entryBytes
  }

  /** Adds `source[start, end)` to the filter. Consecutive equal keys count once. */
  addFilterKey(source: Buffer, start: number, end: number): void {
    if (this.filter === undefined) return
    hashRange(source, start, end, this.hash)
    this.filter.add(this.hash)
  }

  /**
   * Adds a copy of an entry. REQUIRES a key greater than the previous one (asserted). Throws
   * `ERR_TOO_LARGE` if key and value together exceed 32 MiB.
   *
   * `words`, if given, is a view of the bytes of `source`, with `wordSlackBytes` more after the
   * entry: short entries are then copied faster. Entries with the same `source[keyStart, groupEnd)`
   * form a group (a row). A block that is half full ends before a group if a group as long as the
   * previous one would not fit. So a read of a group needs one block. A group is marked as a plain
   * row unless {@link breakGroup} is called for one of its entries. 0: an entry that is no cell,
   * and a group by itself.
   */
  add(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    words?: DataView,
    groupEnd = 0,
  ): void {
    const { block } = this
    const keyLength = keyEnd - keyStart
    const valueLength = valueEnd - valueStart
    if (keyLength + valueLength > entryBytesMax) throw entryTooLarge(keyLength + valueLength)
    let beginsGroup = true
    let rowBytes = 0
    if (block.count > 0) {
      this.sharedBytes = block.sharedWithLastKey(source, keyStart, keyEnd, words)
      assert(this.sharedBytes >= 0, 'writer: keys out of order')
      beginsGroup = groupEnd === 0 || keyStart + this.sharedBytes < groupEnd
      if (beginsGroup) this.endGroup()
      else rowBytes = groupEnd - keyStart
      const isFull = block.sizeAfter(keyLength, valueLength, rowBytes) > this.blockBytes
      if (isFull || (groupEnd > 0 && beginsGroup && this.endsBefore())) this.finishBlock()
    }
    if (block.count === 0) {
      this.startBlock(source, keyStart, keyEnd)
      rowBytes = 0
    }
    if (beginsGroup) this.beginGroup(groupEnd > 0)
    block.add(source, keyStart, keyEnd, valueStart, valueEnd, words, rowBytes)
    this.entryCount++
    this.keyBytes += keyLength
    this.valueBytes += valueLength
  }

  /** The group of the entry added last is no plain row. */
  breakGroup(): void {
    this.groupIsPlain = false
  }

  /**
   * Adds a copy of a plain row as a group. False, and nothing changes, if the row is to be added
   * entry by entry, because it does not fit into a block. REQUIRES a first key `source[keyStart,
   * keyEnd)` greater than the previous one (asserted), and ascending ones behind. `words` as in
   * {@link add}.
   */
  addRow(row: RowEntries, keyStart: number, keyEnd: number, words?: DataView): boolean {
    const { block, blockBytes } = this
    const { buffer: source, count: cells } = row
    const bytes = row.end - row.start
    if (bytes + cells * wideSlotBytes + 4 > blockBytes) return false
    if (block.count > 0) {
      const isFull = block.sizeWith(bytes, cells) > blockBytes
      if (isFull && block.payloadBytes * 2 <= blockBytes) return false
      this.sharedBytes = block.sharedWithLastKey(source, keyStart, keyEnd, words)
      assert(this.sharedBytes >= 0, 'writer: keys out of order')
      this.endGroup()
      if (isFull) this.finishBlock()
    }
    if (block.count === 0) this.startBlock(source, keyStart, keyEnd)
    this.groupStart = this.writtenBytes + block.payloadBytes
    block.addRow(row)
    this.entryCount += cells
    this.keyBytes += row.keyBytes
    this.valueBytes += row.valueBytes
    return true
  }

  /**
   * Writes the remaining parts and makes the file durable (fdatasync). The caller closes the file.
   * An SSTable may be empty. To be called once.
   */
  finish(statistics: CellStatistics): SsTableProperties & { readonly fileBytes: number } {
    this.endGroup()
    if (this.block.count > 0) this.finishBlock()
    if (this.waitingBytes > 0) this.index.addLast(this.waitingBytes, this.lastKey)
    const properties = this.collectProperties(statistics)
    const filterBytes = this.filter === undefined ? 0 : this.writeSection(this.filter.finish())
    const footer = {
      dataBytes: properties.dataBytes,
      filterBytes,
      indexBytes: this.writeSection(this.index.finish()),
      propertiesBytes: this.writeSection(
        encodeProperties({ ...properties, codecId: this.codec.id }),
      ),
    }
    const { fileNumber, bytesWritten } = this.sections
    const encoded = encodeFooter(footer, this.databaseId, fileNumber, bytesWritten)
    return { ...properties, fileBytes: this.sections.finish(encoded) }
  }

  private collectProperties(statistics: CellStatistics): SsTableProperties {
    return {
      deleteCount: statistics.deleteCount,
      familyDeleteCount: statistics.familyDeleteCount,
      minTimestamp: statistics.minTimestamp,
      maxTimestamp: statistics.maxTimestamp,
      earliestPutTimestamp: statistics.earliestPutTimestamp,
      minSequence: statistics.minSequence,
      maxSequence: statistics.maxSequence,
      filterKind: statistics.filterKind,
      entryCount: this.entryCount,
      keyBytes: this.keyBytes,
      valueBytes: this.valueBytes,
      dataBytes: this.sections.bytesWritten,
      blockCount: this.index.blockCount,
      codecName: this.codec.name,
      firstKey: this.firstKey,
      lastKey: this.lastKey,
    }
  }

  /** Whether a group as long as the last one would cross the end of the open block. */
  private endsBefore(): boolean {
    const { payloadBytes } = this.block
    const groupBytes = this.writtenBytes + payloadBytes - this.groupStart
    return payloadBytes * 2 > this.blockBytes && payloadBytes + groupBytes > this.blockBytes
  }

  private beginGroup(isPlain: boolean): void {
    const { block } = this
    this.groupStart = this.writtenBytes + block.payloadBytes
    this.groupSlot = block.count
    this.groupIsPlain = isPlain
  }

  /** Marks the current group, which is complete, if it lies in the open block. */
  private endGroup(): void {
    const { groupSlot } = this
    if (groupSlot < 0) return
    const marks = this.groupIsPlain ? beginsRowMark | plainRowMark : beginsRowMark
    this.block.mark(groupSlot, marks)
    this.groupSlot = -1
  }

  private startBlock(source: Buffer, keyStart: number, keyEnd: number): void {
    if (this.waitingBytes > 0) {
      this.index.add(this.waitingBytes, this.lastKey, source, keyStart, keyEnd)
      this.waitingBytes = 0
    } else {
      this.firstKey = Buffer.from(source.subarray(keyStart, keyEnd))
    }
  }

  private finishBlock(): void {
    const { block } = this
    // A group that goes on in the next block.
    this.breakGroup()
    this.endGroup()
    this.lastKey = block.copyLastKey()
    const length = block.finish()
    this.writtenBytes += length
    assert(length <= payloadBytesMax, 'writer: block too long')
    this.kept?.add(block.buffer, length)
    this.waitingBytes = this.sections.addCompressed(block.buffer, 0, length, this.codec)
    block.reset()
  }

  private writeSection(payload: Buffer): number {
    const stored = payload.length + trailerBytes
    if (stored > sectionBytesMax) throw sectionTooLarge(stored)
    return this.sections.add(payload, 0, payload.length)
  }
}

function entryTooLarge(bytes: number): CellarError {
  const message = `an entry of ${bytes} bytes exceeds the limit of ${entryBytesMax}`
  return new CellarError(ErrorCode.tooLarge, message)
}

function sectionTooLarge(bytes: number): CellarError {
  const message = `a table section of ${bytes} bytes exceeds the limit of ${sectionBytesMax}`
  return new CellarError(ErrorCode.tooLarge, message)
}
