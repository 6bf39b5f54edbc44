/**
 * Managers of one database tell each other which rows of the schema have changed. A database is
 * open in one process, so no manager is elsewhere.
 */
import type { Database } from '../../../api/index.js'

/** Told of the row of a type that has changed. */
export type SchemaListener = (row: Buffer) => void

const listeners = new WeakMap<Database, Map<string, Set<SchemaListener>>>()

/** Adds a listener for a schema table; the function that is returned removes it. */
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

/** Tells all listeners but the one that has made the change. */
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
