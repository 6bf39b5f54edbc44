/**
 * The tables of a database and their column families.
 *
 * One family of one table is one *store*, with memtables and files of its own. Tables and stores
 * take their identifiers from one counter, and no identifier is used twice. So a log record or a
 * file of a dropped table can never be taken for one of a newer table with the same name.
 */

import { InvariantError } from '../../base/assert.js'
import {
  readArray,
  readCount,
  readName,
  readObject,
  readOptions,
  refuseUnknownFields,
  type JsonObject,
} from './json-fields.js'

/** One column family. Immutable. */
export interface FamilyDefinition {
  /** Identifier of the store, from 1. */
  readonly storeId: number
  /** Unique in its table. */
  readonly name: string
  /** Options of the family, as a JSON object that this layer does not read. */
  readonly options: JsonObject
}

/** The origin of a table that is a snapshot. Immutable. */
export interface SnapshotOrigin {
  /** Name of the table of which the snapshot was taken. */
  readonly table: string
  /** The snapshot holds the table's mutations up to and including this sequence. */
  readonly sequence: number
  /** Time of the snapshot, in milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
}

/** One table, or a snapshot of one. Immutable. */
export interface TableDefinition {
  /** Identifier, from 1. Tables and stores share one counter. */
  readonly tableId: number
  /** Unique among the tables of the database; for a snapshot, among its snapshots. */
  readonly name: string
  /** If present, the definition and its stores are a snapshot, which is never written to. */
  readonly snapshot?: SnapshotOrigin
  /** In the order of their creation. */
  readonly families: readonly FamilyDefinition[]
  /** Options of the table, as a JSON object that this layer does not read. */
  readonly options: JsonObject
}

/** A namespace of tables. Immutable. */
export interface NamespaceDefinition {
  readonly name: string
  /** Properties of the namespace, as a JSON object that this layer does not read. */
  readonly properties: JsonObject
}

const tableFields: ReadonlySet<string> = new Set([
  'tableId',
  'name',
  'snapshot',
  'families',
  'options',
])
const snapshotFields: ReadonlySet<string> = new Set(['table', 'sequence', 'createdMilliseconds'])
const namespaceFields: ReadonlySet<string> = new Set(['name', 'properties'])
const familyFields: ReadonlySet<string> = new Set(['storeId', 'name', 'options'])

/** Encodes a table as a JSON object. */
export function encodeTable(table: TableDefinition): JsonObject {
  return {
    tableId: table.tableId,
    name: table.name,
    ...(table.snapshot !== undefined && { snapshot: { ...table.snapshot } }),
    families: table.families.map(({ storeId, name, options }) => ({ storeId, name, options })),
    options: table.options,
  }
}

/** Decodes the result of {@link encodeTable}. Throws an `InvariantError` if it is malformed. */
export function decodeTable(value: unknown): TableDefinition {
  const object = readObject(value, 'a table')
  refuseUnknownFields(object, tableFields, 'a table')
  return {
    tableId: readCount(object, 'tableId', 1),
    name: readName(object, 'name'),
    ...(object.snapshot !== undefined && { snapshot: decodeOrigin(object.snapshot) }),
    families: readArray(object.families, 'families').map(decodeFamily),
    options: readOptions(object, 'options'),
  }
}

function decodeOrigin(value: unknown): SnapshotOrigin {
  const object = readObject(value, 'a snapshot')
  refuseUnknownFields(object, snapshotFields, 'a snapshot')
  return {
    table: readName(object, 'table'),
    sequence: readCount(object, 'sequence'),
    createdMilliseconds: readCount(object, 'createdMilliseconds'),
  }
}

/** Decodes a namespace. Throws an `InvariantError` if it is malformed. */
export function decodeNamespace(value: unknown): NamespaceDefinition {
  const object = readObject(value, 'a namespace')
  refuseUnknownFields(object, namespaceFields, 'a namespace')
  return { name: readName(object, 'name'), properties: readOptions(object, 'properties') }
}

function decodeFamily(value: unknown): FamilyDefinition {
  const object = readObject(value, 'a family')
  refuseUnknownFields(object, familyFields, 'a family')
  return {
    storeId: readCount(object, 'storeId', 1),
    name: readName(object, 'name'),
    options: readOptions(object, 'options'),
  }
}

/**
 * Throws an `InvariantError` unless table names are unique, snapshot names are unique, identifiers
 * are unique among tables and stores together, and every identifier is below `nextId`.
 */
export function checkCatalog(tables: Iterable<TableDefinition>, nextId: number): void {
  const identifiers = new Set<number>()
  const claim = (id: number): void => {
    if (identifiers.has(id)) throw new InvariantError(`identifier ${id} is used twice`)
    if (id >= nextId) throw new InvariantError(`identifier ${id} was never allocated`)
    identifiers.add(id)
  }
  const tableNames = new Set<string>()
  const snapshotNames = new Set<string>()
  for (const table of tables) {
    const names = table.snapshot === undefined ? tableNames : snapshotNames
    if (names.has(table.name)) {
      const kind = table.snapshot === undefined ? 'table' : 'snapshot'
      throw new InvariantError(`${kind} ${table.name} exists twice`)
    }
    names.add(table.name)
    claim(table.tableId)
    const familyNames = new Set<string>()
    for (const family of table.families) {
      if (familyNames.has(family.name)) {
        throw new InvariantError(`family ${family.name} exists twice in table ${table.name}`)
      }
      familyNames.add(family.name)
      claim(family.storeId)
    }
  }
}
