/** Pages: a scan in parts, each with a token for the beginning of the next part. */
import {
  checkBoolean,
  checkBytesLike,
  checkInteger,
  checkMethods,
  checkObject,
  readArguments,
} from '../base/arguments.js'
import { prefixSuccessor, toBytes } from '../base/bytes.js'
import { invalidArgument } from '../base/errors.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import type { RowPrefix, RowSpan, ScanOptions } from '../api/reads.js'
import type { Result } from '../api/results/result.js'
import type { Table } from '../api/table.js'

/** Rows that are read by pages, and options of the scans. */
export type PageRows = Omit<ScanOptions, 'batch' | 'limit' | 'needCursorResult'> &
  (RowSpan | RowPrefix)

/** A scan whose `limit` is the size of a page. */
export type PageScan = PageRows & {
  /** Number of rows of a page, at least 1. */
  readonly limit: number
  /** The `next` of the page before; undefined for the first page. */
  readonly page?: string | undefined
}

/** The rows of a page, and the token for the next page. */
export interface Page {
  /** In the order of the scan. */
  readonly rows: Result[]
  /** The `page` of the next call; undefined if this was the last page. Safe in URLs. */
  readonly next: string | undefined
}

const forward = 1
const backward = 2

/**
 * Reads one page of a scan. Each page is a scan of its own that begins after the last row of the
 * page before. Rows that are written between two pages appear at their place; pass the same
 * `snapshot` to both calls to exclude them. Errors of `Table.scan`, and `ERR_INVALID_ARGUMENT` for
 * a `page` that is not the `next` of the same scan.
 */
export async function readPage(table: Table, scan: PageScan): Promise<Page> {
  checkMethods(table, 'the table of a page', ['scan'])
  if ('rows' in table) {
    throw invalidArgument(
      'readPage needs a Table; a typed table has pages of its own: table.page()',
    )
  }
  const { page, limit, ...rest } = readArguments(() => ({
    ...checkObject(scan, 'a scan of pages', '{ limit: 100 }'),
  }))
  if (checkInteger(limit, 'limit', 1) === undefined) {
    throw invalidArgument('a scan of pages needs a limit')
  }
  const reversed = checkBoolean(rest.reversed, 'reversed', false)
  const range = page === undefined ? rest : continuedAfter(readToken(page, reversed), rest)
  // One more row shows whether there is another page.
  const rows = await table.scan({ ...range, limit: limit + 1 }).all()
  if (rows.length <= limit) return { rows, next: undefined }
  rows.length = limit
  return { rows, next: makeToken(rows[limit - 1].row!, reversed) }
}

function makeToken(row: Buffer, reversed: boolean): string {
  return Buffer.concat([Buffer.of(reversed ? backward : forward), row]).toString('base64url')
}

function readToken(page: unknown, reversed: boolean): Buffer {
  const bytes = typeof page === 'string' ? Buffer.from(page, 'base64url') : undefined
  if (bytes === undefined || bytes.length < 2 || bytes.toString('base64url') !== page) {
    throw invalidArgument('page must be the next of the page before')
  }
  if (bytes[0] !== (reversed ? backward : forward)) {
    throw invalidArgument('page belongs to a scan in the other direction')
  }
  return bytes.subarray(1)
}

/** The part of the scan after a row. */
function continuedAfter(row: Buffer, scan: PageRows): PageRows {
  const { prefix, startRow, ...rest } = scan
  const reversed = rest.reversed === true
  if (prefix === undefined) {
    checkAfter(row, startRow, reversed)
    return { ...rest, startRow: row, startInclusive: false }
  }
  checkBytesLike(prefix, 'prefix')
  const bytes = toBytes(prefix)
  if (!row.subarray(0, bytes.length).equals(bytes)) throw foreignPage()
  const range = { ...rest, startRow: row, startInclusive: false }
  if (reversed) return { ...range, stopRow: bytes, stopInclusive: true }
  const end = prefixSuccessor(bytes)
  return end === undefined ? range : { ...range, stopRow: end, stopInclusive: false }
}

function checkAfter(row: Buffer, startRow: BytesLike | undefined, reversed: boolean): void {
  if (startRow === undefined) return
  checkBytesLike(startRow, 'startRow')
  const start = toBytes(startRow)
  if (start.length === 0) return
  const order = Buffer.compare(row, start)
  if (reversed ? order > 0 : order < 0) throw foreignPage()
}

function foreignPage(): Error {
  return invalidArgument('page lies outside of the rows of the scan')
}
