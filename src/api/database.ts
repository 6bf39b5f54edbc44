/** A database of tables, and its administration: what every backend implements. */
import type { AtomicBatch, AtomicResult } from './atomic.js'
import type { Capabilities } from './capabilities.js'
import type { Change, ChangeOptions } from './changes.js'
import type { Snapshot } from './reads.js'
import type { TableAlteration, TableDescription, TableOptions } from './schema.js'
import type { Table } from './table.js'

/** A value that a local backend has at once and a remote one has to ask for. */
export type Awaitable<T> = T | Promise<T>

/** Schema of one database, under the names of HBase's `Admin`. */
export interface Admin {
  /** `ERR_TABLE_EXISTS`, `ERR_NAMESPACE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  createTable(name: string, options: TableOptions): Promise<Table>
  /**
   * The table of that name, created if it is absent. Families that an existing one lacks are added.
   * An option that is given and differs is `ERR_TABLE_EXISTS`; else errors of {@link createTable}.
   */
  ensureTable(name: string, options: TableOptions): Promise<Table>
  /** Removes a table with all its rows. `ERR_TABLE_NOT_FOUND`. */
  deleteTable(name: string): Promise<void>
  /** Removes all rows of a table at once. `ERR_TABLE_NOT_FOUND`. */
  truncateTable(name: string): Promise<void>
  tableExists(name: string): Awaitable<boolean>
  /** Names of the tables, sorted. */
  listTableNames(): Awaitable<string[]>
  /** Options of a table and its families. `ERR_TABLE_NOT_FOUND`. */
  getDescriptor(name: string): Awaitable<TableDescription>
  /** Changes options, adds and drops families. */
  modifyTable(name: string, alteration: TableAlteration): Promise<TableDescription>
  /**
   * Writes what is in memory of a table, of one family of it, or of all tables. Needs the
   * capability `upkeep`, as the two that follow.
   */
  flush(name?: string, family?: string): Promise<void>
  /** Flushes, then merges what is worth merging. */
  compact(name?: string, family?: string): Promise<void>
  /** Flushes, then merges everything and drops delete markers. */
  majorCompact(name?: string, family?: string): Promise<void>
}

/**
 * Tables, snapshots, changes and atomic batches of one database.
 *
 * What needs a capability that the backend lacks fails with `ERR_UNSUPPORTED`; see
 * {@link Capabilities}.
 */
export interface Database<T extends Table = Table> {
  readonly capabilities: Capabilities
  readonly admin: Admin
  /** Creates a table: `Admin.createTable`. Durable when it resolves. */
  createTable(name: string, options: TableOptions): Promise<T>
  /**
   * The table of that name. `ERR_TABLE_NOT_FOUND`, from a remote backend at the first operation.
   */
  table(name: string): T
  /**
   * A view of all tables at this moment, taken synchronously; reads take it as `snapshot`. Needs
   * the capability `snapshots`.
   */
  snapshot(): Snapshot
  /**
   * The mutations from a sequence on, whole and in order, then those to come. Needs the capability
   * `changes`.
   */
  changes(options?: ChangeOptions): AsyncGenerator<Change, void>
  /**
   * Applies puts and deletes of any rows and tables, all or none, if all checks hold. Needs the
   * capability `atomicAcrossTables`.
   *
   * Nothing is applied after an error: `ERR_INVALID_ARGUMENT` (no mutation, a table of another
   * database, an increment or append), `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_COLUMN_FAMILY`,
   * `ERR_READ_ONLY`, `ERR_TABLE_NOT_ENABLED`, `ERR_TOO_LARGE`, `ERR_POISONED`, `ERR_CLOSED`.
   */
  atomic(batch: AtomicBatch): Promise<AtomicResult>
  /** Ends all work and makes everything durable. */
  close(): Promise<void>
}
