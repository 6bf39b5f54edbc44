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
import { callListener, checkCallable } from '../../kernel/listener-errors.js'
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

/** The last two arguments of a call: its callback, and a value that is passed to the callback. */
type Reply<T> = [callback: MetastoreCallback<T>, context: unknown]

/**
 * Makes a call, and calls the callback with its outcome in the form of `formOf`. There is one
 * reaction for each promise: with more, a callback would be called after those of later calls.
 */
function answer<T, R = T>(
  onError: CallbackErrorHandler,
  [callback, context]: Reply<R>,
  call: () => Promise<T>,
  formOf: (value: T) => R = (value) => value as unknown as R,
): void {
  if (typeof callback !== 'function') {
    throw illegalOp(`the callback must be a function, got ${kindOf(callback)}`)
  }
  const tell = (code: ReturnCode, value: R | null): void =>
    callListener(onError, callback, code, value, context)
  call().then(
    (value) => tell(ReturnCode.OK, formOf(value) ?? null),
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
  get(key: string, fields: FieldSelection, ...reply: Reply<Versioned<Value>>): void {
    answer(this.#onError, reply, () => this.#table.get(key, { fields }))
  }

  /** Reads a row and arms a watcher. */
  getWatched(key: string, watcher: MetastoreWatcher, ...reply: Reply<Versioned<Value>>): void {
    answer(this.#onError, reply, () => {
      if (typeof watcher === 'function') return this.#table.get(key, { watcher })
      return Promise.reject(illegalOp(`the watcher must be a function, got ${kindOf(watcher)}`))
    })
  }

  /** As {@link MetastoreTable.put}; the value of the callback is the new version. */
  put(key: string, value: Value, version: Version, ...reply: Reply<Version>): void {
    answer(this.#onError, reply, () => this.#table.put(key, value, version))
  }

  /** As {@link MetastoreTable.remove}; the value of the callback is null. */
  remove(key: string, version: Version, ...reply: Reply<void>): void {
    answer(this.#onError, reply, () => this.#table.remove(key, version))
  }

  /** As {@link MetastoreTable.openCursor}. */
  openCursor(fields: FieldSelection, ...reply: Reply<CallbackCursor>): void {
    answer(this.#onError, reply, () => this.#table.openCursor(fields), this.#cursorOf)
  }

  /** As {@link MetastoreScannableTable.openRange}; `IllegalOp` if the table is not scannable. */
  openRange(range: KeyRange, fields: FieldSelection, ...reply: Reply<CallbackCursor>): void {
    const call = (): Promise<MetastoreCursor> =>
      this.#table.openRange?.(range, fields) ??
      Promise.reject(illegalOp('the table is not scannable'))
    answer(this.#onError, reply, call, this.#cursorOf)
  }

  readonly #cursorOf = (cursor: MetastoreCursor): CallbackCursor =>
    new CallbackCursor(cursor, this.#onError)
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
  asyncReadEntries(count: number, ...reply: Reply<MetastoreItem[]>): void {
    answer(this.#onError, reply, () => this.#cursor.asyncReadEntries(count))
  }

  /** As {@link MetastoreCursor.close}. */
  close(): void {
    this.#cursor.close()
  }
}
