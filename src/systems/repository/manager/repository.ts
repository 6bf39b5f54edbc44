/** One repository: its record tables by name. All repositories share one schema. */
import { checkArray, checkObject, readArguments } from '../../../api/index.js'
import { populate, type LinkPath, type PopulatedRecord } from '../links/populate.js'
import { writeBatch, type BatchResult, type BatchWrite } from '../records/writes/batch.js'
import type { RecordTable } from '../tables/record-table.js'
import type { StoredRecord } from '../records/record.js'
import { checkTableName, defaultTable } from './repository-rows.js'
import type { RepositoryCatalog } from './repository-catalog.js'

/** One write of a batch over several tables. */
export type RepositoryWrite = BatchWrite & {
  /** Name of the record table. Default 'record'. */
  readonly table?: string | undefined
}

/** A repository; made by `RepositoryManager.repository`. */
export class Repository {
  /** Unique in the repository manager. */
  readonly name: string
  readonly #catalog: RepositoryCatalog

  /** @internal */
  constructor(catalog: RepositoryCatalog, name: string) {
    this.#catalog = catalog
    this.name = name
  }

  /** A record table; default 'record'. `ERR_RECORD_TABLE_NOT_FOUND`. */
  table(name: string = defaultTable): RecordTable {
    return this.#catalog.getTable(this.name, name)
  }

  /**
   * Records with the targets of their links. The first field of a path belongs to the given
   * records, each next field to the records before. Each step reads each table once.
   * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT` for paths that are too long or lead to more
   * than 100,000 records.
   */
  populate(
    records: readonly StoredRecord[],
    paths: readonly LinkPath[],
  ): Promise<PopulatedRecord[]> {
    const { schema } = this.#catalog.types
    return populate(records, paths, schema, (name) => this.#catalog.findTable(this.name, name))
  }

  /**
   * Writes several different records of one or more tables, all or none. Results are by position.
   * If one write is a `CONFLICT`, nothing is written, and the other changes are `NOT_WRITTEN`.
   * Errors of the single writes, `ERR_RECORD_TABLE_NOT_FOUND`.
   */
  async batch(writes: readonly RepositoryWrite[]): Promise<BatchResult[]> {
    const parts = readArguments(() => {
      return checkArray(writes, 'the writes of a batch').map((each) => {
        const { table, ...write } = checkObject(each, 'a write of a batch')
        return { context: this.table(table).context, write }
      })
    })
    return writeBatch(parts)
  }

  /** Names of the record tables, sorted. */
  listTables(): string[] {
    return this.#catalog.tablesOf(this.name)
  }

  /**
   * Whether a record table of this name exists. `ERR_INVALID_ARGUMENT` for a name that no table can
   * have.
   */
  tableExists(name: string): boolean {
    checkTableName(name)
    return this.#catalog.findTable(this.name, name) !== undefined
  }

  /** Creates a record table. `ERR_RECORD_TABLE_EXISTS`, `ERR_INVALID_ARGUMENT`. */
  createTable(name: string): Promise<RecordTable> {
    return this.#catalog.createTable(this.name, name)
  }

  /**
   * Drops a record table with its records, their unique values and their blobs. The table `record`
   * stays. `ERR_RECORD_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  dropTable(name: string): Promise<void> {
    return this.#catalog.dropTable(this.name, name)
  }
}
