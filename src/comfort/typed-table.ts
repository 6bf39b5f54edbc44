/**
 * A typed table: rows as objects whose properties are columns with encodings.
 *
 * It works with any backend's {@link Table} and adds no operation. Other operations use {@link
 * TypedTable.table}.
 */
import { checkMethods, checkObject, readArguments } from '../base/arguments.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import type { AsyncRows } from '../api/rows/async-rows.js'
import type { Result } from '../api/results/result.js'
import type { SyncRows } from '../api/rows/sync-rows.js'
import type { SyncTable, Table } from '../api/table.js'
import { TypedRows } from './typed-rows.js'
import type * as typed from './typed-rows.js'

/** The rows of a typed table, for its synchronous forms. */
let rowsOf: (table: TypedTable<typed.TypedColumns, typed.RowEncoding>) => TypedRows

/** Rows as objects; made by {@link typedTable}. */
export class TypedTable<C extends typed.TypedColumns, R extends typed.RowEncoding = 'utf8'> {
  static {
    rowsOf = (table) => table.#rows
  }

  /** The underlying table, for operations that are missing here. */
  readonly table: Table
  readonly #rows: TypedRows

  /** As {@link typedTable}, without the synchronous forms. */
  constructor(table: Table, columns: C, options: typed.TypedTableOptions<R> = {}) {
    checkMethods(table, 'the table of a typed table', ['get', 'getList', 'put', 'scan'])
    this.table = table
    this.#rows = readArguments(() => new TypedRows(columns, options))
  }

  /**
   * Writes the given properties of a row; the others keep their values. Throws
   * `ERR_INVALID_ARGUMENT` for an unknown property or a value that does not fit its encoding; other
   * errors as `Table.put`.
   */
  async put(
    row: BytesLike,
    values: typed.TypedValues<C>,
    options: typed.TypedPutOptions = {},
  ): Promise<void> {
    await this.table.put(readArguments(() => this.#rows.put(row, values, options)))
  }

  /** The row; undefined if none of its properties has a value. Errors of `Table.get`. */
  async get(
    row: BytesLike,
    options: typed.TypedGetOptions = {},
  ): Promise<typed.TypedRow<C, R> | undefined> {
    const get = readArguments(() => this.#rows.get(row, options))
    return this.#rowOf(await this.table.get(get))
  }

  /** The rows by index; undefined where there is none. Errors of `Table.getList`. */
  async getList(
    rows: readonly BytesLike[],
    options: typed.TypedGetOptions = {},
  ): Promise<(typed.TypedRow<C, R> | undefined)[]> {
    const gets = readArguments(() => this.#rows.getList(rows, options))
    return (await this.table.getList(gets)).map((result) => this.#rowOf(result))
  }

  /** Rows in order, with `.all()` and the other iterator helpers. Errors of `Table.scan`. */
  scan(options: typed.TypedScanOptions = {}): AsyncRows<typed.TypedRow<C, R>> {
    const scan = readArguments(() => this.#rows.scan(options))
    return this.table.scan(scan).map((result) => this.fromResult(result))
  }

  /**
   * Removes the named properties of a row; without names the whole row, including other columns.
   * Errors of `Table.delete`.
   */
  async delete(row: BytesLike, ...names: readonly (keyof C & string)[]): Promise<void> {
    await this.table.delete(this.#rows.delete(row, names))
  }

  /** Adds to a property with the encoding int64. Returns the new value. */
  async increment(
    row: BytesLike,
    name: keyof C & string,
    amount: number | bigint = 1,
  ): Promise<bigint> {
    const rows = this.#rows
    return this.table.incrementColumnValue(rows.key(row), rows.columnOf(name), amount)
  }

  /**
   * Sets a property if its stored value is the expected one; returns whether it was. Nothing comes
   * in between. An expected `undefined` means that there is no value, as an expected empty text
   * does; a `value` of `undefined` removes it. Values are compared as their encoding stores them.
   * Errors as {@link put}.
   */
  async compareAndSet<K extends keyof C & string>(
    row: BytesLike,
    name: K,
    expected: typed.PropertyValue<C[K]> | undefined,
    value: typed.PropertyValue<C[K]> | undefined,
  ): Promise<boolean> {
    const { check, action } = readArguments(() => this.#rows.check(row, name, expected, value))
    return (await this.table.checkAndMutate(check, action)).success
  }

  /**
   * Turns a result of {@link TypedTable.table} into a typed row. Throws `ERR_INVALID_ARGUMENT` if
   * the result is empty, or a stored value or the row does not fit its encoding.
   */
  fromResult(result: Result): typed.TypedRow<C, R> {
    checkMethods(result, 'the result of a typed table', ['value', 'cells'])
    return readArguments(() => this.#rows.row(result)) as typed.TypedRow<C, R>
  }

  #rowOf(result: Result): typed.TypedRow<C, R> | undefined {
    return result.isEmpty ? undefined : (this.#rows.row(result) as typed.TypedRow<C, R>)
  }
}

/** A typed table with the synchronous forms too; made by {@link typedTable}. */
export class SyncTypedTable<
  C extends typed.TypedColumns,
  R extends typed.RowEncoding = 'utf8',
> extends TypedTable<C, R> {
  declare readonly table: Table & SyncTable

  /** As {@link typedTable}. */
  constructor(table: Table & SyncTable, columns: C, options: typed.TypedTableOptions<R> = {}) {
    super(table, columns, options)
    checkMethods(table, 'the table of a typed table', ['getListSync', 'putSync', 'scanSync'])
  }

  /** As {@link TypedTable.put}, before it returns. */
  putSync(row: BytesLike, values: typed.TypedValues<C>, options: typed.TypedPutOptions = {}): void {
    this.table.putSync(readArguments(() => rowsOf(this).put(row, values, options)))
  }

  /** As {@link TypedTable.get}, before it returns. */
  getSync(row: BytesLike, options: typed.TypedGetOptions = {}): typed.TypedRow<C, R> | undefined {
    const result = this.table.getSync(readArguments(() => rowsOf(this).get(row, options)))
    return result.isEmpty ? undefined : this.fromResult(result)
  }

  /** As {@link TypedTable.getList}, before it returns. */
  getListSync(
    rows: readonly BytesLike[],
    options: typed.TypedGetOptions = {},
  ): (typed.TypedRow<C, R> | undefined)[] {
    const gets = readArguments(() => rowsOf(this).getList(rows, options))
    const results = this.table.getListSync(gets)
    return results.map((result) => (result.isEmpty ? undefined : this.fromResult(result)))
  }

  /** As {@link TypedTable.scan}, without promises. */
  scanSync(options: typed.TypedScanOptions = {}): SyncRows<typed.TypedRow<C, R>> {
    const scan = readArguments(() => rowsOf(this).scan(options))
    return this.table.scanSync(scan).map((result) => this.fromResult(result))
  }

  /** As {@link TypedTable.delete}, before it returns. */
  deleteSync(row: BytesLike, ...names: readonly (keyof C & string)[]): void {
    this.table.deleteSync(rowsOf(this).delete(row, names))
  }

  /** As {@link TypedTable.compareAndSet}, before it returns. */
  compareAndSetSync<K extends keyof C & string>(
    row: BytesLike,
    name: K,
    expected: typed.PropertyValue<C[K]> | undefined,
    value: typed.PropertyValue<C[K]> | undefined,
  ): boolean {
    const { check, action } = readArguments(() => rowsOf(this).check(row, name, expected, value))
    return this.table.checkAndMutateSync(check, action).success
  }

  /** As {@link TypedTable.increment}, before it returns. */
  incrementSync(row: BytesLike, name: keyof C & string, amount: number | bigint = 1): bigint {
    const rows = rowsOf(this)
    return this.table.incrementColumnValueSync(rows.key(row), rows.columnOf(name), amount)
  }
}

/**
 * Rows of `table` as objects: each property is a column, `'family:qualifier'` for text or with an
 * `encoding` for other values. Keys of rows are text, or Buffers with `{ rowEncoding: 'bytes' }`.
 * `ERR_INVALID_ARGUMENT`.
 *
 *     const users = typedTable(db.table('users'), {
 *       name: 'f:name',
 *       visits: { column: 'f:visits', encoding: 'int64' },
 *     })
 *     await users.put('ada', { name: 'Ada', visits: 1n })
 */
export function typedTable<
  const C extends typed.TypedColumns,
  R extends typed.RowEncoding = 'utf8',
>(table: Table & SyncTable, columns: C, options?: typed.TypedTableOptions<R>): SyncTypedTable<C, R>
/** The same over a table without synchronous forms, as of a remote backend. */
export function typedTable<
  const C extends typed.TypedColumns,
  R extends typed.RowEncoding = 'utf8',
>(table: Table, columns: C, options?: typed.TypedTableOptions<R>): TypedTable<C, R>
export function typedTable<
  const C extends typed.TypedColumns,
  R extends typed.RowEncoding = 'utf8',
>(table: Table, columns: C, options: typed.TypedTableOptions<R> = {}): TypedTable<C, R> {
  const hasSync = readArguments(() => 'getSync' in checkObject(table, 'the table of a typed table'))
  return hasSync
    ? new SyncTypedTable(table as Table & SyncTable, columns, options)
    : new TypedTable(table, columns, options)
}
