/**
 * A typed table: rows as objects whose properties are the parts of the key and columns.
 *
 * It works with the tables of any backend. Other operations use {@link TypedTable.table}, and
 * {@link TypedTable.rows} turns objects into operations and results into objects.
 */
import { checkArray, checkObject, readArguments, shown } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import type { AsyncRows } from '../../api/rows/async-rows.js'
import type { AtomicMutation } from '../../api/atomic.js'
import type { Database } from '../../api/database.js'
import type { PutReceipt } from '../../api/put-receipt.js'
import { inspectSymbol, type Inspect } from '../../api/results/display.js'
import type { Table } from '../../api/table.js'
import type { TableIndex } from '../indexes/table-index.js'
import type { KeyRange } from '../keys/key-range.js'
import type { KeyParts } from '../keys/row-key.js'
import { readPage, type Page } from '../pages.js'
import { countRows, deleteRange } from '../ranges.js'
import { transaction, type TransactionOptions } from '../transactions/transaction.js'
import type { ColumnInput, ColumnOutput, ColumnsOption } from './columns.js'
import {
  checkAmount,
  countedValue,
  counterColumn,
  isHeld,
  notHeld,
  takenBack,
  type CounterName,
} from './counters.js'
import type {
  KeyOf,
  RowForm,
  RowInput,
  RowOutput,
  TypedHandle,
  TypedPutOptions,
} from './row-form.js'
import { getOf, scanOf, type TypedGetOptions, type TypedScanOptions } from './typed-reads.js'
import { TypedIndex, type NoIndexes } from './typed-indexes.js'

/** A typed scan whose `limit` is the size of a page. */
export interface TypedPageOptions<
  K extends KeyParts,
  C extends ColumnsOption,
> extends TypedScanOptions<K, C> {
  /** Rows of a page, from 1. */
  readonly limit: number
  /** The `next` or `previous` of another page; undefined for the first page. */
  readonly page?: string | undefined
}

/** The rows of a page, and the tokens for its neighbours. */
export interface TypedPage<R> extends Omit<Page, 'rows'> {
  /** In the order of the scan. */
  readonly rows: R[]
}

/** One version of a column. */
export interface TypedVersion<V> {
  /** The value at that time. */
  readonly value: V
  /** Milliseconds. */
  readonly timestamp: number
}

/** Rows as objects; made by `TableDefinition.open`. */
export class TypedTable<
  K extends KeyParts = KeyParts,
  C extends ColumnsOption = ColumnsOption,
  I = NoIndexes,
> implements TypedHandle<K, C> {
  /** The database of the table. */
  readonly database: Database
  /** The underlying table, for operations that are missing here. */
  readonly table: Table
  readonly rows: RowForm<K, C>

  readonly #indexes: ReadonlyMap<string, TableIndex>

  /** Made by `TableDefinition.open`. */
  constructor(
    database: Database,
    table: Table,
    rows: RowForm<K, C>,
    indexes: ReadonlyMap<string, TableIndex>,
  ) {
    this.database = database
    this.table = table
    this.rows = rows
    this.#indexes = indexes
  }

  /** Name, parts of the key, columns and indexes, for `JSON.stringify`. */
  toJSON(): object {
    const { name } = this.table
    const columns = this.rows.columns.map(({ name, encoding }) => [name, encoding.name] as const)
    const indexes = [...this.#indexes.keys()]
    return { name, key: this.rows.key.parts, columns: Object.fromEntries(columns), indexes }
  }

  /** As {@link toJSON}, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    return `TypedTable ${inspect(this.toJSON(), options)}`
  }

  /** An index of the definition. `ERR_INDEX_NOT_FOUND`. */
  index<N extends keyof I & string>(name: N): TypedIndex<K, C, I[N]> {
    const index = this.#indexes.get(name)
    if (index !== undefined) return new TypedIndex(index, this.rows)
    const known = [...this.#indexes.keys()].map((each) => `'${each}'`).join(', ')
    const hint = known === '' ? 'it has none' : `it has ${known}`
    throw new CellarError(
      ErrorCode.indexNotFound,
      `the definition of '${this.table.name}' has no index ${shown(name)}; ${hint}`,
    )
  }

  /**
   * Writes the given columns of a row, all or none; the others keep their values. Throws
   * `ERR_INVALID_ARGUMENT` for an unknown property or a value that does not fit its column; receipt
   * and other errors as of `Table.put`.
   */
  put(row: RowInput<K, C>, options?: TypedPutOptions): Promise<PutReceipt> {
    try {
      return this.table.put(this.rows.put(row, options))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * A put as a mutation of an atomic batch: `db.atomic([users.putOf(…), visits.putOf(…)])`. Errors
   * as {@link put}.
   */
  putOf(row: RowInput<K, C>, options?: Omit<TypedPutOptions, 'durability'>): AtomicMutation {
    const { row: key, durability, ...put } = this.rows.put(row, options)
    if (durability !== undefined) throw durabilityOfPart()
    return { table: this.table, row: key, put }
  }

  /** A delete as a mutation of an atomic batch; see {@link delete}. */
  deleteOf(key: KeyOf<K>, ...names: readonly (keyof C & string)[]): AtomicMutation {
    const { row, ...rest } = this.rows.delete(key, names)
    return { table: this.table, row, delete: rest }
  }

  /** Writes independent rows, as {@link put}; failures as `Table.batch` reports them. */
  async putList(rows: readonly RowInput<K, C>[], options?: TypedPutOptions): Promise<void> {
    const puts = checkArray(rows, 'rows').map((each) => this.rows.put(each, options))
    await this.table.putList(puts)
  }

  /** The row; undefined if no column has a value. Errors of `Table.get`. */
  async get(key: KeyOf<K>, options?: TypedGetOptions<C>): Promise<RowOutput<K, C> | undefined> {
    return this.rows.rowOf(await this.table.get(getOf(this.rows, key, options)))
  }

  /** The rows by index; undefined where there is none. Errors of `Table.getList`. */
  async getList(
    keys: readonly KeyOf<K>[],
    options?: TypedGetOptions<C>,
  ): Promise<(RowOutput<K, C> | undefined)[]> {
    const gets = checkArray(keys, 'keys').map((key) => getOf(this.rows, key, options))
    const results = await this.table.getList(gets)
    return results.map((result) => this.rows.rowOf(result))
  }

  /** Rows in order, with `.all()` and the other iterator helpers. Errors of `Table.scan`. */
  scan(options: TypedScanOptions<K, C> = {}): AsyncRows<RowOutput<K, C>> {
    return this.table.scan(scanOf(this.rows, options)).map((each) => this.rows.fromResult(each))
  }

  /** One page of a scan, with the tokens of the next and the previous one; see `readPage`. */
  async page(options: TypedPageOptions<K, C>): Promise<TypedPage<RowOutput<K, C>>> {
    const { limit, page, ...rest } = readArguments(() => ({
      ...checkObject(options, 'a page', '{ limit: 50 }'),
    }))
    const read = await readPage(this.table, { ...scanOf(this.rows, rest), limit, page })
    return { ...read, rows: read.rows.map((result) => this.rows.fromResult(result)) }
  }

  /** The number of rows of a range. Reads them all. */
  count(range: KeyRange<K> = {}): Promise<number> {
    return countRows(this.table, scanOf(this.rows, range))
  }

  /**
   * Removes the named columns of a row; without names the whole row, including columns that the
   * definition lacks. Errors of `Table.delete`.
   */
  async delete(key: KeyOf<K>, ...names: readonly (keyof C & string)[]): Promise<void> {
    await this.table.delete(this.rows.delete(key, names))
  }

  /**
   * Removes the rows of a range, whole, and resolves to their number. The range must have a bound.
   * Not atomic; see `deleteRange`.
   */
  deleteRange(range: KeyRange<K>): Promise<number> {
    return deleteRange(this.table, scanOf(this.rows, range))
  }

  /**
   * Replaces a row by what `change` makes of it, in one transaction, which is tried again if
   * another call changes the row meanwhile. Columns that the new row lacks are removed; undefined
   * leaves the row as it is. Resolves to the new row. Errors of `transaction`.
   */
  update(
    key: KeyOf<K>,
    change: (
      row: RowOutput<K, C> | undefined,
    ) => RowInput<K, C> | undefined | Promise<RowInput<K, C> | undefined>,
    options: TransactionOptions = {},
  ): Promise<RowOutput<K, C> | undefined> {
    return transaction(this.database, (tx) => tx.update(this, key, change), options)
  }

  /**
   * Adds to a column of integers, in the bytes of a counter. Returns the new value. A sum that the
   * column cannot hold is taken back at once, and refused with `ERR_INVALID_ARGUMENT`; one of
   * 'int64' wraps around, as in HBase.
   */
  async increment<N extends CounterName<C>>(
    key: KeyOf<K>,
    name: N,
    amount: number | bigint = 1,
  ): Promise<ColumnOutput<C[N]>> {
    const counter = counterColumn(this.rows, name)
    checkAmount(counter, amount)
    const row = this.rows.row(key)
    const value = await this.table.incrementColumnValue(row, counter.column, amount)
    if (isHeld(counter, value)) return countedValue<C, N>(counter, value)
    const { check, action } = takenBack(row, counter, amount)
    await this.table.checkAndMutate(check, action)
    throw notHeld(counter, value)
  }

  /**
   * Sets a column if its stored value is the expected one; returns whether it was. Nothing comes in
   * between. An expected `undefined` means that there is no value, or an empty text or empty bytes,
   * as in HBase; a `value` of `undefined` removes it. Values are compared as they are
   * stored. Errors as {@link put}.
   */
  async compareAndSet<N extends keyof C & string>(
    key: KeyOf<K>,
    name: N,
    expected: ColumnInput<C[N]> | undefined,
    value: ColumnInput<C[N]> | undefined,
  ): Promise<boolean> {
    const { check, action } = this.rows.compareAndSet(key, name, expected, value)
    return (await this.table.checkAndMutate(check, action)).success
  }

  /** The versions of a column that the family keeps, the newest first. */
  async versions<N extends keyof C & string>(
    key: KeyOf<K>,
    name: N,
    options: Omit<TypedGetOptions<C>, 'columns'> = {},
  ): Promise<TypedVersion<ColumnOutput<C[N]>>[]> {
    const column = this.rows.column(name)
    const get = getOf(this.rows, key, { versions: 'all', ...options, columns: [name] })
    const result = await this.table.get(get)
    if (result.isEmpty) return []
    return result.columnCells(column.column).map(({ value, timestamp }) => ({
      value: column.decode(value) as ColumnOutput<C[N]>,
      timestamp,
    }))
  }
}

function durabilityOfPart(): CellarError {
  return invalidArgument('a mutation of an atomic batch has no durability; the batch has one')
}
