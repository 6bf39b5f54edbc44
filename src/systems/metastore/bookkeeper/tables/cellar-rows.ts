/**
 * One table of the metastore over a table of Cellar, shared by all its handles.
 *
 * Promises settle in the order of the calls, and a read sees the writes that were called before it.
 * A put or remove is one `checkAndMutate` on the version column (see conditional-writes.ts), a read
 * is one `get`, and a cursor is a scan of a snapshot.
 */
import type { Snapshot } from '../../../../api/index.js'
import { asMetastoreError } from './cellar-errors.js'
import { CellarView, type OpenViews, type ViewedTable } from './cellar-view.js'
import { ConditionalWrites } from './conditional-writes.js'
import { noKey } from '../errors.js'
import { rowOfKey } from '../keys.js'
import { OperationOrder } from './operation-order.js'
import { columnsOf, RowDecoder } from './row-format.js'
import { TableCursor, type CursorOwner } from './table-cursor.js'
import type { KeyRange, MetastoreCursor, RowGuard } from '../types.js'
import type { FieldChange, FieldSelection, Value } from '../value.js'
import type { Version, Versioned } from './version.js'
import type { VersionSource } from './version-source.js'
import { Watchers } from './watchers.js'

/** The parts that the tables of one database share. */
export interface SharedParts {
  readonly versions: VersionSource
  readonly openViews: OpenViews
  snapshot(): Snapshot
}

/** The rows of one table; see the file header. */
export class CellarRows {
  readonly watchers = new Watchers()
  readonly #table: ViewedTable
  readonly #shared: SharedParts
  readonly #order = new OperationOrder()

  readonly #writes: ConditionalWrites
  readonly #decoder = new RowDecoder()

  constructor(table: ViewedTable, shared: SharedParts) {
    this.#table = table
    this.#shared = shared
    this.#writes = new ConditionalWrites(table, shared.versions, this.#order, this.watchers)
  }

  /** `settled` runs when the promise settles, before its reactions. `NoKey`. */
  get(
    key: string,
    fields: FieldSelection,
    settled?: (error: unknown) => void,
  ): Promise<Versioned<Value>> {
    return this.#order.onKey(key, () => this.#get(rowOfKey(key), fields), settled)
  }

  put(
    key: string,
    changes: readonly FieldChange[],
    version: Version,
    guard?: RowGuard,
  ): Promise<Version> {
    return this.#writes.put(key, changes, version, guard)
  }

  remove(key: string, version: Version, guard?: RowGuard): Promise<void> {
    return this.#writes.remove(key, version, guard)
  }

  /** A cursor over the rows at the turn of this call. */
  openRange(range: KeyRange, fields: FieldSelection, owner: CursorOwner): Promise<MetastoreCursor> {
    return this.#order.onAll(() => this.#openRange(range, fields, owner))
  }

  /** Rejects in the order of the calls: the arguments of a call were wrong. */
  fail<T>(error: unknown): Promise<T> {
    return this.#order.fail(error)
  }

  /** Resolves when all earlier operations have ended. */
  drain(): Promise<void> {
    return this.#order.onAll(async () => undefined)
  }

  async #get(row: string, fields: FieldSelection): Promise<Versioned<Value>> {
    try {
      const result = await this.#table.get({ row, columns: columnsOf(fields) })
      const found = this.#decoder.decode(result)
      if (found !== undefined) return found
    } catch (error) {
      throw asMetastoreError(error)
    }
    throw noKey()
  }

  async #openRange(
    range: KeyRange,
    fields: FieldSelection,
    owner: CursorOwner,
  ): Promise<MetastoreCursor> {
    try {
      const { openViews } = this.#shared
      const snapshot = this.#shared.snapshot()
      const idle = owner.cursorIdleMilliseconds
      const source = { table: this.#table, decoder: this.#decoder }
      const view = new CellarView(source, snapshot, range, fields, openViews, idle)
      return await TableCursor.open(view, owner)
    } catch (error) {
      throw asMetastoreError(error)
    }
  }
}
