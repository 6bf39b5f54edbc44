/**
 * Notifies the managers of one database of changed schema rows. A database is open in one process,
 * so all its managers are in this process.
 */
import type { Database } from '../../../api/index.js'

/** Called with the changed row of a type. */
export type SchemaListener = (row: Buffer) => void

const listeners = new WeakMap<Database, Map<string, Set<SchemaListener>>>()

/** Adds a listener for a schema table; the returned function removes it. */
export function listenToSchema(
  database: Database,
  table: string,
  listener: SchemaListener,
): () => void {
  const byTable = listeners.get(database) ?? new Map<string, Set<SchemaListener>>()
  listeners.set(database, byTable)
  const ofTable = byTable.get(table) ?? new Set<SchemaListener>()
  byTable.set(table, ofTable)
  ofTable.add(listener)
  return () => void ofTable.delete(listener)
}

/** Notifies all listeners except that of the manager that made the change. */
export function tellSchemaChange(
  database: Database,
  table: string,
  row: Buffer,
  own: SchemaListener | undefined,
): void {
  for (const listener of listeners.get(database)?.get(table) ?? []) {
    if (listener !== own) listener(row)
  }
}
