/**
 * Finds entries of a data block by their keys, with a binary search over the slots. Keys that a
 * block has in common are compared once. A block that is often searched gets a list of numbers
 * ({@link Block.prefixes}), so that most comparisons read no entry.
 *
 * Failure behaviour: lengths are compared with the block before use (`ERR_CORRUPTION`).
 */
import { compareBytes, readPrefix48 } from '../../../base/bytes.js'
import { readVarint, varintLength } from '../../../base/varint.js'
import { rowEndOf, terminatorBytes } from '../../cell/cell-key.js'
import { damagedEntry, entryOffset, nextRow, rowSlotOf, type Block } from './block.js'
import { EntryReader } from '../rows/entry-reader.js'

/**
 * Frequency from which on a block gets its {@link Block.prefixes}; searches then touch an eighth of
 * the memory.
 */
const hotFrequency = 2

/** Number of bytes of a key that its number in {@link Block.prefixes} stands for. */
const prefixBytes = 6

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

const reader = new EntryReader(false)

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
  const rowSlot = rowSlotOf(block, slot)
  let at = entryOffset(block, rowSlot)
  if (at >= entriesEnd) throw damagedEntry(block, at)
  let keyLength = buffer[at++]
  if (keyLength >= 0x80) {
    keyLength = readVarint(buffer, at - 1, entriesEnd)
    at += varintLength(keyLength) - 1
  }
  while (buffer[at++] >= 0x80);
  if (keyLength < prefixLength || at + keyLength > entriesEnd) throw damagedEntry(block, at)
  // The other keys of a row begin with the row, which seldom leaves anything to compare.
  if (rowSlot < slot) keyLength = rowEndOf(buffer, at, at + keyLength) + terminatorBytes - at
  const limit = keyLength < length ? keyLength : length
  let i = prefixLength
  while (i < limit && buffer[at + i] === key[i]) i++
  if (i < limit) return buffer[at + i] - key[i]
  if (rowSlot === slot || length <= keyLength) return keyLength - length || slot - rowSlot
  return compareColumn(block, slot, key, keyLength, length)
}

/** As {@link compareEntry}, for a column entry whose row and terminator are `key[0, rowBytes)`. */
function compareColumn(
  block: Block,
  slot: number,
  key: Uint8Array,
  rowBytes: number,
  length: number,
): number {
  const { buffer, entriesEnd } = block
  const start = entryOffset(block, slot)
  let at = start
  let head = buffer[at++]
  if (head >= 0x80) {
    head = readVarint(buffer, start, entriesEnd)
    at += varintLength(head) - 1
  }
  while (buffer[at++] >= 0x80);
  const columnBytes = head >>> 1
  if (head < 0 || at + columnBytes > entriesEnd) throw damagedEntry(block, start)
  const wanted = length - rowBytes
  const limit = columnBytes < wanted ? columnBytes : wanted
  let i = 0
  while (i < limit && buffer[at + i] === key[rowBytes + i]) i++
  if (i < limit) return buffer[at + i] - key[rowBytes + i]
  // The rest of the entry's key is after the end of `key`.
  if (limit === wanted) return 1
  reader.read(block, slot)
  return compareBytes(reader.buffer, reader.keyStart, reader.keyEnd, key, 0, length)
}

function readPrefixes(block: Block): Float64Array {
  const { count, prefixLength } = block
  const prefixes = new Float64Array(count)
  for (let slot = 0; slot < count; slot++) {
    reader.read(block, slot)
    const start = reader.keyStart + prefixLength
    if (start > reader.keyEnd) throw damagedEntry(block, reader.start)
    prefixes[slot] = readPrefix48(reader.buffer, start, reader.keyEnd)
    // The other keys of the row begin with the row.
    if (!reader.walk.isAtRow || prefixLength + prefixBytes > reader.walk.rowBytes) continue
    const end = nextRow(block, slot)
    prefixes.fill(prefixes[slot], slot + 1, end)
    slot = end - 1
  }
  return prefixes
}
