/**
 * The data block: entries, then the offset of each ("slots"), then their number. See FORMAT.md,
 * "Data block".
 *
 * An entry is [varint key length][varint value length][key][value]. Entries are in key order
 * without gaps. So a binary search over the slots finds any entry without decoding others, and the
 * next entry starts at the end of the previous value. Marks in the slots tell where rows begin, and
 * which rows are plain: those are copied as a whole, without a look at each cell.
 *
 * Ownership: a {@link Block} owns its buffer and does not change it while the block has `holders`.
 * A block without holders loses its buffer when it is evicted from the cache. Before a block is
 * used, the keys of a file with a {@link KeyPatch} are rewritten ({@link patchKeys}).
 *
 * Failure behaviour: the checksum of block bytes is checked before. Lengths are still compared with
 * the block before use. So a wrong structure with a right checksum is `ERR_CORRUPTION`, never a
 * read beyond the block.
 */
import { assert } from '../../../base/assert.js'
import {
  commonPrefixLength,
  compareBytes,
  copySharedBytes,
  readPrefix48,
} from '../../../base/bytes.js'
import type { CellarError } from '../../../base/errors.js'
import { readVarint, varintLength, writeVarint } from '../../../base/varint.js'
import { wordSlackBytes } from './block-memory.js'
import {
  beginsRowMark,
  narrowOffsetBits,
  plainRowMark,
  wideOffsetBits,
  wideSlotsFlag,
} from '../format.js'
import { growBuffer, growNumbers } from '../grow.js'
import type { KeyPatch } from './key-patch.js'
import type { RowEntries } from './row-entries.js'

/**
 * Frequency from which on a block gets its {@link Block.prefixes}; searches then touch an eighth of
 * the memory.
 */
const hotFrequency = 2

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

const narrowOffsetMax = (1 << narrowOffsetBits) - 1
const wideOffsetMask = 2 ** wideOffsetBits - 1

/** Offset of the entry in `slot`. REQUIRES 0 <= slot < count. Not checked against the block. */
export function entryOffset(block: Block, slot: number): number {
  const buffer = block.buffer
  if (block.slotBytes === 2) {
    const at = block.entriesEnd + slot * 2
    return (buffer[at] | (buffer[at + 1] << 8)) & narrowOffsetMax
  }
  return buffer.readUInt32LE(block.entriesEnd + slot * 4) & wideOffsetMask
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
  const { buffer, entriesEnd, slotBytes, count } = block
  let next = slot + 1
  let at = entriesEnd + (next + 1) * slotBytes - 1
  while (next < count && buffer[at] >>> 6 === 0) {
    next++
    at += slotBytes
  }
  return next - slot
}

/** The offsets of one entry's parts in its block. A scratch object for cold paths. */
export class EntryPlace {
  keyStart = 0
  keyEnd = 0
  valueEnd = 0
}

/** Decodes the entry at offset `at` into `place`; checks every length against the block. */
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

/** Writes the same sequence into the key of every entry. REQUIRES a block without cursors. */
export function patchKeys(block: Block, patch: KeyPatch): void {
  const place = new EntryPlace()
  for (let slot = 0; slot < block.count; slot++) {
    readEntry(block, entryOffset(block, slot), place)
    if (place.keyEnd - place.keyStart < patch.bytesMax) {
      throw damagedEntry(block, entryOffset(block, slot))
    }
    patch.patch(block.buffer, place.keyEnd)
  }
}

/** Makes the error for an entry that is not within its block. */
export function damagedEntry(block: Block, at: number): CellarError {
  const expected = `an entry within ${block.entriesEnd} bytes`
  return block.owner.damagedBlock(block.index, expected, `one at ${at} that is not`)
}

/**
 * Slot of the first entry from slot `from` on with a key >= `key[0, length)`, or `count` if there
 * is none.
 */
export function lowerBound(block: Block, key: Uint8Array, length: number, from: number): number {
  const { count } = block
  const order = compareShared(block, key, length)
  if (order !== 0) return order < 0 ? from : count
  if (block.prefixes === undefined) {
    if (block.frequency < hotFrequency) return searchEntries(block, key, length, from, count)
    block.prefixes = readPrefixes(block)
  }
  return searchPrefixes(block, block.prefixes, key, length, from)
}

/**
 * As {@link lowerBound}, from the first slot. Touches only the entries that it compares, and never
 * makes the block's {@link Block.prefixes}: for a search that is seldom repeated.
 */
export function findEntry(block: Block, key: Uint8Array, length: number): number {
  const { count } = block
  const order = compareShared(block, key, length)
  if (order !== 0) return order < 0 ? 0 : count
  return searchEntries(block, key, length, 0, count)
}

/** Compares the beginning of `key[0, length)` with the common prefix of the block's keys. */
function compareShared(block: Block, key: Uint8Array, length: number): number {
  const { prefixLength, firstKeyStart } = block
  if (prefixLength === 0) return 0
  const head = length < prefixLength ? length : prefixLength
  return compareBytes(key, 0, head, block.buffer, firstKeyStart, firstKeyStart + prefixLength)
}

/** Binary search over the entries in slots [from, to). */
function searchEntries(
  block: Block,
  key: Uint8Array,
  length: number,
  from: number,
  to: number,
): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareEntry(block, middle, key, length) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Binary search over the numbers; reads entries only on ties. */
function searchPrefixes(
  block: Block,
  prefixes: Float64Array,
  key: Uint8Array,
  length: number,
  from: number,
): number {
  const target = readPrefix48(key, block.prefixLength, length)
  let low = from
  let high = block.count
  while (low < high) {
    const middle = (low + high) >>> 1
    const prefix = prefixes[middle]
    if (prefix < target) low = middle + 1
    else if (prefix > target) high = middle
    else if (compareEntry(block, middle, key, length) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Compares the key in `slot` with `key[0, length)`. REQUIRES that both have the block's common
 * prefix.
 */
function compareEntry(block: Block, slot: number, key: Uint8Array, length: number): number {
  const { buffer, entriesEnd, prefixLength } = block
  let at = entryOffset(block, slot)
  if (at >= entriesEnd) throw damagedEntry(block, at)
  let keyLength = buffer[at++]
  if (keyLength >= 0x80) {
    keyLength = readVarint(buffer, at - 1, entriesEnd)
    at += varintLength(keyLength) - 1
  }
  while (buffer[at++] >= 0x80);
  if (keyLength < prefixLength || at + keyLength > entriesEnd) throw damagedEntry(block, at)
  const limit = keyLength < length ? keyLength : length
  let i = prefixLength
  while (i < limit && buffer[at + i] === key[i]) i++
  return i < limit ? buffer[at + i] - key[i] : keyLength - length
}

function readPrefixes(block: Block): Float64Array {
  const prefixes = new Float64Array(block.count)
  const place = new EntryPlace()
  for (let slot = 0; slot < prefixes.length; slot++) {
    readEntry(block, entryOffset(block, slot), place)
    const start = place.keyStart + block.prefixLength
    if (start > place.keyEnd) throw damagedEntry(block, place.keyStart)
    prefixes[slot] = readPrefix48(block.buffer, start, place.keyEnd)
  }
  return prefixes
}

/** Builds successive blocks in the same memory. */
export class BlockBuilder {
  /** @internal The payload so far; after {@link finish}, the whole payload. */
  buffer: Buffer = Buffer.allocUnsafeSlow(32 * 1024)
  /** Number of entries in the open block. */
  count = 0
  /** Size of the entries in the open block, without slots. */
  entryBytes = 0
  private words = new DataView(this.buffer.buffer)
  private slots = new Uint32Array(512)
  private lastKeyStart = 0
  private lastKeyEnd = 0

  /** Size of the payload if it were finished now. */
  get payloadBytes(): number {
    return this.sizeWith(0, 0)
  }

  /** Size of the payload after adding an entry with these lengths. */
  sizeAfter(keyLength: number, valueLength: number): number {
    const header = varintLength(keyLength) + varintLength(valueLength)
    return this.sizeWith(header + keyLength + valueLength, 1)
  }

  /** Size of the payload after adding this number of entries, of so many bytes together. */
  sizeWith(moreBytes: number, moreEntries: number): number {
    const entryBytes = this.entryBytes + moreBytes
    const slotBytes = entryBytes > narrowOffsetMax ? 4 : 2
    return entryBytes + (this.count + moreEntries) * slotBytes + 4
  }

  /**
   * Length of the common prefix of the last key and `source[start, end)`; -1 if the latter is not
   * greater. REQUIRES count > 0. `words` as in `SsTableWriter.add`.
   */
  sharedWithLastKey(source: Buffer, start: number, end: number, words?: DataView): number {
    const { buffer, lastKeyStart, lastKeyEnd } = this
    const whole = words === undefined ? 0 : this.sharedWords(words, start, end)
    const shared =
      whole +
      commonPrefixLength(buffer, lastKeyStart + whole, lastKeyEnd, source, start + whole, end)
    const at = start + shared
    if (at === end) return -1
    const lastAt = lastKeyStart + shared
    return lastAt === lastKeyEnd || buffer[lastAt] < source[at] ? shared : -1
  }

  /** Length of the common prefix of the two keys in whole words of four bytes. */
  private sharedWords(words: DataView, start: number, end: number): number {
    const { lastKeyStart } = this
    const own = this.words
    const limit = Math.min(end - start, this.lastKeyEnd - lastKeyStart) - 4
    let shared = 0
    while (
      shared <= limit &&
      own.getInt32(lastKeyStart + shared, true) === words.getInt32(start + shared, true)
    ) {
      shared += 4
    }
    return shared
  }

  /** Marks an entry ({@link rowMarks}). REQUIRES its slot. */
  mark(slot: number, marks: number): void {
    this.slots[slot] |= marks << wideOffsetBits
  }

  /** A copy of the last key added. REQUIRES count > 0. */
  copyLastKey(): Buffer {
    return Buffer.from(this.buffer.subarray(this.lastKeyStart, this.lastKeyEnd))
  }

  /**
   * Appends a copy of an entry. REQUIRES a key greater than the last. `words` as in
   * `SsTableWriter.add`.
   */
  add(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    words?: DataView,
  ): void {
    const keyLength = keyEnd - keyStart
    const valueLength = valueEnd - valueStart
    let at = this.entryBytes
    const needed = at + keyLength + valueLength + 10 + wordSlackBytes
    if (needed > this.buffer.length) this.grow(needed)
    if (this.count === this.slots.length) this.slots = growNumbers(this.slots, this.count + 1)
    const target = this.buffer
    this.slots[this.count++] = at
    if (keyLength < 0x80) target[at++] = keyLength
    else at = writeVarint(target, at, keyLength)
    if (valueLength < 0x80) target[at++] = valueLength
    else at = writeVarint(target, at, valueLength)
    this.lastKeyStart = at
    this.lastKeyEnd = at + keyLength
    if (valueStart === keyEnd) {
      if (words !== undefined && valueEnd - keyStart <= wordCopyBytesMax) {
        copyWords(words, keyStart, valueEnd, this.words, at)
      } else {
        copySharedBytes(source, keyStart, valueEnd, target, at)
      }
    } else {
      source.copy(target, at, keyStart, keyEnd)
      source.copy(target, at + keyLength, valueStart, valueEnd)
    }
    this.entryBytes = at + keyLength + valueLength
  }

  /** Appends a copy of a plain row, and marks it. REQUIRES keys greater than the last. */
  addRow({ buffer, start, end, count: cells, starts, keyStart, keyEnd }: RowEntries): void {
    const { count, entryBytes } = this
    const needed = entryBytes + end - start + wordSlackBytes
    if (needed > this.buffer.length) this.grow(needed)
    if (count + cells > this.slots.length) this.slots = growNumbers(this.slots, count + cells)
    const { slots } = this
    const shift = entryBytes - start
    for (let i = 0; i < cells; i++) slots[count + i] = starts[i] + shift
    copySharedBytes(buffer, start, end, this.buffer, entryBytes)
    this.count = count + cells
    this.entryBytes = entryBytes + end - start
    this.lastKeyStart = keyStart + shift
    this.lastKeyEnd = keyEnd + shift
    this.mark(count, beginsRowMark | plainRowMark)
  }

  /**
   * Appends slots and count; returns the payload length. The payload is `buffer[0, length)` until
   * {@link reset}.
   */
  finish(): number {
    const { count, slots } = this
    assert(count > 0, 'block: no entry')
    const wide = this.entryBytes > narrowOffsetMax
    const length = this.payloadBytes
    let at = this.entryBytes
    if (length > this.buffer.length) this.grow(length)
    const target = this.buffer
    for (let i = 0; i < count; i++) {
      const offset = slots[i] & wideOffsetMask
      const marks = slots[i] >>> wideOffsetBits
      if (wide) at = target.writeUInt32LE(slots[i], at)
      else at = target.writeUInt16LE(offset | (marks << narrowOffsetBits), at)
    }
    target.writeUInt32LE((wide ? count | wideSlotsFlag : count) >>> 0, at)
    return length
  }

  /** Starts a new block in the same memory. */
  reset(): void {
    this.count = 0
    this.entryBytes = 0
  }

  private grow(needed: number): void {
    this.buffer = growBuffer(this.buffer, this.entryBytes, needed)
    this.words = new DataView(this.buffer.buffer)
  }
}

/** Up to this length a loop over words is faster than `Buffer.copy`. */
const wordCopyBytesMax = 256

/** Copies `source[start, end)` and up to seven more bytes to `target[offset, …)`. */
function copyWords(
  source: DataView,
  start: number,
  end: number,
  target: DataView,
  offset: number,
): void {
  for (let from = start, to = offset; from < end; from += 8, to += 8) {
    target.setInt32(to, source.getInt32(from, true), true)
    target.setInt32(to + 4, source.getInt32(from + 4, true), true)
  }
}

/** Keys are sorted, so the common prefix of the first and the last is common to all. */
function sharedPrefixLength(block: Block, first: EntryPlace): number {
  const last = new EntryPlace()
  const offset = entryOffset(block, block.count - 1)
  if (offset >= block.entriesEnd) throw damagedEntry(block, offset)
  readEntry(block, offset, last)
  const { buffer } = block
  return commonPrefixLength(
    buffer,
    first.keyStart,
    first.keyEnd,
    buffer,
    last.keyStart,
    last.keyEnd,
  )
}
