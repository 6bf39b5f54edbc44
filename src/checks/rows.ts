/** Checks the rows that callers give. */
import { checkBytesLike, checkObject } from '../base/arguments.js'
import { prefixSuccessor, toBytes } from '../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import { checkRowLength } from '../storage/cell/limits.js'
import type { RowSpan, Scan } from '../api/reads.js'

/** The row of a get or a mutation: 1 to 32,767 bytes, else `ERR_INVALID_ARGUMENT`. */
export function rowBytes(row: BytesLike): Uint8Array {
  // Callers without types may give none.
  if ((row as unknown) === undefined) {
    throw invalidArgument("row is missing; each operation names its row, such as { row: 'r' }")
  }
  checkBytesLike(row, 'row')
  const bytes = typeof row === 'string' ? Buffer.from(row, 'utf8') : row
  if (bytes.length === 0) throw invalidArgument('row is empty; a row has 1 to 32767 bytes')
  checkRowLength(bytes.length)
  return bytes
}

/** A bound of a scan; undefined if absent or empty. */
export function boundBytes(row: BytesLike | undefined, what: string): Uint8Array | undefined {
  if (row === undefined) return undefined
  checkBytesLike(row, what)
  const bytes = typeof row === 'string' ? Buffer.from(row, 'utf8') : row
  if (bytes.length === 0) return undefined
  checkRowLength(bytes.length)
  return bytes
}

/** The rows of a scan, in its direction. */
export interface ScanBounds {
  readonly start: Uint8Array | undefined
  readonly startInclusive: boolean
  readonly stop: Uint8Array | undefined
  readonly stopInclusive: boolean
  readonly reversed: boolean
}

/** Parses the rows that a scan selects. */
export function parseBounds(scan: Scan): ScanBounds {
  const reversed = scan.reversed ?? false
  const { prefix } = scan
  if (prefix !== undefined) return prefixBounds(scan as RowSpan, prefix, reversed)
  return {
    start: boundBytes(scan.startRow, 'startRow'),
    startInclusive: scan.startInclusive ?? true,
    stop: boundBytes(scan.stopRow, 'stopRow'),
    stopInclusive: scan.stopInclusive ?? false,
    reversed,
  }
}

/** Bounds of a prefix: the same rows in both directions, unlike HBase's `setRowPrefixFilter`. */
function prefixBounds(scan: RowSpan, prefix: BytesLike, reversed: boolean): ScanBounds {
  const { startRow, startInclusive, stopRow, stopInclusive } = scan
  if ((startRow ?? startInclusive ?? stopRow ?? stopInclusive) !== undefined) {
    throw invalidArgument('give prefix or startRow and stopRow, not both')
  }
  checkBytesLike(prefix, 'prefix')
  const bytes = typeof prefix === 'string' ? Buffer.from(prefix, 'utf8') : prefix
  const first = boundBytes(bytes, 'prefix')
  const after = boundBytes(prefixSuccessor(bytes), 'prefix')
  return reversed
    ? { start: after, startInclusive: false, stop: first, stopInclusive: true, reversed }
    : { start: first, startInclusive: true, stop: after, stopInclusive: false, reversed }
}

/** Throws `ERR_WRONG_ROW` if an operation inside a row mutation names another row. */
export function checkSameRow(row: BytesLike, operation: { readonly row?: BytesLike }): void {
  checkObject(operation, 'the operation of a mutation')
  if (operation.row === undefined) return
  checkBytesLike(operation.row, 'the row of a mutation')
  if (toBytes(operation.row).equals(toBytes(row))) return
  throw new CellarError(ErrorCode.wrongRow, 'a mutation names another row than the one it is for')
}
