/**
 * The interfaces of the BookKeeper MetaStore with promises: a store, its tables, their cursors.
 *
 * Every promise rejects with a `MetastoreError` (see errors.ts), except those of {@link MetaStore},
 * which reject with a `MetastoreException`. The version belongs to the whole row. Promises of one
 * table settle in the order of the calls, over all handles of that table in the process, and a read
 * sees every write that was called before it, awaited or not. `callback-table.ts` has the form with
 * callbacks. Source: BookKeeper 4.3.2, `org.apache.bookkeeper.metastore`.
 */
import type { FieldSelection, Value } from './value.js'
import type { Version, Versioned } from './tables/version.js'

/** Settings of a store by name; every store documents its own. */
export type MetastoreConfiguration = Readonly<Record<string, unknown>>

/** A store of tables: what a plugin provides. */
export interface MetaStore {
  /** Name of the plugin. */
  getName(): string
  /** Version of the plugin. */
  getVersion(): number
  /**
   * Prepares the store; nothing else may be called before. `version` is what {@link getVersion}
   * returned when the data was written.
   */
  init(configuration: MetastoreConfiguration, version: number): Promise<void>
  /** Ends this store object and its tables; the data stays, also for other store objects. */
  close(): Promise<void>
  /** Opens a table, creating it if it does not exist. */
  createTable(name: string): Promise<MetastoreTable>
  /** The same for a table whose keys are in order; fails if it was declared to be unordered. */
  createScannableTable(name: string): Promise<MetastoreScannableTable>
}

/** What happened to a watched row: a put (a creating one included) or a remove. */
export type WatchedEventType = 'CHANGED' | 'REMOVED'

/** What a watcher is told. */
export interface WatchedEvent {
  /** What happened to the row. */
  readonly type: WatchedEventType
  /** Key of the row that was watched. */
  readonly key: string
}

/** Called once, after the promise of the operation that changed the row has settled. */
export type MetastoreWatcher = (event: WatchedEvent) => void

/** What to read of a row. */
export interface GetOptions {
  /** Default: {@link ALL_FIELDS}. A field that the row lacks is absent from the value. */
  readonly fields?: FieldSelection | undefined
  /**
   * Armed whether the row exists or not, for one event. Any number may wait for one key; one that
   * is armed again before its event is told once.
   */
  readonly watcher?: MetastoreWatcher | undefined
}

/** A table of rows: string keys, values of named fields, one version per row. */
export interface MetastoreTable {
  /** The name that `createTable` was called with. */
  getName(): string
  /** Reads a row. `NoKey` if it does not exist; a row without fields does. */
  get(key: string, options?: GetOptions): Promise<Versioned<Value>>
  /**
   * Merges fields into a row: named ones are overwritten, null deletes one, others stay. With `NEW`
   * the row must be absent (`KeyExists`); else it must exist (`NoKey`) and its version match
   * (`BadVersion`).
   *
   * @returns the new version, which lies after all earlier ones of the row.
   */
  put(key: string, value: Value, version: Version): Promise<Version>
  /** Removes a row. `NoKey` if it does not exist, `BadVersion` if the version does not match. */
  remove(key: string, version: Version): Promise<void>
  /** Takes back a watcher; false if it was not armed. */
  unwatch(key: string, watcher: MetastoreWatcher): boolean
  /** All rows, in no promised order. Default: {@link ALL_FIELDS}. */
  openCursor(fields?: FieldSelection): Promise<MetastoreCursor>
  /** Ends this handle: calls that began go on, its watchers and cursors end. */
  close(): void
}

/** A condition on another row of the table: the row exists and has exactly this version. */
export interface RowGuard {
  /** Key of the row that the write depends on, in the same table. */
  readonly key: string
  /** A version that the store gave out; `NEW` and `ANY` are refused. */
  readonly version: Version
}

/**
 * A table whose writes may depend on a second row. An extension: BookKeeper's interface does not
 * have it, and other stores need not.
 *
 * The condition on the written row, the guard and the write are one atomic step. `GuardFailed` if
 * the guard does not hold. A write to the guarding row that was called before and not awaited may
 * take effect before or after that step.
 */
export interface MetastoreGuardedTable extends MetastoreTable {
  /** As {@link MetastoreTable.put}, if the guard holds. */
  putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version>
  /** As {@link MetastoreTable.remove}, if the guard holds. */
  removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void>
}

/** Direction of a walk over keys. */
export type Order = 'ASC' | 'DESC'

/** No bound where a walk begins. */
export const EMPTY_START_KEY = null
/** No bound where a walk ends. */
export const EMPTY_END_KEY = null

/** A range of keys in the direction of the walk: with `DESC` the first key is the highest. */
export interface KeyRange {
  /** Where the walk begins; null = at the end of the table, whatever the flag says. */
  readonly firstKey: string | null
  /** Whether the row of `firstKey` belongs to the range. */
  readonly firstInclusive: boolean
  /** Where the walk ends; null = at the other end of the table. */
  readonly lastKey: string | null
  /** Whether the row of `lastKey` belongs to the range. */
  readonly lastInclusive: boolean
  /** Direction of the walk: `ASC` from the lowest key, `DESC` from the highest. */
  readonly order: Order
}

/** A table whose keys are in order: that of their UTF-8 bytes, which is that of code points. */
export interface MetastoreScannableTable extends MetastoreTable {
  /** The rows of a range, in order. `IllegalOp` if its keys lie against the order. */
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
 * A walk over the rows as they were when it was opened: keys, values and versions. It lets go of
 * its view at the end, at {@link close}, when it is forgotten, and after a time without use (then
 * reading on fails with `OperationFailure`).
 */
export interface MetastoreCursor extends AsyncIterable<MetastoreItem> {
  /** Whether the next read of at least one entry will return one. Exact. False after close. */
  hasMoreEntries(): boolean
  /**
   * Up to `count` entries, 0 or more; empty only at the end or for a count of 0. `IllegalOp` for a
   * count that is negative or not an integer, and after close.
   */
  asyncReadEntries(count: number): Promise<MetastoreItem[]>
  /** The same at once; may block on the disk, and may return fewer. */
  readEntries(count: number): MetastoreItem[]
  /** Ends the walk and lets go of the view. A second call does nothing. */
  close(): void
}
