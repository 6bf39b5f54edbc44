/** The locks that stores of a database hold: their ephemeral records. */
import type { Database } from '../../../../api/index.js'
import { readUint64 } from '../../kernel/numbers.js'
import { ownedPath } from './rows.js'

/** A lock or another ephemeral record, which goes with its session. */
export interface ShownLock {
  /** Name of the store's table. */
  readonly table: string
  /** Path of the record. */
  readonly path: string
  /** The session that owns it. */
  readonly session: number
}

const suffix = 'owned'

/** The first `limit` locks of the stores among these tables; nothing is opened or changed. */
export async function locksOf(
  database: Pick<Database, 'table'>,
  tables: readonly string[],
  limit: number,
): Promise<ShownLock[]> {
  const locks: ShownLock[] = []
  for (const table of tables) {
    const prefix = table.slice(0, -suffix.length)
    if (!table.endsWith(suffix) || !tables.includes(`${prefix}control`)) continue
    for await (const { row } of database.table(table).scan({ limit: limit - locks.length })) {
      locks.push({ table, path: ownedPath(row!), session: readUint64(row!, 0, row) })
    }
    if (locks.length >= limit) break
  }
  return locks
}
