/** One repository: record tables by name, beside other repositories with the same schema. */
import { RepositoryError, RepositoryErrorCode } from './errors.js'
import type { RecordTable } from './records/record-table.js'
import { checkTableName, defaultTable } from './repository-rows.js'
import type { RepositoryManager } from './repository-manager.js'

/** A repository; made by `RepositoryManager.repository`. */
export class Repository {
  readonly name: string
  readonly #manager: RepositoryManager

  /** @internal */
  constructor(manager: RepositoryManager, name: string) {
    this.#manager = manager
    this.name = name
  }

  /** A record table; default 'record'. `ERR_RECORD_TABLE_NOT_FOUND`. */
  table(name: string = defaultTable): RecordTable {
    checkTableName(name)
    const table = this.#manager.findTable(this.name, name)
    if (table !== undefined) return table
    const message = `the repository ${this.name} has no table ${name}`
    throw new RepositoryError(RepositoryErrorCode.recordTableNotFound, message)
  }

  /** Names of the record tables, sorted. */
  listTables(): string[] {
    return this.#manager.tablesOf(this.name)
  }

  tableExists(name: string): boolean {
    checkTableName(name)
    return this.#manager.findTable(this.name, name) !== undefined
  }

  /** Creates a record table. `ERR_RECORD_TABLE_EXISTS`, `ERR_INVALID_ARGUMENT`. */
  createTable(name: string): Promise<RecordTable> {
    return this.#manager.createTable(this.name, name)
  }

  /**
   * Drops a record table with its records, their unique values and their blobs. The table `record`
   * stays. `ERR_RECORD_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  dropTable(name: string): Promise<void> {
    return this.#manager.dropTable(this.name, name)
  }
}
