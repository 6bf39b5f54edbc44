/** The record tables of a manager: opens them, finds them, and removes their data. */
import type { Database, SyncTable, Table } from '../../../api/index.js'
import type { Blobs } from '../blobs/blobs.js'
import { repositoryError } from '../errors.js'
import type { FieldIndexes } from '../fields/field-indexes.js'
import type { LinkIndex } from '../links/link-index.js'
import { rowKinds, terminated } from '../records/ordered-row.js'
import { recordFamily } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import { RecordTable } from '../tables/record-table.js'
import { checkTableName } from './repository-rows.js'

/** The members of a {@link TableContext} that all tables of a manager share. */
export type SharedContext = Omit<
  TableContext,
  'table' | 'syncTable' | 'repository' | 'name' | 'key' | 'keyText' | 'tableOf'
>

/** Dependencies of {@link RecordTables}. */
export interface RecordTablesParts {
  readonly database: Database
  readonly tablePrefix: string
  readonly context: SharedContext
  readonly fieldIndexes: FieldIndexes
  readonly blobs: Blobs
  readonly links: LinkIndex
}

/** Record tables by repository and name. */
export type TablesByName = Map<string, Map<string, RecordTable>>

/** All record tables. */
export function allTables(byName: TablesByName): RecordTable[] {
  return [...byName.values()].flatMap((tables) => [...tables.values()])
}

/** Opens and removes record tables. */
export class RecordTables {
  /** The open tables. */
  readonly byName: TablesByName
  readonly #parts: RecordTablesParts

  constructor(byName: TablesByName, parts: RecordTablesParts) {
    this.byName = byName
    this.#parts = parts
  }

  /** The table of that name; undefined if there is none. */
  find(repository: string, name: string): RecordTable | undefined {
    return this.byName.get(repository)?.get(name)
  }

  /** The table of that name. `ERR_RECORD_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  get(repository: string, name: string): RecordTable {
    checkTableName(name)
    const table = this.find(repository, name)
    if (table !== undefined) return table
    throw repositoryError('recordTableNotFound', `${repository} has no table ${name}`)
  }

  /** Opens a table, and creates it in the database if it is missing. */
  async open(repository: string, name: string): Promise<void> {
    const { database, context: shared, fieldIndexes, blobs } = this.#parts
    const physical = this.#physicalName(repository, name)
    await database.admin.ensureTable(physical, { families: { [recordFamily]: {} } })
    const table = database.table(physical)
    const keyText = `${repository}/${name}`
    const context: TableContext = {
      ...shared,
      table,
      syncTable: database.capabilities.sync ? (table as Table & SyncTable) : undefined,
      repository,
      name,
      key: Buffer.from(keyText),
      keyText,
      tableOf: (other) => this.get(repository, other).context.table,
    }
    const opened = new RecordTable(context, fieldIndexes.of(keyText), blobs)
    await opened.indexes.load()
    const tables = this.byName.get(repository) ?? new Map<string, RecordTable>()
    if (!tables.has(name)) tables.set(name, opened)
    this.byName.set(repository, tables)
  }

  /** Removes all data of a record table. */
  async remove(repository: string, name: string): Promise<void> {
    const { database, fieldIndexes, blobs, links } = this.#parts
    const keyText = `${repository}/${name}`
    fieldIndexes.forget(keyText)
    await this.#removeIndexRows(keyText)
    await blobs.removeOf(keyText)
    await links.removeTable(keyText)
    const physical = this.#physicalName(repository, name)
    if (await database.admin.tableExists(physical)) await database.admin.deleteTable(physical)
  }

  async #removeIndexRows(keyText: string): Promise<void> {
    const { database, context } = this.#parts
    const index = database.table(context.indexTable)
    for (const kind of Object.values(rowKinds)) {
      const prefix = Buffer.concat([Buffer.of(kind), terminated(Buffer.from(keyText))])
      for await (const { row } of index.scan({ prefix })) {
        await index.delete({ row: row!, families: [{ family: 'i', timestamp: 1 }] })
      }
    }
  }

  #physicalName(repository: string, name: string): string {
    // Names of tables have no dots, so no two pairs share a name.
    return `${this.#parts.tablePrefix}.r.${repository}..${name}`
  }
}
