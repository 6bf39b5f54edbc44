/**
 * The callback form of tables and cursors, as BookKeeper documents it, over the promises.
 *
 * Every call results in exactly one call of its callback, with a return code, the value or null,
 * and the caller's context. Callbacks are never called on the stack of the caller, and are called
 * in the order of the calls. An error of a callback goes to `onCallbackError` and has no other
 * effect. Only a callback that is not a function is thrown synchronously: there is no callback to
 * report to.
 */
import { checkMethods } from '../../../../api/index.js'
import { checkCallable } from '../../kernel/arguments.js'
import { callListener } from '../../kernel/listener-errors.js'
import { kindOf } from '../arguments.js'
import { ReturnCode, returnCodeOf, illegalOp } from '../../errors.js'
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

function settle<T, U>(
  promise: Promise<T>,
  convert: (value: T) => U | null,
  callback: MetastoreCallback<U>,
  context: unknown,
  onError: CallbackErrorHandler,
): void {
  const answer = (code: ReturnCode, value: U | null): void =>
    callListener(onError, callback, code, value, context)
  promise.then(
    (value) => answer(ReturnCode.OK, convert(value)),
    (error: unknown) => answer(returnCodeOf(error) as ReturnCode, null),
  )
}

function checkCallback(callback: unknown): void {
  if (typeof callback === 'function') return
  throw illegalOp(`the callback must be a function, got ${kindOf(callback)}`)
}

function same<T>(value: T): T {
  return value
}

/** A table with callbacks. */
export class CallbackTable {
  readonly #table: MetastoreTable
  readonly #onError: CallbackErrorHandler

  /** `onCallbackError` receives the errors of callbacks. */
  constructor(table: MetastoreTable, onCallbackError: CallbackErrorHandler) {
    checkMethods(table, 'the table', ['get', 'put', 'remove', 'openCursor'])
    checkCallable(onCallbackError, 'onCallbackError')
    this.#table = table
    this.#onError = onCallbackError
  }

  /** As {@link MetastoreTable.getName}. */
  getName(): string {
    return this.#table.getName()
  }

  /**
   * Reads a row, or some of its fields. Throws `IllegalOp` synchronously if `callback` is not a
   * function.
   */
  get(
    key: string,
    fields: FieldSelection,
    callback: MetastoreCallback<Versioned<Value>>,
    context: unknown,
  ): void {
    checkCallback(callback)
    settle(this.#table.get(key, { fields }), same, callback, context, this.#onError)
  }

  /**
   * Reads a row and arms a watcher. Throws `IllegalOp` synchronously if `callback` is not a
   * function.
   */
  getWatched(
    key: string,
    watcher: MetastoreWatcher,
    callback: MetastoreCallback<Versioned<Value>>,
    context: unknown,
  ): void {
    checkCallback(callback)
    const promise =
      typeof watcher === 'function'
        ? this.#table.get(key, { watcher })
        : Promise.reject(illegalOp(`the watcher must be a function, got ${kindOf(watcher)}`))
    settle(promise, same, callback, context, this.#onError)
  }

  /**
   * As {@link MetastoreTable.put}; the value of the callback is the new version. Throws `IllegalOp`
   * synchronously if `callback` is not a function.
   */
  put(
    key: string,
    value: Value,
    version: Version,
    callback: MetastoreCallback<Version>,
    context: unknown,
  ): void {
    checkCallback(callback)
    settle(this.#table.put(key, value, version), same, callback, context, this.#onError)
  }

  /**
   * As {@link MetastoreTable.remove}; the value of the callback is null. Throws `IllegalOp`
   * synchronously if `callback` is not a function.
   */
  remove(key: string, version: Version, callback: MetastoreCallback<void>, context: unknown): void {
    checkCallback(callback)
    settle(this.#table.remove(key, version), () => null, callback, context, this.#onError)
  }

  /**
   * As {@link MetastoreTable.openCursor}. Throws `IllegalOp` synchronously if `callback` is not a
   * function.
   */
  openCursor(
    fields: FieldSelection,
    callback: MetastoreCallback<CallbackCursor>,
    context: unknown,
  ): void {
    checkCallback(callback)
    const convert = (cursor: MetastoreCursor): CallbackCursor => this.cursor(cursor)
    settle(this.#table.openCursor(fields), convert, callback, context, this.#onError)
  }

  /** @internal */
  protected cursor(cursor: MetastoreCursor): CallbackCursor {
    return new CallbackCursor(cursor, this.#onError)
  }
}

/** A scannable table with callbacks. */
export class CallbackScannableTable extends CallbackTable {
  readonly #scannable: MetastoreScannableTable
  readonly #onRangeError: CallbackErrorHandler

  /** `onCallbackError` receives the errors of callbacks. */
  constructor(table: MetastoreScannableTable, onCallbackError: CallbackErrorHandler) {
    super(table, onCallbackError)
    checkMethods(table, 'the table', ['openRange'])
    this.#scannable = table
    this.#onRangeError = onCallbackError
  }

  /**
   * As {@link MetastoreScannableTable.openRange}. Throws `IllegalOp` synchronously if `callback` is
   * not a function.
   */
  openRange(
    range: KeyRange,
    fields: FieldSelection,
    callback: MetastoreCallback<CallbackCursor>,
    context: unknown,
  ): void {
    checkCallback(callback)
    const convert = (cursor: MetastoreCursor): CallbackCursor => this.cursor(cursor)
    const promise = this.#scannable.openRange(range, fields)
    settle(promise, convert, callback, context, this.#onRangeError)
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

  /**
   * As {@link MetastoreCursor.asyncReadEntries}. Throws `IllegalOp` synchronously if `callback` is
   * not a function.
   */
  asyncReadEntries(
    count: number,
    callback: MetastoreCallback<MetastoreItem[]>,
    context: unknown,
  ): void {
    checkCallback(callback)
    const promise = this.#cursor.asyncReadEntries(count)
    settle(promise, same, callback, context, this.#onError)
  }

  /** As {@link MetastoreCursor.close}. */
  close(): void {
    this.#cursor.close()
  }
}
