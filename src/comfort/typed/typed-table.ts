/**
 * A typed table: rows as objects whose properties are the parts of the key and columns.
 *
 * It works with the tables of any backend. Other operations use {@link TypedTable.table}, and
 * {@link TypedTable.rows} turns objects into operations and results into objects.
 */
import { checkArray, checkObject, readArguments, shown } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { meantName } from '../../base/near-names.js'
import type { AsyncRows } from '../../api/rows/async-rows.js'
import type { SyncRows } from '../../api/rows/sync-rows.js'
import type { AtomicMutation } from '../../api/atomic.js'
import type { Database } from '../../api/database.js'
import type { PutReceipt } from '../../api/put-receipt.js'
import { inspectSymbol, type Inspect } from '../../api/results/display.js'
import { scanOptions, type Get, type Scan, type ScanOptions } from '../../api/reads.js'
import type { SyncTable, Table } from '../../api/table.js'
import type { TableIndex } from '../indexes/table-index.js'
import { keyRangeMembers, rowsOfKeys, type KeyRange } from '../keys/key-range.js'
import type { KeyParts } from '../keys/row-key.js'
import { readPage, type Page } from '../pages.js'
import { countRows, deleteRange, partsOptions, type PartsOption } from '../ranges.js'
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
import { TypedIndex, type NoIndexes } from './typed-indexes.js'

/** Options of a get of a typed table: those of {@link Get} without the row. */
export interface TypedGetOptions<C extends ColumnsOption> extends Omit<
  Get,
  'row' | 'columns' | 'checkExistenceOnly'
> {
  /** The properties to read. Default all. */
  readonly columns?: readonly (keyof C & string)[] | undefined
}

/** The rows of a typed scan, and options of {@link Scan}. */
export interface TypedScanOptions<K extends KeyParts, C extends ColumnsOption>
  extends KeyRange<K>, Omit<ScanOptions, PartsOption | 'columns' | 'raw'> {
  /** The properties to read. Default all. Rows without any of them are left out. */
  readonly columns?: readonly (keyof C & string)[] | undefined
}

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

/** A typed table with the synchronous forms too. */
export class SyncTypedTable<
  K extends KeyParts = KeyParts,
  C extends ColumnsOption = ColumnsOption,
  I = NoIndexes,
> extends TypedTable<K, C, I> {
  declare readonly table: Table & SyncTable

  /** As {@link TypedTable.put}, before it returns. */
  putSync(row: RowInput<K, C>, options?: TypedPutOptions): PutReceipt {
    return this.table.putSync(this.rows.put(row, options))
  }

  /** As {@link TypedTable.get}, before it returns. */
  getSync(key: KeyOf<K>, options?: TypedGetOptions<C>): RowOutput<K, C> | undefined {
    return this.rows.rowOf(this.table.getSync(getOf(this.rows, key, options)))
  }

  /** As {@link TypedTable.getList}, before it returns. */
  getListSync(
    keys: readonly KeyOf<K>[],
    options?: TypedGetOptions<C>,
  ): (RowOutput<K, C> | undefined)[] {
    const gets = checkArray(keys, 'keys').map((key) => getOf(this.rows, key, options))
    const results = this.table.getListSync(gets)
    return results.map((result) => this.rows.rowOf(result))
  }

  /** As {@link TypedTable.scan}, without promises. */
  scanSync(options: TypedScanOptions<K, C> = {}): SyncRows<RowOutput<K, C>> {
    return this.table.scanSync(scanOf(this.rows, options)).map((each) => this.rows.fromResult(each))
  }

  /** As {@link TypedTable.delete}, before it returns. */
  deleteSync(key: KeyOf<K>, ...names: readonly (keyof C & string)[]): void {
    this.table.deleteSync(this.rows.delete(key, names))
  }

  /** As {@link TypedTable.increment}, before it returns. */
  incrementSync<N extends CounterName<C>>(
    key: KeyOf<K>,
    name: N,
    amount: number | bigint = 1,
  ): ColumnOutput<C[N]> {
    const counter = counterColumn(this.rows, name)
    checkAmount(counter, amount)
    const row = this.rows.row(key)
    const value = this.table.incrementColumnValueSync(row, counter.column, amount)
    if (isHeld(counter, value)) return countedValue<C, N>(counter, value)
    const { check, action } = takenBack(row, counter, amount)
    this.table.checkAndMutateSync(check, action)
    throw notHeld(counter, value)
  }

  /** As {@link TypedTable.compareAndSet}, before it returns. */
  compareAndSetSync<N extends keyof C & string>(
    key: KeyOf<K>,
    name: N,
    expected: ColumnInput<C[N]> | undefined,
    value: ColumnInput<C[N]> | undefined,
  ): boolean {
    const { check, action } = this.rows.compareAndSet(key, name, expected, value)
    return this.table.checkAndMutateSync(check, action).success
  }
}

function durabilityOfPart(): CellarError {
  return invalidArgument('a mutation of an atomic batch has no durability; the batch has one')
}

function getOf<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  key: KeyOf<K>,
  options?: TypedGetOptions<C>,
): Get {
  if (options === undefined) return { row: rows.rowToRead(key), columns: rows.columnNames }
  refuse(options, 'get', ['row', 'checkExistenceOnly'])
  return { ...options, row: rows.rowToRead(key), columns: rows.columnsOf(options.columns) }
}

/** Options of a plain scan that a typed one has not. */
const plainOnly: readonly string[] = ['startRow', 'stopRow', 'raw', ...partsOptions]
const rangeNames = Object.keys(keyRangeMembers)
const scanNames = Object.keys(scanOptions.schema['properties'] as object)

function scanOf<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  options: TypedScanOptions<K, C>,
): Scan {
  return readArguments(() => {
    refuse(options, 'scan', plainOnly)
    const scan: Record<string, unknown> = {}
    const range: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(options)) {
      if (rangeNames.includes(name)) range[name] = value
      else if (!scanNames.includes(name)) throw unknownOption(name)
      else scan[name] = value
    }
    const span = rowsOfKeys(rows.key, range as KeyRange<K>, options.reversed === true)
    return { ...scan, ...span, columns: rows.columnsOf(options.columns) }
  })
}

/** As of a plain scan. A name that only such a scan has is refused before. */
function unknownOption(name: string): CellarError {
  const known = [...rangeNames, ...scanNames.filter((each) => !plainOnly.includes(each))]
  const meant = meantName(name, known)
  const rest = meant === undefined ? `it has: ${known.join(', ')}` : `did you mean '${meant}'?`
  return invalidArgument(`unknown option '${name}' of a typed scan; ${rest}`)
}

/** What to write instead of options that a typed table has not. */
const instead: Readonly<Record<string, string>> = {
  startRow: 'startKey, with parts of the key',
  stopRow: 'stopKey, with parts of the key',
  row: 'the key as the first argument',
}

function refuse(options: object, call: string, names: readonly string[]): void {
  checkObject(options, `the options of a typed ${call}`)
  for (const name of names) {
    if (!(name in options)) continue
    const advice = instead[name] ?? 'the table of the typed table'
    throw invalidArgument(`a typed ${call} has no option '${name}'; use ${advice}`)
  }
}
