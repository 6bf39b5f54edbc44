/**
 * An entry that leads to its row, as it lies in the result of a scan: a query looks at each entry
 * and its row once, and a copy of the key would cost more than that look.
 *
 * In the table of the index the key is escaped again, as all rows are (storage/cell/cell-key.ts):
 * a zero of a part is 00 FF FF there, and the end of a part is 00 FF 01.
 */
import type { ByteRange } from '../../base/bytes.js'
import { escaped, hasEscape } from '../../storage/cell/cell-key.js'
import type { Result } from '../../api/results/result.js'
import type { IndexPlan } from './declaration.js'
import { hasEntry } from './entries.js'
import { entryColumn, readEntry } from './entry-values.js'

const partEndBytes = 3

/** The row of the data in an entry, with the escapes of keys. `ERR_CORRUPTION`. */
export function rowOfEntry(plan: IndexPlan, entry: Result): ByteRange {
  if (!plan.unique) {
    const { source: value, start: at, end: valueEnd } = entry.valueRange(entryColumn)!
    const { source, start, end } = entry.escapedRow()
    const length = valueEnd - at < 2 ? 0 : (value[at] << 8) | value[at + 1]
    const rowStart = end - length
    // Without a zero, also before it, the row has no escapes.
    if (length > 0 && rowStart > start && !hasEscape(source, rowStart - 1, end)) {
      return { source, start: rowStart, end }
    }
  }
  return escaped(readEntry(plan, entry.row!, entry.value(entryColumn)!).row)
}

/** Whether a row has the key of the entry that led to it. */
export function fits(plan: IndexPlan, entry: Result, found: Result): boolean {
  if (found.isEmpty) return false
  const { parts } = plan
  const key = entry.escapedRow()
  let at = key.start
  for (let i = 0; i < parts.length; i++) {
    if (!parts[i].isStored) return hasEntry(plan, entry.row!, found.row!, found)
    at = behindValue(key, at, found.valueRange(parts[i].column))
    if (at < 0) return false
  }
  return true
}

/** The offset behind the part at `at` of an escaped key, if it is a column's value; else -1. */
function behindValue({ source: key }: ByteRange, at: number, value: ByteRange | undefined): number {
  if (value === undefined) return -1
  const { source, start, end } = value
  let behind = at
  for (let i = start; i < end; i++) {
    const byte = source[i]
    if (key[behind++] !== byte) return -1
    if (byte === 0 && (key[behind++] !== 0xff || key[behind++] !== 0xff)) return -1
  }
  const isEnd = key[behind] === 0 && key[behind + 1] === 0xff && key[behind + 2] === 1
  return isEnd ? behind + partEndBytes : -1
}
