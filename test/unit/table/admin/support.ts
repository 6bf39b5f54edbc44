/** What the tests of schema, snapshots and bulk data share. */
import type { Database, EmbeddedTable, FileSystem } from '../../../../src/entries/index.js'

/** All cells of a table as text, every version and marker of it if `raw`. */
export function contentOf(table: EmbeddedTable, raw = false): string[] {
  const found: string[] = []
  for (const result of table.scanSync(raw ? { raw, versions: 'all' } : {})) {
    for (const cell of result.cells()) {
      const name = `${cell.row.toString()}/${cell.family}:${cell.qualifier.toString()}`
      const type = cell.type === 'Put' ? '' : ` ${cell.type}`
      found.push(`${name}@${cell.timestamp}${type}=${cell.value.toString()}`)
    }
  }
  return found
}

/** Writes `count` rows over two families, `mark` into every value. */
export async function fill(table: EmbeddedTable, count: number, mark: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    const row = `r${String(i).padStart(4, '0')}`
    await table.put({ row, cells: { 'a:x': `${mark}${i}`, 'b:y': mark }, durability: 'FSYNC_WAL' })
  }
}

/** Makes the table that {@link fill} fills. */
export function makeTable(database: Database, name = 't'): Promise<EmbeddedTable> {
  return database.createTable(name, { families: { a: { versions: 3 }, b: {} } })
}

/** Names of the SSTables in the database directory. */
export function tableFiles(fileSystem: FileSystem, directory = '/database'): string[] {
  return fileSystem
    .listSync(directory)
    .filter((name) => name.endsWith('.sst'))
    .sort()
}
