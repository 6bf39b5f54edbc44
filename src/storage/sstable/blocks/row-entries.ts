/**
 * Adjacent entries of a row in the memory of a block, or copied from there (FORMAT.md, "Data
 * block"). The lengths of the entries were compared with the block when the row was found.
 */
import { assert } from '../../../base/assert.js'
import { readVarint, varintLength } from '../../../base/varint.js'

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

/** Appends the numbers of the cells in `page[start, end)`, as in `CollectedRow.cells`. */
export function addEntries(
  page: Buffer,
  familyIndex: number,
  start: number,
  end: number,
  cells: number[],
): void {
  let at = start
  while (at < end) {
    let keyLength = page[at++]
    if (keyLength >= 0x80) {
      keyLength = readVarint(page, at - 1, end)
      at += varintLength(keyLength) - 1
    }
    let valueLength = page[at++]
    if (valueLength >= 0x80) {
      valueLength = readVarint(page, at - 1, end)
      at += varintLength(valueLength) - 1
    }
    const keyEnd = at + keyLength
    const valueEnd = keyEnd + valueLength
    cells.push(familyIndex, at, keyEnd, valueEnd)
    at = valueEnd
  }
  assert(at === end, 'a row ends with its last value')
}
