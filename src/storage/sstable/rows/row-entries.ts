/**
 * Adjacent entries of a row in the memory of a block, or copied from there (FORMAT.md, "Data
 * block"). What reads a whole row says if the lengths of the entries do not lead to its end, and
 * reads nothing behind. The other functions require lengths that were compared with the block.
 */
import { assert } from '../../../base/assert.js'
import { emptyBytes } from '../../../base/bytes.js'
import { readVarint, varintLength } from '../../../base/varint.js'
import { RowWalk } from './row-walk.js'

/** Offset of the key of the row entry at offset `at`. REQUIRES a row entry. */
export function keyStartAt(buffer: Buffer, at: number): number {
  let start = at
  while (buffer[start++] >= 0x80);
  while (buffer[start++] >= 0x80);
  return start
}

/** Offset of the row entry whose key is `[keyStart, keyEnd)` and whose value ends at `valueEnd`. */
export function entryStartOf(keyStart: number, keyEnd: number, valueEnd: number): number {
  return keyStart - varintLength(keyEnd - keyStart) - varintLength(valueEnd - keyEnd)
}

/** End of the row entry at offset `at`. REQUIRES one that ends at `end` or before. */
export function entryEndAt(buffer: Buffer, at: number, end: number): number {
  const keyLength = readVarint(buffer, at, end)
  const afterKey = at + varintLength(keyLength)
  const valueLength = readVarint(buffer, afterKey, end)
  return afterKey + varintLength(valueLength) + keyLength + valueLength
}

/** The entries of a plain row: where they lie in `buffer[start, end)`, one after the other. */
export class RowEntries {
  buffer: Buffer = emptyBytes
  start = 0
  end = 0
  /** Number of entries. */
  count = 0
  /** Offset of each entry. */
  starts = new Uint32Array(64)
  /** End of the suffix of each key ({@link RowWalk.suffixEnd}). */
  suffixEnds = new Uint32Array(64)
  /** Sum of the lengths of the keys. */
  keyBytes = 0
  /** Sum of the lengths of the values. */
  valueBytes = 0
  /** The walk over the entries, at the last one. */
  readonly walk = new RowWalk()

  /**
   * Reads the lengths of the entries in `buffer[start, end)`; false if those of `count` entries do
   * not lead to the end.
   */
  read(buffer: Buffer, start: number, end: number, count: number): boolean {
    if (count > this.starts.length) {
      this.starts = new Uint32Array(2 * count)
      this.suffixEnds = new Uint32Array(2 * count)
    }
    const { starts, suffixEnds, walk } = this
    let keyBytes = 0
    let valueBytes = 0
    let i = 0
    if (!walk.begin(buffer, start, end)) return false
    do {
      if (i === count) return false
      starts[i] = walk.start
      suffixEnds[i++] = walk.suffixEnd
      keyBytes += walk.keyBytes
      valueBytes += walk.valueEnd - walk.valueStart
    } while (walk.next())
    if (i !== count || !walk.isComplete) return false
    this.buffer = buffer
    this.start = start
    this.end = end
    this.count = count
    this.keyBytes = keyBytes
    this.valueBytes = valueBytes
    return true
  }
}

/** What {@link RowCounter.read} counted in the adjacent entries of a row. */
export class RowCounter {
  cells = 0
  /** Bytes of the cells, each with its whole key. */
  bytes = 0

  /** Reads the lengths of the entries in `buffer[start, end)`; false if they miss the end. */
  read(buffer: Buffer, start: number, end: number): boolean {
    let cells = 0
    let bytes = 0
    let isAtCell = walk.begin(buffer, start, end)
    while (isAtCell) {
      cells++
      bytes += walk.keyBytes + walk.valueEnd - walk.valueStart
      isAtCell = walk.next()
    }
    this.cells = cells
    this.bytes = bytes
    return walk.isComplete
  }
}

const walk = new RowWalk()

/**
 * Writes the cells of the row in `buffer[start, end)` to `target[at, …)`, each as its whole key and
 * its value, and appends their numbers, as in `CollectedRow.cells`. REQUIRES lengths that lead to
 * the end. Returns the number of cells.
 */
export function openRow(
  buffer: Buffer,
  familyIndex: number,
  start: number,
  end: number,
  target: Buffer,
  at: number,
  cells: number[],
): number {
  let count = 0
  let keyStart = at
  const isRow = walk.begin(buffer, start, end)
  assert(isRow, 'a row begins with its key')
  do {
    const valueEnd = walk.write(target, keyStart)
    cells.push(familyIndex, keyStart, valueEnd + walk.valueStart - walk.valueEnd, valueEnd)
    keyStart = valueEnd
    count++
  } while (walk.next())
  assert(walk.isComplete, 'the entries of a row lead to its end')
  return count
}
