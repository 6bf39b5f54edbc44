/** Random cells of all kinds, in a table of an embedded database, and tables as text. */
import type { Database } from '../../../src/entries/index.js'
import { loadCodecs } from '../../../src/storage/codec/codec.js'
import { exportedCells } from '../../../src/table/transfer/export-cells.js'
import type { Random } from '../../../src/base/random.js'

/** Families of the tables of {@link fillTable}. */
export const families = { f: { versions: 4 }, g: { versions: 1 } }

/** Puts, delete markers of all kinds, TTLs, and bytes that the forms of cells escape. */
export async function fillTable(database: Database, name: string, random: Random): Promise<void> {
  const table = await database.createTable(name, { families })
  const below = (count: number): number => Math.floor(random() * count)
  const bytes = (max: number): Buffer => {
    return Buffer.from(Array.from({ length: below(max + 1) }, () => [0, 1, 97, 255][below(4)]))
  }
  const row = (): Buffer => Buffer.concat([bytes(6), Buffer.from([below(256)])])
  for (let i = 0; i < 400; i++) {
    const family = below(3) > 0 ? 'f' : 'g'
    const column = { family, qualifier: bytes(3) }
    const timestamp = 1 + below(50)
    const kind = below(12)
    if (kind === 0) await table.delete({ row: row(), timestamp })
    else if (kind === 1) await table.delete({ row: row(), columns: [column], timestamp })
    else if (kind === 2) {
      await table.delete({ row: row(), columnVersions: [{ ...column, timestamp }] })
    } else if (kind === 3) {
      await table.delete({ row: row(), familyVersions: [{ family, timestamp }] })
    } else {
      const value = below(20) === 0 ? Buffer.alloc(3_000, i) : bytes(40)
      const put = { row: row(), cells: [{ column, value, timestamp }] }
      await table.put(below(4) > 0 ? put : { ...put, ttlMilliseconds: 2 ** 47 + i })
    }
  }
}

/** All stored cells of a table as lines, with delete markers and TTLs. */
export async function storedCells(database: Database, name: string): Promise<string[]> {
  const options = { raw: true, versions: 'all', compression: 'NONE' } as const
  const lines: string[] = []
  const source = database.admin.exportTable(name, options)
  for await (const part of exportedCells(source, loadCodecs())) {
    if ('table' in part) continue
    for (const { row, family, qualifier, timestamp, type, ttlMilliseconds, value } of part) {
      const column = `${family}:${qualifier.toString('hex')}`
      const time = `${timestamp} ${type} ${ttlMilliseconds ?? '-'}`
      lines.push(`${row.toString('hex')} ${column} ${time} ${value.toString('hex')}`)
    }
  }
  return lines
}
