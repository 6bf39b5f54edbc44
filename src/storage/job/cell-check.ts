/**
 * Checks keys and values from outside: only cells that the store itself could have written may
 * pass.
 */
import { isFamilyMarker } from '../cell/cell-key.js'
import { contentStart, readReference } from '../cell/cell-value.js'
import { isCellType } from '../cell/cell-type.js'
import type { CellView } from '../cell/cell-view.js'
import { rowBytesMax } from '../cell/limits.js'

/** Description of a malformed cell. */
export interface CellFault {
  readonly expected: string
  readonly found: string
}

/**
 * Finds a fault in a cell whose sequence must be 0 and whose value must lie in the cell; undefined
 * = none. REQUIRES a well-formed key (`isWellFormedKey`). `isRowGood`: the row was checked with an
 * earlier cell.
 */
export function findCellFault(cell: CellView, isRowGood = false): CellFault | undefined {
  const fault = findStoredFault(cell, isRowGood)
  if (fault !== undefined) return fault
  if (cell.sequence !== 0) return { expected: 'sequence 0', found: `${cell.sequence}` }
  return cell.isReference ? { expected: 'a stored value', found: 'a reference' } : undefined
}

/** As {@link findCellFault}, for a cell of any sequence, whose value may lie in a value file. */
export function findStoredFault(cell: CellView, isRowGood = false): CellFault | undefined {
  const { buffer, keyStart, rowEnd, qualifierStart, qualifierEnd, valueStart, valueEnd } = cell
  const rowBytes = isRowGood ? 1 : unescapedLength(buffer, keyStart, rowEnd)
  if (rowBytes < 1 || rowBytes > rowBytesMax) {
    return { expected: `a row of 1 to ${rowBytesMax} bytes`, found: `${rowBytes}` }
  }
  if (unescapedLength(buffer, qualifierStart, qualifierEnd) < 0) {
    return { expected: 'an escaped qualifier', found: 'a zero byte without escape' }
  }
  if (!isCellType(cell.type)) return { expected: 'a cell type', found: `${cell.type}` }
  if (isFamilyMarker(cell.type) && qualifierEnd > qualifierStart) {
    return { expected: 'a family marker without qualifier', found: 'one with a qualifier' }
  }
  if (cell.timestampHigh < 0) return { expected: 'a timestamp up to 2^63-1', found: 'another' }
  const flags = valueEnd > valueStart ? buffer[valueStart] : -1
  const known = flags >= 0 && flags < 4 && contentStart(buffer, valueStart) <= valueEnd
  if (!known) return { expected: 'a stored value', found: `flags ${flags}` }
  if (!cell.isReference || readReference(buffer, valueStart, valueEnd) !== undefined)
    return undefined
  return { expected: 'a reference', found: `${valueEnd - valueStart} bytes` }
}

/** Length in bytes without escapes; -1 if a zero byte has no escape. */
function unescapedLength(buffer: Buffer, start: number, end: number): number {
  let length = 0
  for (let at = start; at < end; at++, length++) {
    if (buffer[at] === 0 && (++at >= end || buffer[at] !== 0xff)) return -1
  }
  return length
}
