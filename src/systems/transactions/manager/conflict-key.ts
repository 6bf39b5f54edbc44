/** The keys of change sets of transactional tables. */
import type { Column } from '../tables/table-writes.js'

/** A key as latin1 text: table and row, and the column for conflict detection by column. */
export function conflictKey(table: string, row: Buffer, column?: Column): string {
  const tableText = Buffer.from(table, 'utf8').toString('latin1')
  const text = `${tableText}\0${row.length}\0${row.toString('latin1')}`
  if (column === undefined) return text
  const family = Buffer.from(column.family, 'utf8').toString('latin1')
  return `${text}${family}:${column.qualifier.toString('latin1')}`
}
