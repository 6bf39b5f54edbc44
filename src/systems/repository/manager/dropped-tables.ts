/**
 * Record tables that were dropped and whose documents an index may still have, because it did not
 * run. A new table may have the name of a dropped one, so its name alone tells nothing.
 */
import type { Database, Table } from '../../../api/index.js'

const family = 'x'
const column = `${family}:v`
const kind = Buffer.from('t')

/** Name of the table of an index, or with an empty `name` what all of them begin with. */
export function indexTableName(tablePrefix: string, name: string): string {
  return `${tablePrefix}.x.${name}`
}

/** Notes the drop of a record table in all indexes, whether they run or not. */
export async function noteDrop(
  database: Database,
  tablePrefix: string,
  table: string,
): Promise<void> {
  for (const name of await database.admin.listTableNames()) {
    if (!name.startsWith(indexTableName(tablePrefix, ''))) continue
    await database.table(name).put({ row: rowOf(table), cells: { [column]: '' }, timestamp: 1 })
  }
}

/** The names that were noted in the table of an index. */
export async function notedDrops(rows: Table): Promise<string[]> {
  const found = await rows.scan({ prefix: kind }).all()
  return found.map(({ row }) => row!.toString('utf8', kind.length))
}

/** Removes the note of a drop whose documents are gone. */
export async function forgetDrop(rows: Table, table: string): Promise<void> {
  await rows.delete({ row: rowOf(table), families: [{ family, timestamp: 1 }] })
}

function rowOf(table: string): Buffer {
  return Buffer.concat([kind, Buffer.from(table)])
}
