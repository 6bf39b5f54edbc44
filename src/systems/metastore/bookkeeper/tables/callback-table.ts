/**
 * The callback form of tables and cursors, as BookKeeper documents it, over the promises.
 *
 * Every call results in exactly one call of its callback, with a return code, the value or null,
 * and the caller's context. Callbacks are never called on the stack of the caller, and are called
 * in the order of the calls. An error of a callback goes to `onCallbackError` and has no other
 * effect. Only a callback that is not a function is thrown synchronously, as `IllegalOp`: there is
 * no callback to report to.
 */
import { checkMethods } from '../../../../api/index.js'
import { ReturnCode, returnCodeOf, illegalOp } from '../../errors.js'
import { checkCallable } from '../../kernel/arguments.js'
import { callListener } from '../../kernel/listener-errors.js'
import { kindOf } from '../arguments.js'
import type {
  KeyRange,
  MetastoreCursor,
  MetastoreItem,
  MetastoreScannableTable,
  MetastoreTable,
  MetastoreWatcher,
} from '../types.js'
import type { FieldSelection, Value } from '../value.js'
import type { Version, Versioned } from './version.js'

/** Called once after an operation; `value` is null unless the code is `OK`. */
export type MetastoreCallback<T> = (code: ReturnCode, value: T | null, context: unknown) => void

/** Receives the errors of callbacks. */
export type CallbackErrorHandler = (error: unknown) => void

/** Makes a call, and calls the callback with its outcome. */
function answer<T>(
  onError: CallbackErrorHandler,
  callback: MetastoreCallback<T>,
  context: unknown,
  call: () => Promise<T>,
): void {
  if (typeof callback !== 'function') {
    throw illegalOp(`the callback must be a function, got ${kindOf(callback)}`)
  }
  const tell = (code: ReturnCode, value: T | null): void =>
    callListener(onError, callback, code, value, context)
  call().then(
    (value) => tell(ReturnCode.OK, value ?? null),
    (error: unknown) => tell(returnCodeOf(error) as ReturnCode, null),
  )
}

/** A table with callbacks. */
export class CallbackTable {
  readonly #table: MetastoreTable & Partial<Pick<MetastoreScannableTable, 'openRange'>>
  readonly #onError: CallbackErrorHandler

  /** `onCallbackError` receives the errors of callbacks. */
  constructor(
    table: MetastoreTable | MetastoreScannableTable,
    onCallbackError: CallbackErrorHandler,
  ) {
    this.#table = checkMethods(table, 'the table', ['get', 'put', 'remove', 'openCursor'])
    this.#onError = checkCallable(onCallbackError, 'onCallbackError')
  }

  /** As {@link MetastoreTable.getName}. */
  getName(): string {
    return this.#table.getName()
  }

  /** Reads a row, or some of its fields. */
  get(
    key: string,
    fields: FieldSelection,
    callback: MetastoreCallback<Versioned<Value>>,
    context: unknown,
  ): void {
    answer(this.#onError, callback, context, () => this.#table.get(key, { fields }))
  }

  /** Reads a row and arms a watcher. */
  getWatched(
    key: string,
    watcher: MetastoreWatcher,
    callback: MetastoreCallback<Versioned<Value>>,
    context: unknown,
  ): void {
    answer(this.#onError, callback, context, () => {
      if (typeof watcher === 'function') return this.#table.get(key, { watcher })
      return Promise.reject(illegalOp(`the watcher must be a function, got ${kindOf(watcher)}`))
    })
  }

  /** As {@link MetastoreTable.put}; the value of the callback is the new version. */
  put(
    key: string,
    value: Value,
    version: Version,
    callback: MetastoreCallback<Version>,
    context: unknown,
  ): void {
    answer(this.#onError, callback, context, () => this.#table.put(key, value, version))
  }

  /** As {@link MetastoreTable.remove}; the value of the callback is null. */
  remove(key: string, version: Version, callback: MetastoreCallback<void>, context: unknown): void {
    answer(this.#onError, callback, context, () => this.#table.remove(key, version))
  }

  /** As {@link MetastoreTable.openCursor}. */
  openCursor(
    fields: FieldSelection,
    callback: MetastoreCallback<CallbackCursor>,
    context: unknown,
  ): void {
    this.#open(callback, context, () => this.#table.openCursor(fields))
  }

  /** As {@link MetastoreScannableTable.openRange}; `IllegalOp` if the table is not scannable. */
  openRange(
    range: KeyRange,
    fields: FieldSelection,
    callback: MetastoreCallback<CallbackCursor>,
    context: unknown,
  ): void {
    this.#open(callback, context, () => {
      const opened = this.#table.openRange?.(range, fields)
      return opened ?? Promise.reject(illegalOp('the table is not scannable'))
    })
  }

  #open(
    callback: MetastoreCallback<CallbackCursor>,
    context: unknown,
    open: () => Promise<MetastoreCursor>,
  ): void {
    answer(this.#onError, callback, context, () =>
      open().then((cursor) => new CallbackCursor(cursor, this.#onError)),
    )
  }
}

/** A cursor with callbacks. */
export class CallbackCursor {
  readonly #cursor: MetastoreCursor
  readonly #onError: CallbackErrorHandler

  /** `onCallbackError` receives the errors of callbacks. */
  constructor(cursor: MetastoreCursor, onCallbackError: CallbackErrorHandler) {
    this.#cursor = cursor
    this.#onError = onCallbackError
  }

  /** As {@link MetastoreCursor.hasMoreEntries}. */
  hasMoreEntries(): boolean {
    return this.#cursor.hasMoreEntries()
  }

  /** As {@link MetastoreCursor.readEntries}. */
  readEntries(count: number): MetastoreItem[] {
    return this.#cursor.readEntries(count)
  }

  /** As {@link MetastoreCursor.asyncReadEntries}. */
  asyncReadEntries(
    count: number,
    callback: MetastoreCallback<MetastoreItem[]>,
    context: unknown,
  ): void {
    answer(this.#onError, callback, context, () => this.#cursor.asyncReadEntries(count))
  }

  /** As {@link MetastoreCursor.close}. */
  close(): void {
    this.#cursor.close()
  }
}
