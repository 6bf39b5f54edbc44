/** Counts and removes the rows of a range, with the scans and deletes of any table. */
import { checkMethods, checkObject, readArguments } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import type { RowPrefix, RowSpan, ScanOptions } from '../api/reads.js'
import type { Table } from '../api/table.js'

/** The rows of a range, and options of the scan that finds them. */
export type RangeScan = Omit<ScanOptions, PartsOption | 'raw'> & (RowSpan | RowPrefix)

/** Options of scans whose results are parts of rows, or no rows. */
export type PartsOption = 'batch' | 'allowPartialResults' | 'needCursorResult'

/** The names of these options. */
export const partsOptions: readonly PartsOption[] = [
  'batch',
  'allowPartialResults',
  'needCursorResult',
]

/** Rows that are read, and deleted, together. */
const rowsAtOnce = 1000

/** Refuses options of a scan whose results are not the rows. */
export function refuseOptions(
  scan: Readonly<Partial<Record<keyof ScanOptions, unknown>>>,
  what: string,
  names: readonly (keyof ScanOptions)[],
): void {
  const name = names.find((each) => scan[each] !== undefined)
  if (name !== undefined) throw invalidArgument(`${what} has no option '${name}': it is of rows`)
}

async function eachBatch(
  table: Table,
  scan: RangeScan,
  each: (rows: Buffer[]) => Promise<void> | void,
): Promise<void> {
  checkMethods(table, 'the table', ['scan', 'deleteList'])
  // A filter must see all cells; without one the first cell of a family tells that the row exists.
  const rows = table.scan(
    readArguments(() => {
      refuseOptions(checkObject(scan, 'a range'), 'a range', [...partsOptions, 'raw'])
      return scan.filter === undefined ? { cellsPerFamilyMax: 1, ...scan } : scan
    }),
  )
  try {
    for (;;) {
      const results = await rows.nextBatch(rowsAtOnce)
      if (results.length === 0) return
      await each(results.map((result) => result.row!))
    }
  } finally {
    rows.close()
  }
}

/** The number of rows that a scan would return. Reads them all. Errors of `Table.scan`. */
export async function countRows(table: Table, scan: RangeScan = {}): Promise<number> {
  let count = 0
  await eachBatch(table, scan, (rows) => void (count += rows.length))
  return count
}

/**
 * Removes the rows that a scan returns, whole, and resolves to their number. Not atomic: rows are
 * removed in groups, and after an error some are gone. A write to such a row that comes between
 * the scan and the delete is removed too. `ERR_INVALID_ARGUMENT` for a scan without a range, also
 * with empty bounds, else errors of `Table.scan` and `Table.deleteList`.
 */
export async function deleteRange(table: Table, scan: RangeScan): Promise<number> {
  const isWhole = readArguments(() => {
    const { startRow, stopRow, prefix } = checkObject(scan, 'a range', "{ prefix: 'r' }")
    // An empty bound is none.
    return [startRow, stopRow, prefix].every((bound) => bound === undefined || bound?.length === 0)
  })
  if (isWhole) {
    throw invalidArgument(
      'deleteRange needs a bound: prefix, startRow or stopRow, of a typed table prefix, startKey or ' +
        'stopKey; admin.truncateTable removes all rows',
    )
  }
  let count = 0
  await eachBatch(table, scan, async (rows) => {
    await table.deleteList(rows.map((row) => ({ row })))
    count += rows.length
  })
  return count
}

/** As {@link deleteRange}, for the rows that begin with these bytes. */
export function deletePrefix(table: Table, prefix: BytesLike): Promise<number> {
  return deleteRange(table, { prefix })
}
