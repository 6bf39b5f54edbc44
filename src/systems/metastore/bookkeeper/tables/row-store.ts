/**
 * What a backend provides for one table: operations on checked arguments, shared by all handles.
 *
 * Promises settle in the order of the calls, and a read sees the writes that were called before it.
 * Errors are `MetastoreError`s.
 */
import type { CursorOwner } from './table-cursor.js'
import type { KeyRange, MetastoreCursor, RowGuard } from '../types.js'
import type { FieldChange, FieldSelection, Value } from '../value.js'
import type { Version, Versioned } from './version.js'
import type { Watchers } from './watchers.js'

/** The rows of one table. */
export interface RowStore {
  readonly watchers: Watchers
  /** `settled` runs when the promise is settled, before anybody who waits for it. */
  get(
    key: string,
    fields: FieldSelection,
    settled?: (error: unknown) => void,
  ): Promise<Versioned<Value>>
  put(
    key: string,
    changes: readonly FieldChange[],
    version: Version,
    guard?: RowGuard,
  ): Promise<Version>
  remove(key: string, version: Version, guard?: RowGuard): Promise<void>
  /** Rejects in its turn: the arguments of a call were wrong. */
  fail<T>(error: unknown): Promise<T>
  openRange(range: KeyRange, fields: FieldSelection, owner: CursorOwner): Promise<MetastoreCursor>
}
