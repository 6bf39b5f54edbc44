/**
 * Plain puts: cells that most reads and merges need no rules for. A row of plain puts, one of each
 * column, is a plain row; SSTables mark those that lie in one block (`../sstable/FORMAT.md`).
 */
import { keySuffixBytes, sequenceOf, timestampHighOf, timestampLowOf, typeOf } from './cell-key.js'
import { CellType } from './cell-type.js'
import { plainValueFlags } from './cell-value.js'
import { approximateTimestamp } from './timestamp.js'

/**
 * Whether an entry is a put without TTL or value reference, with a timestamp that is not in the far
 * future. Its value must follow its key.
 */
export function isPlainPut(buffer: Buffer, keyEnd: number, valueStart: number): boolean {
  return valueStart === keyEnd && isPlainPutOf(buffer, keyEnd, valueStart)
}

/** As {@link isPlainPut}, of an entry whose value need not follow the suffix of its key. */
export function isPlainPutOf(buffer: Buffer, suffixEnd: number, valueStart: number): boolean {
  // The high byte of a timestamp is zero except in the far future; it is stored as 0x7f.
  return (
    buffer[valueStart] === plainValueFlags &&
    buffer[suffixEnd - keySuffixBytes] === 0x7f &&
    typeOf(buffer, suffixEnd) === CellType.put
  )
}

/**
 * Whether an entry is a plain put that is visible at `readPoint`, and not older than `oldest` in
 * milliseconds; 0: of any age.
 */
export function isVisiblePut(
  buffer: Buffer,
  keyEnd: number,
  valueStart: number,
  readPoint: number,
  oldest: number,
): boolean {
  if (!isPlainPut(buffer, keyEnd, valueStart) || sequenceOf(buffer, keyEnd) > readPoint) {
    return false
  }
  if (oldest === 0) return true
  const high = timestampHighOf(buffer, keyEnd)
  return approximateTimestamp(high, timestampLowOf(buffer, keyEnd)) >= oldest
}
