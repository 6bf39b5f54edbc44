/**
 * A handle on a table: checks arguments and its own state, and passes calls on in their order.
 *
 * Every store object has its own handles; they share rows, order of operations and watchers. No
 * method awaits, so a promise settles in the turn in which its operation ends.
 */
import { systemClock, type Result } from '../../../../api/index.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { MetastoreErrorCode, failed, illegalOp, isAbsent } from '../../errors.js'
import {
  checkFields,
  checkGetOptions,
  checkGuard,
  checkRange,
  checkValue,
  checkVersion,
} from '../arguments.js'
import { checkKey, rowOfKey } from '../keys.js'
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
import type { RowCommits } from './row-commits.js'
import type { RowWrite, TableRows } from './row-operations.js'
import { columnsOf } from './row-format.js'
import { TableCursor, type CursorOwner, type CursorView } from './table-cursor.js'
import type { Version, Versioned } from './version.js'
import type { WatcherOwner } from './watchers.js'

const wholeTable: KeyRange = {
  firstKey: null,
  firstInclusive: true,
  lastKey: null,
  lastInclusive: true,
  order: 'ASC',
}

/** The changes of a remove. */
const noChanges = (): undefined => undefined

export class TableHandle
  implements MetastoreScannableTable, MetastoreGuardedTable, CursorOwner, WatcherOwner
{
  readonly onListenerError: ListenerErrorHandler
  readonly cursorIdleMilliseconds: number
  readonly views = new Set<CursorView>()
  readonly clock = systemClock
  readonly #rows: TableRows
  readonly #commits: RowCommits
  readonly #onClose: (handle: TableHandle) => void
  #isOpen = true

  constructor(
    rows: TableRows,
    commits: RowCommits,
    settings: Pick<TableHandle, 'onListenerError' | 'cursorIdleMilliseconds'>,
    onClose: (handle: TableHandle) => void,
  ) {
    this.#rows = rows
    this.#commits = commits
    this.onListenerError = settings.onListenerError
    this.cursorIdleMilliseconds = settings.cursorIdleMilliseconds
    this.#onClose = onClose
  }

  getName(): string {
    return this.#rows.name
  }

  get(key: string, options?: GetOptions): Promise<Versioned<Value>> {
    return this.#inOrder(() => {
      checkKey(key)
      const { watcher, fields } = checkGetOptions(options)
      const { table } = this.#rows
      const [row, columns] = [rowOfKey(key), columnsOf(fields)]
      const read = (): Promise<Versioned<Value>> => table.get({ row, columns }).then(this.#decode)
      const settled = watcher && ((error: unknown) => this.#arm(key, watcher, error))
      return this.#commits.read(this.#rows, key, read, settled)
    })
  }

  readonly #decode = (result: Result): Versioned<Value> => {
    const found = this.#rows.decoder.decode(result)
    if (found !== undefined) return found
    throw failed(MetastoreErrorCode.noKey, 'the row does not exist')
  }

  /** Arms a watcher after a read, also for a missing row. */
  #arm(key: string, watcher: MetastoreWatcher, error: unknown): void {
    const isAnswered = error === undefined || isAbsent(error)
    if (isAnswered && this.#isOpen) this.#rows.watchers.arm(key, watcher, this)
  }

  put(key: string, value: Value, version: Version): Promise<Version> {
    return this.#write(key, version, () => checkValue(value))
  }

  remove(key: string, version: Version): Promise<void> {
    return this.#write(key, version, noChanges)
  }

  putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version> {
    const changes = (): RowWrite['changes'] => checkValue(value)
    return this.#write(key, version, changes, () => checkGuard(guard))
  }

  removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void> {
    return this.#write(key, version, noChanges, () => checkGuard(guard))
  }

  unwatch(key: string, watcher: MetastoreWatcher): boolean {
    return this.#rows.watchers.disarm(key, watcher)
  }

  openCursor(fields: FieldSelection = ALL_FIELDS): Promise<MetastoreCursor> {
    return this.openRange(wholeTable, fields)
  }

  openRange(range: KeyRange, fields: FieldSelection = ALL_FIELDS): Promise<MetastoreCursor> {
    return this.#inOrder(() => {
      const [checked, selected] = [checkRange(range), checkFields(fields)]
      return this.#commits.read(this.#rows, undefined, () => {
        // A cursor that is opened after the close of its handle would outlive it.
        if (!this.#isOpen) throw this.#closed()
        return TableCursor.open(this.#rows, this.#commits.snapshot(), checked, selected, this)
      })
    })
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#rows.watchers.disarmAll(this)
    for (const view of [...this.views]) view.release('closed')
    this.#onClose(this)
  }

  #write<T>(
    key: string,
    expected: Version,
    changes: () => RowWrite['changes'],
    guard?: () => RowGuard,
  ): Promise<T> {
    return this.#inOrder(() => {
      checkKey(key)
      checkVersion(expected)
      const write = { changes: changes(), expected, guard: guard?.() }
      return this.#commits.write(this.#rows, key, write) as Promise<T>
    })
  }

  /** Makes a call. An error of its arguments rejects in the order of the calls. */
  #inOrder<T>(call: () => Promise<T>): Promise<T> {
    try {
      if (this.#isOpen) return call()
      throw this.#closed()
    } catch (error) {
      return this.#commits.read(this.#rows, undefined, () => Promise.reject(error))
    }
  }

  #closed(): Error {
    return illegalOp(`this handle on table '${this.#rows.name}' is closed`)
  }
}
