/**
 * Adjacent entries of a row in the memory of a block, or copied from there (FORMAT.md, "Data
 * block"). What reads a whole row says if the lengths of the entries do not lead to its end, and
 * reads nothing behind. The other functions require lengths that were compared with the block.
 */
import { assert } from '../../../base/assert.js'
import { copyBytes, emptyBytes } from '../../../base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../../../base/varint.js'

/** Offset of the key of the entry at offset `at`. REQUIRES an entry. */
export function keyStartAt(buffer: Buffer, at: number): number {
  let start = at
  while (buffer[start++] >= 0x80);
  while (buffer[start++] >= 0x80);
  return start
}

/** End of the entry at offset `at`. REQUIRES an entry that ends at `end` or before. */
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
  /** End of the key of each entry, where its value begins. */
  keyEnds = new Uint32Array(64)
  /** The last key is `buffer[keyStart, keyEnd)`. */
  keyStart = 0
  keyEnd = 0
  /** Sum of the lengths of the keys. */
  keyBytes = 0
  /** Sum of the lengths of the values. */
  valueBytes = 0

  /**
   * Reads the lengths of the entries in `buffer[start, end)`; false if those of `count` entries do
   * not lead to the end.
   */
  read(buffer: Buffer, start: number, end: number, count: number): boolean {
    if (count > this.starts.length) {
      this.starts = new Uint32Array(2 * count)
      this.keyEnds = new Uint32Array(2 * count)
    }
    const { starts, keyEnds } = this
    let at = start
    let keyStart = 0
    let keyEnd = 0
    let keyBytes = 0
    let valueBytes = 0
    for (let i = 0; i < count; i++) {
      starts[i] = at
      keyStart = at + 1
      let keyLength = buffer[at]
      if (keyLength >= 0x80) {
        keyLength = readVarint(buffer, at, end)
        keyStart = at + varintLength(keyLength)
      }
      let valueLength = buffer[keyStart]
      if (valueLength >= 0x80) {
        valueLength = readVarint(buffer, keyStart, end)
        keyStart += varintLength(valueLength)
      } else keyStart++
      if (keyLength < 0 || valueLength < 0) return false
      keyEnd = keyStart + keyLength
      keyEnds[i] = keyEnd
      keyBytes += keyLength
      valueBytes += valueLength
      at = keyEnd + valueLength
      // Negated, because a length from behind the memory is no number.
      if (!(at <= end)) return false
    }
    if (at !== end) return false
    this.buffer = buffer
    this.start = start
    this.end = end
    this.count = count
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.keyBytes = keyBytes
    this.valueBytes = valueBytes
    return true
  }
}

/** What {@link EntryCounter.read} counted in adjacent entries. */
export class EntryCounter {
  /** Number of entries. */
  entries = 0
  /** Number of bytes that hold lengths, and belong to no key and no value. */
  lengthBytes = 0

  /** Reads the lengths of the entries in `buffer[start, end)`; false if they miss the end. */
  read(buffer: Buffer, start: number, end: number): boolean {
    let at = start
    let entries = 0
    let lengthBytes = 0
    while (at < end) {
      lengthBytes -= at
      let keyLength = buffer[at++]
      if (keyLength >= 0x80) {
        keyLength = readVarint(buffer, at - 1, end)
        at += varintLength(keyLength) - 1
      }
      let valueLength = buffer[at++]
      if (valueLength >= 0x80) {
        valueLength = readVarint(buffer, at - 1, end)
        at += varintLength(valueLength) - 1
      }
      if (keyLength < 0 || valueLength < 0) return false
      lengthBytes += at
      at += keyLength + valueLength
      entries++
    }
    if (at !== end) return false
    this.entries = entries
    this.lengthBytes = lengthBytes
    return true
  }
}

/**
 * Appends the numbers of the cells in `buffer[start, end)`, as in `CollectedRow.cells`. REQUIRES
 * lengths that lead to the end. Returns the number of cells.
 */
export function addEntries(
  buffer: Buffer,
  familyIndex: number,
  start: number,
  end: number,
  cells: number[],
): number {
  let count = 0
  let at = start
  while (at < end) {
    let keyLength = buffer[at]
    let valueLength = buffer[at + 1]
    if ((keyLength | valueLength) >= 0x80) {
      keyLength = readVarint(buffer, at, end)
      at += varintLength(keyLength)
      valueLength = readVarint(buffer, at, end)
      at += varintLength(valueLength)
      assert(keyLength >= 0 && valueLength >= 0, 'the entries of a row have lengths')
    } else at += 2
    const keyEnd = at + keyLength
    const valueEnd = keyEnd + valueLength
    cells.push(familyIndex, at, keyEnd, valueEnd)
    at = valueEnd
    count++
  }
  return count
}

/** Number of bytes of cells as entries; their numbers in `cells` begin at index `from`. */
export function entriesBytes(cells: readonly number[], from: number): number {
  let bytes = 0
  for (let i = from; i < cells.length; i += 4) {
    const keyBytes = cells[i + 2] - cells[i + 1]
    const valueBytes = cells[i + 3] - cells[i + 2]
    bytes += varintLength(keyBytes) + varintLength(valueBytes) + keyBytes + valueBytes
  }
  return bytes
}

/** Writes cells as adjacent entries to `target[at, …)`, the inverse of {@link addEntries}. */
export function writeEntries(
  page: Buffer,
  cells: readonly number[],
  from: number,
  target: Buffer,
  at: number,
): void {
  let end = at
  for (let i = from; i < cells.length; i += 4) {
    const keyStart = cells[i + 1]
    const keyEnd = cells[i + 2]
    const valueEnd = cells[i + 3]
    end = writeVarint(target, end, keyEnd - keyStart)
    end = writeVarint(target, end, valueEnd - keyEnd)
    copyBytes(page, keyStart, valueEnd, target, end)
    end += valueEnd - keyStart
  }
}
