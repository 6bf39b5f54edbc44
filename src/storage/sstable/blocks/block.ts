/**
 * The data block: entries, then the offset of each ("slots"), then their number. See FORMAT.md,
 * "Data block".
 *
 * The first entry of a row has its whole key (row entry), the others have their columns alone
 * (column entry, `RowWalk`). Entries are in key order without gaps. So a binary search over the
 * slots finds any entry, and the next entry starts at the end of the previous value. Marks in the
 * slots tell where rows begin, and which rows are plain: those are copied as a whole, without a
 * look at each cell.
 *
 * Ownership: a {@link Block} owns its buffer and does not change it while the block has `holders`.
 * A block without holders loses its buffer when it is evicted from the cache. Before a block is
 * used, the keys of a file with a {@link KeyPatch} are rewritten (`patchKeys`).
 *
 * Failure behaviour: the checksum of block bytes is checked before. Lengths are still compared with
 * the block before use. So a wrong structure with a right checksum is `ERR_CORRUPTION`, never a
 * read beyond the block.
 */
import { commonPrefixLength } from '../../../base/bytes.js'
import type { CellarError } from '../../../base/errors.js'
import { readVarint, varintLength } from '../../../base/varint.js'
import { rowEndOf, terminatorBytes } from '../../cell/cell-key.js'
import {
  beginsRowMark,
  narrowOffsetMax,
  plainRowMark,
  wideOffsetMax,
  wideSlotsFlag,
} from '../format.js'

/**
 * Set in {@link Block.holders} if the block is never released, so that its memory is never
 * recycled.
 */
export const heldForGood = 1 << 20

/** The highest count in {@link BlockOwner.hits}. */
export const addressHitsMax = 3

/** The interface of the SSTable that a block belongs to. */
export interface BlockOwner {
  readonly inMemory: boolean
  /** Cached blocks of the SSTable, by index. The cache clears the entries of evicted ones. */
  readonly blocks: (Block | undefined)[]
  /**
   * By block index: the cache's eviction count at the time the block last left the probation queue.
   */
  readonly ghosts: Uint32Array
  /** By block index: reads by address since the cache looked, {@link addressHitsMax} at most. */
  readonly hits: Uint8Array
  /** Makes the `ERR_CORRUPTION` for a block with an inconsistent structure. */
  damagedBlock(index: number, expected: string, found: string): CellarError
}

/** One data block in memory. The fields after `prefixes` belong to the block cache. */
export class Block {
  readonly owner: BlockOwner
  /** Index of the block in its SSTable, from 0. */
  readonly index: number
  /** Uncompressed payload, with slack after its end; empty once the block has lost its memory. */
  buffer: Buffer
  /** Number of entries, at least 1. */
  readonly count: number
  /** Offset of the end of the entries, and of the first slot. */
  readonly entriesEnd: number
  /** Size of one slot in bytes: 2 or 4. */
  readonly slotBytes: number
  /** Length of the common prefix of all keys of the block. */
  readonly prefixLength: number
  /** Offset of the first key in {@link buffer}. */
  readonly firstKeyStart: number
  /** @internal The six key bytes after the common prefix of every entry, once the block is hot. */
  prefixes: Float64Array | undefined = undefined
  /**
   * @internal The entries from slot `knownRow` to `knownLast` are of one row, and the first one is
   * its row entry: what {@link rowSlotOf} has found of a wide row.
   */
  knownRow = 0
  /** @internal See {@link knownRow}; -1: no wide row was met. */
  knownLast = -1
  /** @internal A view of the bytes of {@link buffer}, once a cursor has shown a column entry. */
  words: DataView | undefined = undefined
  /** @internal Saturating hit count; -1: the next use is the one that the block was loaded for. */
  frequency = 0
  /** @internal Loads that were not released yet. */
  pins = 0
  /**
   * @internal Number of cursors whose callers may refer to the buffer; at least {@link heldForGood}
   * if the block is never released. At 0 the cache recycles the memory of an evicted block.
   */
  holders = 0
  /** @internal The address of the memory that holds the block ({@link BlockAddresses}); or -1. */
  address = -1
  /** @internal Offset of the block in that memory. */
  addressStart = 0
  /** @internal 0 outside the cache, 1 probation queue, 2 main queue, 3 in a segment. */
  queue = 0
  /** @internal Neighbour towards the head of the queue (newer). */
  newer: Block | undefined = undefined
  /** @internal Neighbour towards the tail of the queue (older). */
  older: Block | undefined = undefined

  /** Takes over `buffer[0, length)`, the uncompressed payload; bytes after `length` are ignored. */
  constructor(owner: BlockOwner, index: number, buffer: Buffer, length: number) {
    this.owner = owner
    this.index = index
    this.buffer = buffer
    const word = length < 4 ? 0 : buffer.readUInt32LE(length - 4)
    this.slotBytes = (word & wideSlotsFlag) === 0 ? 2 : 4
    this.count = (word & ~wideSlotsFlag) >>> 0
    this.entriesEnd = length - 4 - this.count * this.slotBytes
    // An entry has at least the two length bytes.
    if (this.count === 0 || this.entriesEnd < this.count * 2) {
      throw owner.damagedBlock(index, 'at least one entry and no more than fit', `${this.count}`)
    }
    const first = new EntryPlace()
    readEntry(this, 0, first)
    this.firstKeyStart = first.keyStart
    this.prefixLength = sharedPrefixLength(this, first)
  }

  /** Length of the payload in {@link buffer}. */
  get payloadBytes(): number {
    return this.entriesEnd + this.count * this.slotBytes + 4
  }
}

/** Offset of the entry in `slot`. REQUIRES 0 <= slot < count. Not checked against the block. */
export function entryOffset(block: Block, slot: number): number {
  const buffer = block.buffer
  if (block.slotBytes === 2) {
    const at = block.entriesEnd + slot * 2
    return (buffer[at] | (buffer[at + 1] << 8)) & narrowOffsetMax
  }
  return buffer.readUInt32LE(block.entriesEnd + slot * 4) & wideOffsetMax
}

/** The marks of a slot: {@link beginsRowMark} and {@link plainRowMark}. REQUIRES a slot. */
export function rowMarks({ buffer, entriesEnd, slotBytes }: Block, slot: number): number {
  // The marks are the two highest bits of the slot, whatever its size.
  return buffer[entriesEnd + (slot + 1) * slotBytes - 1] >>> 6
}

/**
 * Number of entries of the plain row that begins in `slot`; 0: no plain row begins there. REQUIRES
 * a slot.
 */
export function plainRowCells(block: Block, slot: number): number {
  if (rowMarks(block, slot) !== (beginsRowMark | plainRowMark)) return 0
  return nextRow(block, slot) - slot
}

/** Slot of the first entry after `slot` that begins a row; the number of entries if none does. */
export function nextRow({ buffer, entriesEnd, slotBytes, count }: Block, slot: number): number {
  let next = slot + 1
  let at = entriesEnd + (next + 1) * slotBytes - 1
  while (next < count && buffer[at] >>> 6 === 0) {
    next++
    at += slotBytes
  }
  return next
}

/** Whether the entry in `slot` is the first of its row in the block, a row entry. */
export function isRowEntry(block: Block, slot: number): boolean {
  return slot === 0 || (rowMarks(block, slot) & beginsRowMark) !== 0
}

/** Steps to a row entry from which on the block remembers them. */
const rememberedSteps = 8

/**
 * Slot of the row entry of the row to which the entry in `slot` belongs. The way there is walked
 * once: a search in a wide row asks for many of its entries.
 */
export function rowSlotOf(block: Block, slot: number): number {
  const { buffer, entriesEnd, slotBytes, knownRow, knownLast } = block
  if (slot <= knownLast && slot >= knownRow) return knownRow
  const end = slot > knownLast ? Math.max(0, knownLast) : 0
  let first = slot
  let at = entriesEnd + (slot + 1) * slotBytes - 1
  while (first > end && ((buffer[at] >>> 6) & beginsRowMark) === 0) {
    first--
    at -= slotBytes
  }
  if (slot - first < rememberedSteps) return first === knownLast ? knownRow : first
  if (first === knownLast) first = knownRow
  block.knownRow = first
  block.knownLast = slot
  return first
}

/** The offsets of a row entry's parts in its block. A scratch object for cold paths. */
export class EntryPlace {
  keyStart = 0
  keyEnd = 0
  valueEnd = 0
}

/** Decodes the row entry at offset `at` into `place`; checks every length against the block. */
export function readEntry(block: Block, at: number, place: EntryPlace): void {
  const { buffer, entriesEnd } = block
  const keyLength = readVarint(buffer, at, entriesEnd)
  const afterKey = at + varintLength(keyLength)
  const valueLength = keyLength < 0 ? -1 : readVarint(buffer, afterKey, entriesEnd)
  const keyStart = afterKey + varintLength(valueLength)
  const valueEnd = keyStart + keyLength + valueLength
  if (valueLength < 0 || valueEnd > entriesEnd) throw damagedEntry(block, at)
  place.keyStart = keyStart
  place.keyEnd = keyStart + keyLength
  place.valueEnd = valueEnd
}

/** Makes the error for an entry that is not within its block. */
export function damagedEntry(block: Block, at: number): CellarError {
  const expected = `an entry within ${block.entriesEnd} bytes`
  return block.owner.damagedBlock(block.index, expected, `one at ${at} that is not`)
}

/**
 * Keys are sorted, so the common prefix of the first and the last is common to all. Of a last key
 * that is a column entry no more than the row is compared.
 */
function sharedPrefixLength(block: Block, { keyStart, keyEnd }: EntryPlace): number {
  const { buffer, count, entriesEnd } = block
  const last = new EntryPlace()
  const slot = rowSlotOf(block, count - 1)
  const offset = entryOffset(block, slot)
  if (offset >= entriesEnd) throw damagedEntry(block, offset)
  readEntry(block, offset, last)
  const { keyStart: lastStart } = last
  let { keyEnd: lastEnd } = last
  if (slot + 1 < count) {
    const rowEnd = rowEndOf(buffer, lastStart, lastEnd) + terminatorBytes
    if (rowEnd > lastEnd) throw damagedEntry(block, offset)
    lastEnd = rowEnd
  }
  return commonPrefixLength(buffer, keyStart, keyEnd, buffer, lastStart, lastEnd)
}
