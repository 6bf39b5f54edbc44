/** A database of tables and its administration, as every backend implements them. */
import type { AtomicBatchOption, AtomicResult } from './atomic.js'
import type { Capabilities } from './capabilities.js'
import type { Change, ChangeOptions } from './changes.js'
import type { Snapshot } from './reads.js'
import type { TableAlteration, TableDescription, TableOptions } from './schema.js'
import type { Table } from './table.js'

/** A value that a local backend returns at once and a remote backend as a promise. */
export type Awaitable<T> = T | Promise<T>

/** Administration of one database, under the names of HBase's `Admin`. */
export interface Admin {
  /**
   * Creates a table. Throws `ERR_TABLE_EXISTS`, `ERR_NAMESPACE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  createTable(name: string, options: TableOptions): Promise<Table>
  /**
   * Returns the table with that name, and creates it if it does not exist. Families that an
   * existing table lacks are added. If a given option differs from the existing one, throws
   * `ERR_TABLE_EXISTS`. Other errors as {@link createTable}.
   */
  ensureTable(name: string, options: TableOptions): Promise<Table>
  /** Removes a table with all its rows. Throws `ERR_TABLE_NOT_FOUND`. */
  deleteTable(name: string): Promise<void>
  /** Removes all rows of a table in one step. Throws `ERR_TABLE_NOT_FOUND`. */
  truncateTable(name: string): Promise<void>
  /** Whether the table exists. */
  tableExists(name: string): Awaitable<boolean>
  /** Names of the tables, sorted. */
  listTableNames(): Awaitable<string[]>
  /** The options of a table and its families. Throws `ERR_TABLE_NOT_FOUND`. */
  getDescriptor(name: string): Awaitable<TableDescription>
  /**
   * Changes options, adds families and drops families. Throws `ERR_TABLE_NOT_FOUND`,
   * `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_INVALID_ARGUMENT`.
   */
  modifyTable(name: string, alteration: TableAlteration): Promise<TableDescription>
  /**
   * Writes the memtables of a table, of one of its families, or of all tables to disk. This and the
   * next two methods need the capability `upkeep`.
   */
  flush(name?: string, family?: string): Promise<void>
  /** Flushes, then merges the files that the policy of each family chooses. */
  compact(name?: string, family?: string): Promise<void>
  /** Flushes, then merges all files and drops delete markers. */
  majorCompact(name?: string, family?: string): Promise<void>
}

/**
 * The tables, snapshots, changes and atomic batches of one database.
 *
 * A method that needs a missing capability throws `ERR_UNSUPPORTED`; see {@link Capabilities}.
 */
export interface Database<T extends Table = Table> {
  /** What this backend can do. */
  readonly capabilities: Capabilities
  /**
   * Largest cell in bytes: row, family, qualifier and value, and 20. A larger one is refused with
   * `ERR_TOO_LARGE`. Infinity if there is no limit.
   */
  readonly cellBytesMax: number
  /** Schema and upkeep. */
  readonly admin: Admin
  /** Creates a table, as `Admin.createTable`. The table is durable when the promise resolves. */
  createTable(name: string, options: TableOptions): Promise<T>
  /**
   * The table with that name. Throws `ERR_TABLE_NOT_FOUND`; a remote backend throws it at the first
   * operation.
   */
  table(name: string): T
  /**
   * A view of all tables at this moment, taken synchronously. Reads take it as the option
   * `snapshot`. Needs the capability `snapshots`.
   */
  snapshot(): Snapshot
  /**
   * Yields whole mutations from a sequence on, in order, and waits for later ones. Needs the
   * capability `changes`.
   */
  changes(options?: ChangeOptions): AsyncGenerator<Change, void>
  /**
   * Applies puts and deletes of any rows and tables, all or none, if all checks hold. Without
   * checks the list of mutations suffices. Needs the capability `atomicAcrossTables`.
   *
   * After an error nothing was applied: `ERR_INVALID_ARGUMENT` (no mutation, a table of another
   * database, an increment or append), `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_COLUMN_FAMILY`,
   * `ERR_READ_ONLY`, `ERR_TABLE_NOT_ENABLED`, `ERR_TOO_LARGE`, `ERR_POISONED`, `ERR_CLOSED`.
   */
  atomic(batch: AtomicBatchOption): Promise<AtomicResult>
  /** Ends all work and makes everything durable. */
  close(): Promise<void>
}
