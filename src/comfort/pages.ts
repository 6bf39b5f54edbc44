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
import { partsOptions, refuseOptions, type PartsOption } from './ranges.js'

/** Rows that are read by pages, and options of the scans. */
export type PageRows = Omit<ScanOptions, PartsOption | 'limit'> & (RowSpan | RowPrefix)

/** A scan whose `limit` is the size of a page. */
export type PageScan = PageRows & {
  /** Number of rows of a page, at least 1. */
  readonly limit: number
  /** The `next` or `previous` of another page; undefined for the first page. */
  readonly page?: string | undefined
}

/** The rows of a page, and the tokens for its neighbours. */
export interface Page {
  /** In the order of the scan. */
  readonly rows: Result[]
  /** The `page` of the next call; undefined if this was the last page. Safe in URLs. */
  readonly next: string | undefined
  /** The `page` of the page before this one; undefined if this was the first. Safe in URLs. */
  readonly previous: string | undefined
}

/** A row beside which a page lies. */
interface Place {
  readonly row: Buffer
  /** Whether the page ends before the row; else it begins after it. */
  readonly isBefore: boolean
  /** Whether the row itself belongs to the page. */
  readonly isInclusive: boolean
}

/** The bits of the first byte of a token. The direction is that of the scan. */
const forward = 1
const backward = 2
const beforeRow = 4
const withRow = 8

/**
 * Reads one page of a scan. Each page is a scan of its own that begins after the last row of the
 * page before, or ends before the first row of the page behind it. Rows that are written meanwhile
 * appear at their place; pass the same `snapshot` to all calls to exclude them. A page is empty
 * only if the scan has no rows, or none are left on that side. Errors of `Table.scan`, and
 * `ERR_INVALID_ARGUMENT` for a `page` that is not of the same scan.
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
  refuseOptions(rest, 'a scan of pages', partsOptions)
  const reversed = checkBoolean(rest.reversed, 'reversed', false)
  const place = page === undefined ? undefined : readToken(page, reversed)
  // One more row shows whether there is another page in the direction of the read.
  const rows = await table.scan({ ...rangeOf(rest, place), limit: limit + 1 }).all()
  const hasMore = rows.length > limit
  if (hasMore) rows.length = limit
  const isBefore = place?.isBefore === true
  if (isBefore) rows.reverse()
  /** On the other side lies at least the row of the place, whose neighbour this page is. */
  const tokenBeside = (row: Buffer | undefined, before: boolean): string =>
    makeToken(
      { row: row ?? place!.row, isBefore: before, isInclusive: row === undefined },
      reversed,
    )
  return {
    rows,
    next: isBefore || hasMore ? tokenBeside(rows.at(-1)?.row, false) : undefined,
    previous: (isBefore ? hasMore : place !== undefined)
      ? tokenBeside(rows[0]?.row, true)
      : undefined,
  }
}

function makeToken({ row, isBefore, isInclusive }: Place, reversed: boolean): string {
  const kind =
    (reversed ? backward : forward) | (isBefore ? beforeRow : 0) | (isInclusive ? withRow : 0)
  return Buffer.concat([Buffer.of(kind), row]).toString('base64url')
}

function readToken(page: unknown, reversed: boolean): Place {
  const bytes = typeof page === 'string' ? Buffer.from(page, 'base64url') : undefined
  if (bytes === undefined || bytes.length < 2 || bytes.toString('base64url') !== page) {
    throw invalidArgument('page must be the next or previous of another page')
  }
  const [kind] = bytes
  if ((kind & ~(beforeRow | withRow)) !== (reversed ? backward : forward)) {
    throw invalidArgument('page belongs to a scan in the other direction')
  }
  const isInclusive = (kind & withRow) !== 0
  return { row: bytes.subarray(1), isBefore: (kind & beforeRow) !== 0, isInclusive }
}

/** The rows to read for a page: up to the end of the scan or, turned, up to its beginning. */
function rangeOf(scan: PageRows, place: Place | undefined): PageRows {
  if (place === undefined) return scan
  const range = continuedFrom(place.row, scan)
  const chosen = place.isBefore ? continuedFrom(place.row, turned(scan)) : range
  return { ...chosen, startInclusive: place.isInclusive }
}

/** The same rows in the other direction. */
function turned(scan: PageRows): PageRows {
  const { prefix, startRow, startInclusive = true, stopRow, stopInclusive = false, ...rest } = scan
  const reversed = rest.reversed !== true
  if (prefix !== undefined) return { ...rest, reversed, prefix }
  return {
    ...rest,
    reversed,
    startRow: stopRow,
    startInclusive: stopInclusive,
    stopRow: startRow,
    stopInclusive: startInclusive,
  }
}

/** The part of the scan from a row on. */
function continuedFrom(row: Buffer, scan: PageRows): Exclude<PageRows, RowPrefix> {
  const { prefix, startRow, ...rest } = scan
  const reversed = rest.reversed === true
  if (prefix === undefined) {
    checkAfter(row, startRow, reversed)
    return { ...rest, startRow: row }
  }
  checkBytesLike(prefix, 'prefix')
  const bytes = toBytes(prefix)
  if (!row.subarray(0, bytes.length).equals(bytes)) throw foreignPage()
  if (reversed) return { ...rest, startRow: row, stopRow: bytes, stopInclusive: true }
  const end = prefixSuccessor(bytes)
  const range = { ...rest, startRow: row }
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
