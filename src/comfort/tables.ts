/** What systems do with their tables: open them, and read a scan to its end. */
import { CellarError, ErrorCode } from '../base/errors.js'
import type { Database } from '../api/database.js'
import type { ScanOptions } from '../api/reads.js'
import type { Result } from '../api/results/result.js'
import type { ResultScanner } from '../api/scanners.js'
import type { TableOptions } from '../api/schema.js'
import type { Table } from '../api/table.js'

/**
 * A table of a system: made if it does not exist, and taken as it is if it does, also if another
 * caller makes it in between.
 */
export async function openTable(
  database: Database,
  name: string,
  options: TableOptions,
): Promise<Table> {
  if (!(await database.admin.tableExists(name))) {
    try {
      return await database.createTable(name, options)
    } catch (error) {
      if (!(error instanceof CellarError) || error.code !== ErrorCode.tableExists) throw error
    }
  }
  return database.table(name)
}

/**
 * Calls `each` with the rows of a scanner until it returns false, and closes the scanner; true if
 * it never did. Throws the error of a scan that fails half-way: a batch that is short says nothing
 * about the end, for an error may follow.
 */
export async function eachRow(
  scanner: ResultScanner,
  atOnce: number,
  each: (result: Result) => boolean,
): Promise<boolean> {
  try {
    for (;;) {
      const results = await scanner.nextBatch(atOnce)
      if (results.length === 0) return true
      for (const result of results) if (!each(result)) return false
    }
  } finally {
    scanner.close()
  }
}

/**
 * The rows of a table after a row, some at a time in their order. Each step is a scan of its own:
 * it sees what was written since the one before.
 */
export async function* rowSteps(
  table: Table,
  scan: Pick<ScanOptions, 'columns'>,
  limit: number,
  after?: Buffer,
): AsyncGenerator<Result[], void> {
  let last = after
  for (;;) {
    const span = last === undefined ? {} : { startRow: last, startInclusive: false }
    const rows = await table.scan({ ...scan, ...span, limit }).all()
    if (rows.length === 0) return
    yield rows
    last = rows[rows.length - 1].row!
  }
}
