/**
 * The interfaces of the BookKeeper MetaStore, with promises: a store, its tables, their cursors.
 *
 * Promises reject with codes of `MetastoreErrorCode`, those of {@link MetaStore} with
 * `ERR_METASTORE_SETUP`. The version belongs to the whole row. Promises of one table
 * settle in the order of the calls, across all handles of the table in the process. A read sees
 * every write that was called before it, awaited or not. `callback-table.ts` has the callback form.
 * Source: BookKeeper 4.3.2, `org.apache.bookkeeper.metastore`.
 */
import type { FieldSelection, Value } from './value.js'
import type { Version, Versioned } from './tables/version.js'

/** Settings of a store by name; each store documents its own. */
export type MetastoreConfiguration = Readonly<Record<string, unknown>>

/** A store of tables, provided by a plugin. */
export interface MetaStore {
  /** Name of the plugin. */
  getName(): string
  /** Version of the plugin. */
  getVersion(): number
  /**
   * Prepares the store; must be called first. `version` is the result of {@link getVersion} at the
   * time when the data was written.
   */
  init(configuration: MetastoreConfiguration, version: number): Promise<void>
  /** Closes this store object and its tables. The data and other store objects are not affected. */
  close(): Promise<void>
  /** Opens a table, creating it if it does not exist. */
  createTable(name: string): Promise<MetastoreTable>
  /**
   * As `createTable`, for a table with ordered keys. Fails if the table is declared to be
   * unordered.
   */
  createScannableTable(name: string): Promise<MetastoreScannableTable>
}

/** The kind of a change of a watched row: a put (including a creation) or a remove. */
export type WatchedEventType = 'CHANGED' | 'REMOVED'

/** The event that a watcher receives. */
export interface WatchedEvent {
  /** The kind of the change. */
  readonly type: WatchedEventType
  /** Key of the watched row. */
  readonly key: string
}

/**
 * Called once, after the promise of the changing operation has settled. If that write failed, but
 * was applied, the call comes as soon as the store can write durably again.
 */
export type MetastoreWatcher = (event: WatchedEvent) => void

/** Options of a read. */
export interface GetOptions {
  /** The fields to read. Default: {@link ALL_FIELDS}. Missing fields are absent from the value. */
  readonly fields?: FieldSelection | undefined
  /**
   * Armed for one event, whether the row exists or not. A key may have any number of watchers. A
   * watcher that is armed twice before its event is notified once.
   */
  readonly watcher?: MetastoreWatcher | undefined
}

/** A table of rows: string keys, values with named fields, one version per row. */
export interface MetastoreTable {
  /** The name that `createTable` was called with. */
  getName(): string
  /** Reads a row. `NoKey` if it does not exist. A row without fields exists. */
  get(key: string, options?: GetOptions): Promise<Versioned<Value>>
  /**
   * Merges fields into a row: named fields are overwritten, null deletes a field, other fields are
   * kept. With `NEW` the row must be absent (`KeyExists`). Otherwise the row must exist (`NoKey`)
   * and its version must match (`BadVersion`).
   *
   * @returns the new version, which is after all earlier versions of the row.
   */
  put(key: string, value: Value, version: Version): Promise<Version>
  /** Removes a row. `NoKey` if it does not exist, `BadVersion` if the version does not match. */
  remove(key: string, version: Version): Promise<void>
  /** Disarms a watcher; false if it was not armed. */
  unwatch(key: string, watcher: MetastoreWatcher): boolean
  /** A cursor over all rows, in unspecified order. Default: {@link ALL_FIELDS}. */
  openCursor(fields?: FieldSelection): Promise<MetastoreCursor>
  /** Closes this handle: its watchers and cursors end, calls in progress complete. */
  close(): void
}

/** A condition on another row of the table: the row exists and has exactly this version. */
export interface RowGuard {
  /** Key of the row that the write depends on, in the same table. */
  readonly key: string
  /** A version returned by the store; `NEW` and `ANY` are refused. */
  readonly version: Version
}

/**
 * A table whose writes may depend on a second row. An extension of BookKeeper's interface; other
 * stores may not have it.
 *
 * The condition on the written row, the guard and the write are one atomic step. `GuardFailed` if
 * the guard does not hold. An earlier, unawaited write to the guarding row may take effect before
 * or after that step.
 */
export interface MetastoreGuardedTable extends MetastoreTable {
  /** As {@link MetastoreTable.put}, if the guard holds. */
  putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version>
  /** As {@link MetastoreTable.remove}, if the guard holds. */
  removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void>
}

/** Direction of a range over keys. */
export type Order = 'ASC' | 'DESC'

/** A range without a first key. */
export const EMPTY_START_KEY = null
/** A range without a last key. */
export const EMPTY_END_KEY = null

/** A range of keys in the direction of `order`: with `DESC` the first key is the highest. */
export interface KeyRange {
  /** First key; null = no bound, in which case `firstInclusive` is ignored. */
  readonly firstKey: string | null
  /** Whether the range includes `firstKey`. */
  readonly firstInclusive: boolean
  /** Last key; null = no bound. */
  readonly lastKey: string | null
  /** Whether the range includes `lastKey`. */
  readonly lastInclusive: boolean
  /** Direction: `ASC` from the lowest key, `DESC` from the highest. */
  readonly order: Order
}

/** A table with keys ordered by their UTF-8 bytes, that is, by code points. */
export interface MetastoreScannableTable extends MetastoreTable {
  /** The rows of a range, in order. `IllegalOp` if its bounds contradict the order. */
  openRange(range: KeyRange, fields?: FieldSelection): Promise<MetastoreCursor>
}

/** A row as cursors return it. */
export interface MetastoreItem {
  /** Key of the row. */
  readonly key: string
  /** The selected fields, with the version of the row. */
  readonly value: Versioned<Value>
}

/**
 * A cursor over a snapshot of the rows: keys, values and versions at the time of opening. The
 * snapshot is released at the end, at {@link close}, when the cursor is garbage collected, and
 * after a time without use; a later read then fails with `OperationFailure`. An iteration fails
 * with `IllegalOp` if the handle of the table is closed before the end.
 */
export interface MetastoreCursor extends AsyncIterable<MetastoreItem> {
  /** Whether there are more entries. Exact, not an estimate. False after close. */
  hasMoreEntries(): boolean
  /**
   * Reads up to `count` entries. The result is empty only at the end or for a count of 0.
   * `IllegalOp` for a count that is negative or not an integer, and after close.
   */
  asyncReadEntries(count: number): Promise<MetastoreItem[]>
  /** The synchronous form; may block on disk reads and may return fewer entries. */
  readEntries(count: number): MetastoreItem[]
  /** Closes the cursor and releases its snapshot. A second call does nothing. */
  close(): void
}
