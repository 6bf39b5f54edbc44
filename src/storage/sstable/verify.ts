/** Checks an open SSTable completely: in scrubs, after compactions, at bulk loads and restores. */
import { commonPrefixLength, compareBytes } from '../../base/bytes.js'
import { isWellFormedKey, qualifierEndOf, rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import { isPlainPut } from '../cell/plain-put.js'
import type { Codecs } from '../codec/codec.js'
import type { File } from '../fs/types.js'
import { EntryPlace, entryOffset, readEntry, rowMarks } from './blocks/block.js'
import type { Block } from './blocks/block.js'
import { BlockMemoryPool } from './blocks/block-memory.js'
import { BlockStream } from './blocks/block-stream.js'
import { beginsRowMark, plainRowMark } from './format.js'
import { readSsTableMeta } from './meta.js'
import type { BlockSource } from './blocks/block-source.js'
import { damaged } from './blocks/section.js'

/** Totals over the blocks checked so far. */
class Totals {
  entryCount = 0
  keyBytes = 0
  valueBytes = 0
  lastBuffer: Buffer = Buffer.alloc(0)
  lastStart = 0
  lastEnd = 0
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
  const { lastBuffer, lastStart, lastEnd } = totals
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
  const { lastKey } = properties
  if (compareBytes(lastBuffer, lastStart, lastEnd, lastKey, 0, lastKey.length) !== 0) {
    throw damaged(reader, 0, 'the last key that the properties name', 'another')
  }
}

/**
 * Checks the marks of the slot of an entry; `shared` is the number of first bytes that its key
 * shares with the key before.
 */
function checkMarks(
  reader: BlockSource,
  block: Block,
  slot: number,
  { keyStart, keyEnd }: EntryPlace,
  shared: number,
  totals: Totals,
): void {
  const { buffer, index } = block
  const marks = rowMarks(block, slot)
  const begins = (marks & beginsRowMark) !== 0
  if (begins) totals.isPlainRow = (marks & plainRowMark) !== 0
  else if (marks !== 0) throw reader.damagedBlock(index, 'a plain row that begins', 'none')
  if (!begins && !totals.isPlainRow) return
  if (!isWellFormedKey(buffer, keyStart, keyEnd)) {
    if (totals.isPlainRow) throw reader.damagedBlock(index, 'a cell key', otherAt(slot))
    return
  }
  const row = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes - keyStart
  const column = qualifierEndOf(keyEnd) + terminatorBytes - keyStart
  if (begins ? shared >= row : slot === 0 || shared < row || shared >= column) {
    const expected = begins ? 'another row' : 'another column of the row'
    throw reader.damagedBlock(index, expected, otherAt(slot))
  }
  if (totals.isPlainRow && !isPlainPut(buffer, keyEnd, keyEnd)) {
    throw reader.damagedBlock(index, 'plain puts in a plain row', otherAt(slot))
  }
}

function otherAt(slot: number): string {
  return `slot ${slot} with another`
}

function verifyBlock(reader: BlockSource, block: Block, totals: Totals): void {
  const { index, properties } = reader
  const { firstKey } = properties
  const place = new EntryPlace()
  const { buffer } = block
  let { lastBuffer, lastStart, lastEnd } = totals
  let { keyBytes, valueBytes } = totals
  let at = 0
  for (let slot = 0; slot < block.count; slot++) {
    const offset = entryOffset(block, slot)
    if (offset !== at) throw reader.damagedBlock(block.index, `slot ${slot} ${at}`, `${offset}`)
    readEntry(block, at, place)
    const { keyStart, keyEnd, valueEnd } = place
    let shared = 0
    if (totals.entryCount + slot === 0) {
      if (compareBytes(firstKey, 0, firstKey.length, buffer, keyStart, keyEnd) !== 0) {
        throw reader.damagedBlock(block.index, 'the first key that the properties name', 'another')
      }
    } else {
      shared = commonPrefixLength(lastBuffer, lastStart, lastEnd, buffer, keyStart, keyEnd)
      // The key before ends there, or has a smaller byte.
      const isAfter =
        keyStart + shared < keyEnd &&
        (lastStart + shared === lastEnd ||
          lastBuffer[lastStart + shared] < buffer[keyStart + shared])
      if (!isAfter) {
        throw reader.damagedBlock(block.index, 'ascending keys', `slot ${slot} out of order`)
      }
    }
    checkMarks(reader, block, slot, place, shared, totals)
    keyBytes += keyEnd - keyStart
    valueBytes += valueEnd - keyEnd
    lastBuffer = buffer
    lastStart = keyStart
    lastEnd = keyEnd
    if (slot === 0 && block.index > 0) {
      if (index.compareSeparator(block.index - 1, buffer, keyStart, keyEnd) >= 0) {
        throw reader.damagedBlock(block.index, 'keys above the separator before', 'one below')
      }
    }
    at = valueEnd
  }
  if (at !== block.entriesEnd) {
    throw reader.damagedBlock(block.index, `entries of ${block.entriesEnd} bytes`, `${at}`)
  }
  totals.entryCount += block.count
  totals.keyBytes = keyBytes
  totals.valueBytes = valueBytes
  totals.lastBuffer = lastBuffer
  totals.lastStart = lastStart
  totals.lastEnd = lastEnd
  if (index.compareSeparator(block.index, buffer, lastStart, lastEnd) < 0) {
    throw reader.damagedBlock(block.index, 'keys up to the separator', 'one above')
  }
}
