/**
 * The tables of a database and their column families.
 *
 * One family of one table is one *store*, with memtables and files of its own. Tables and stores
 * take their identifiers from one counter, and no identifier is used twice. So a log record or a
 * file of a dropped table can never be taken for one of a newer table with the same name.
 */

import { InvariantError } from '../../base/assert.js'
import { count, freeObject, listOf, name, optional, record, type RecordOf } from './json-fields.js'

/** One column family. Immutable. */
const familyFields = {
  /** Identifier of the store, from 1. */
  storeId: count(1),
  /** Unique in its table. */
  name,
  /** Options of the family, as a JSON object that this layer does not read. */
  options: freeObject,
}

const originFields = {
  /** Name of the table of which the snapshot was taken. */
  table: name,
  /** The snapshot holds the table's mutations up to and including this sequence. */
  sequence: count(),
  /** Time of the snapshot, in milliseconds since the Unix epoch. */
  createdMilliseconds: count(),
}

/** The origin of a table that is a snapshot. Immutable. */
export interface SnapshotOrigin extends RecordOf<typeof originFields> {}

const tableFields = {
  /** Identifier, from 1. Tables and stores share one counter. */
  tableId: count(1),
  /** Unique among the tables of the database; for a snapshot, among its snapshots. */
  name,
  /** If present, the definition and its stores are a snapshot, which is never written to. */
  snapshot: optional(record('a snapshot', originFields)),
  /** In the order of their creation. */
  families: listOf(record('a family', familyFields)),
  /** Options of the table, as a JSON object that this layer does not read. */
  options: freeObject,
}

/** One table, or a snapshot of one. Immutable. */
export interface TableDefinition extends RecordOf<typeof tableFields> {}

/** A table in the manifest. */
export const tableRecord = record('a table', tableFields)

const namespaceFields = {
  name,
  /** Properties of the namespace, as a JSON object that this layer does not read. */
  properties: freeObject,
}

/** A namespace of tables. Immutable. */
export interface NamespaceDefinition extends RecordOf<typeof namespaceFields> {}

/** A namespace in the manifest. */
export const namespaceRecord = record('a namespace', namespaceFields)

/**
 * Throws an `InvariantError` unless table names are unique, snapshot names are unique, identifiers
 * are unique among tables and stores together, and every identifier is below `nextId`. REQUIRES
 * that the tables that are not `changed` obey these rules, and `stores` with the identifiers of all
 * stores. Takes time for each table, but memory only for the changed ones.
 */
export function checkCatalog(
  tables: ReadonlyMap<number, TableDefinition>,
  stores: ReadonlyMap<number, unknown>,
  changed: readonly TableDefinition[],
  nextId: number,
): void {
  const identifiers = new Set<number>()
  const claim = (id: number, isTaken: boolean): void => {
    if (isTaken || identifiers.has(id)) throw new InvariantError(`identifier ${id} is used twice`)
    if (id >= nextId) throw new InvariantError(`identifier ${id} was never allocated`)
    identifiers.add(id)
  }
  const tableNames = new Map<string, number>()
  const snapshotNames = new Map<string, number>()
  for (const table of changed) {
    const names = table.snapshot === undefined ? tableNames : snapshotNames
    if (names.has(table.name)) throw existsTwice(table)
    names.set(table.name, table.tableId)
    claim(table.tableId, stores.has(table.tableId))
    const familyNames = new Set<string>()
    for (const family of table.families) {
      if (familyNames.has(family.name)) {
        throw new InvariantError(`family ${family.name} exists twice in table ${table.name}`)
      }
      familyNames.add(family.name)
      claim(family.storeId, tables.has(family.storeId))
    }
  }
  for (const table of tables.values()) {
    const names = table.snapshot === undefined ? tableNames : snapshotNames
    if ((names.get(table.name) ?? table.tableId) !== table.tableId) throw existsTwice(table)
  }
}

function existsTwice({ name, snapshot }: TableDefinition): InvariantError {
  const kind = snapshot === undefined ? 'table' : 'snapshot'
  return new InvariantError(`${kind} ${name} exists twice`)
}
