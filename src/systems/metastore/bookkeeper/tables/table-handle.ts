/**
 * A handle on a table: checks arguments and its own state, and calls the backend.
 *
 * Every store object has its own handles; they share rows, order of operations and watchers. No
 * method awaits, so a promise settles in the turn in which the backend settles it.
 */
import {
  checkFields,
  checkGetOptions,
  checkGuard,
  checkRange,
  checkValue,
  checkVersion,
  checkWatcher,
} from '../arguments.js'
import { codeOf, illegalOp, MetastoreErrorCode } from '../errors.js'
import { checkKey } from '../keys.js'
import type { CellarRows } from './cellar-rows.js'
import type { CursorOwner, CursorView } from './table-cursor.js'
import type {
  GetOptions,
  KeyRange,
  MetastoreCursor,
  MetastoreGuardedTable,
  MetastoreScannableTable,
  MetastoreWatcher,
  RowGuard,
} from '../types.js'
import { ALL_FIELDS, type FieldSelection, type Value } from '../value.js'
import type { Version, Versioned } from './version.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import type { WatcherOwner } from './watchers.js'

const wholeTable: KeyRange = {
  firstKey: null,
  firstInclusive: true,
  lastKey: null,
  lastInclusive: true,
  order: 'ASC',
}

/** Settings of handles. */
export interface HandleSettings {
  readonly onListenerError: ListenerErrorHandler
  readonly cursorIdleMilliseconds: number
  readonly onClose: () => void
}

export class TableHandle
  implements MetastoreScannableTable, MetastoreGuardedTable, CursorOwner, WatcherOwner
{
  readonly onListenerError: ListenerErrorHandler
  readonly cursorIdleMilliseconds: number
  /** The views of the open cursors. */
  readonly views = new Set<CursorView>()
  readonly #name: string
  readonly #rows: CellarRows
  readonly #onClose: () => void
  #open = true

  constructor(name: string, rows: CellarRows, settings: HandleSettings) {
    this.#name = name
    this.#rows = rows
    this.onListenerError = settings.onListenerError
    this.cursorIdleMilliseconds = settings.cursorIdleMilliseconds
    this.#onClose = settings.onClose
  }

  getName(): string {
    return this.#name
  }

  get(key: string, options: GetOptions = {}): Promise<Versioned<Value>> {
    try {
      this.#checkOpen()
      checkKey(key)
      const { watcher, fields: asked } = checkGetOptions(options)
      checkWatcher(watcher)
      const fields = checkFields(asked)
      if (watcher === undefined) return this.#rows.get(key, fields)
      return this.#rows.get(key, fields, (error) => this.#arm(key, watcher, error))
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  /** Arms a watcher after a read, also for a missing row. */
  #arm(key: string, watcher: MetastoreWatcher, error: unknown): void {
    const answered = error === undefined || codeOf(error) === MetastoreErrorCode.noKey
    if (answered && this.#open) this.#rows.watchers.arm(key, watcher, this)
  }

  put(key: string, value: Value, version: Version): Promise<Version> {
    try {
      this.#checkOpen()
      checkKey(key)
      checkVersion(version)
      return this.#rows.put(key, checkValue(value), version)
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  remove(key: string, version: Version): Promise<void> {
    try {
      this.#checkOpen()
      checkKey(key)
      checkVersion(version)
      return this.#rows.remove(key, version)
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version> {
    try {
      this.#checkOpen()
      checkKey(key)
      checkVersion(version)
      return this.#rows.put(key, checkValue(value), version, checkGuard(guard))
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void> {
    try {
      this.#checkOpen()
      checkKey(key)
      checkVersion(version)
      return this.#rows.remove(key, version, checkGuard(guard))
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  unwatch(key: string, watcher: MetastoreWatcher): boolean {
    return this.#rows.watchers.disarm(key, watcher)
  }

  openCursor(fields: FieldSelection = ALL_FIELDS): Promise<MetastoreCursor> {
    return this.openRange(wholeTable, fields)
  }

  openRange(range: KeyRange, fields: FieldSelection = ALL_FIELDS): Promise<MetastoreCursor> {
    try {
      this.#checkOpen()
      return this.#rows.openRange(checkRange(range), checkFields(fields), this)
    } catch (error) {
      return this.#rows.fail(error)
    }
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#rows.watchers.disarmAll(this)
    for (const view of [...this.views]) view.release('closed')
    this.#onClose()
  }

  #checkOpen(): void {
    if (!this.#open) throw illegalOp(`this handle on table '${this.#name}' is closed`)
  }
}
