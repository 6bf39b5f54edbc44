/**
 * The tables of a database and their column families.
 *
 * One family of one table is one *store*: the unit that has its own memtables and files. Table and
 * store identifiers come from one counter and are never used again, so that a log record or a file
 * of a dropped table can never be taken for one of a newer table with the same name.
 */

import { InvariantError } from '../base/assert.js'
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
  /** A JSON object that means nothing at this layer. */
  readonly options: JsonObject
}

/** One table. Immutable. */
export interface TableDefinition {
  /** Identifier, from 1; shares its numbers with the stores. */
  readonly tableId: number
  /** Unique in the database. */
  readonly name: string
  /** In the order in which they were defined. */
  readonly families: readonly FamilyDefinition[]
  /** A JSON object that means nothing at this layer. */
  readonly options: JsonObject
}

const tableFields: ReadonlySet<string> = new Set(['tableId', 'name', 'families', 'options'])
const familyFields: ReadonlySet<string> = new Set(['storeId', 'name', 'options'])

/** The table as a JSON object. */
export function encodeTable(table: TableDefinition): JsonObject {
  return {
    tableId: table.tableId,
    name: table.name,
    families: table.families.map(({ storeId, name, options }) => ({ storeId, name, options })),
    options: table.options,
  }
}

/** The opposite of {@link encodeTable}. Throws an `InvariantError` on anything malformed. */
export function decodeTable(value: unknown): TableDefinition {
  const object = readObject(value, 'a table')
  refuseUnknownFields(object, tableFields, 'a table')
  return {
    tableId: readCount(object, 'tableId', 1),
    name: readName(object, 'name'),
    families: readArray(object.families, 'families').map(decodeFamily),
    options: readOptions(object, 'options'),
  }
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
 * Throws an `InvariantError` unless names are unique, identifiers are unique among tables and
 * stores together, and every identifier is below `nextId`.
 */
export function checkCatalog(tables: Iterable<TableDefinition>, nextId: number): void {
  const identifiers = new Set<number>()
  const claim = (id: number): void => {
    if (identifiers.has(id)) throw new InvariantError(`identifier ${id} is used twice`)
    if (id >= nextId) throw new InvariantError(`identifier ${id} was never allocated`)
    identifiers.add(id)
  }
  const tableNames = new Set<string>()
  for (const table of tables) {
    if (tableNames.has(table.name)) throw new InvariantError(`table ${table.name} exists twice`)
    tableNames.add(table.name)
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
