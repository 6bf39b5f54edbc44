/**
 * A typed table: rows as objects whose properties are columns with encodings.
 *
 * It works with any backend's {@link Table} and adds no operation. Other operations use {@link
 * TypedTable.table}.
 */
import { OptionNames, checkObject, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import { parseSingleColumn } from '../cell/column-name.js'
import type { BytesLike } from '../cell/column-name.js'
import type { AsyncRows } from './async-rows.js'
import { decodeValue, encodeValue, encodingOf } from './encodings.js'
import type { Encoding, EncodingOption, ValueOf } from './encodings.js'
import type { Check, CheckAction, Delete, DurabilityOption } from './mutations.js'
import type { Get, RowPrefix, RowSpan, Scan, ScanOptions } from './reads.js'
import type { Result } from './result.js'
import type { SyncRows } from './sync-rows.js'
import type { SyncTable, Table } from './table.js'

/** One property of a typed row: its column, and the encoding of its values. */
export interface TypedColumn<E extends EncodingOption = EncodingOption> {
  /** `'family:qualifier'`. */
  readonly column: string
  /** Default 'utf8'. */
  readonly encoding?: E | undefined
}

/** The properties of the rows of a typed table: a column, or a column with its encoding. */
export type TypedColumns = Readonly<Record<string, string | TypedColumn>>

/** The columns of {@link columnsOf}. */
export type FamilyColumns<E extends Readonly<Record<string, EncodingOption>>> = {
  readonly [K in keyof E]: {
    /** `'family:qualifier'`. */
    readonly column: string
    /** The encoding of its values. */
    readonly encoding: E[K]
  }
}

/**
 * Columns of one family for {@link typedTable}, from encodings by qualifier: `columnsOf('f', {
 * name: 'utf8', visits: 'int64' })`.
 */
export function columnsOf<const E extends Readonly<Record<string, EncodingOption>>>(
  family: string,
  encodings: E,
): FamilyColumns<E> {
  const columns = Object.entries(checkObject(encodings, 'the encodings of a family')).map(
    ([name, encoding]) => [name, { column: `${family}:${name}`, encoding }],
  )
  return Object.fromEntries(columns) as FamilyColumns<E>
}

/** The type of the values of one property. */
export type PropertyValue<C> = C extends string
  ? string
  : C extends {
        /** The encoding of the property. */
        readonly encoding: infer E
      }
    ? ValueOf<E>
    : string

/** A row to write: absent properties stay unchanged. */
export type TypedValues<C extends TypedColumns> = {
  readonly [K in keyof C]?: PropertyValue<C[K]> | undefined
}

/** A row that was read: `row`, and the properties whose column has a value. */
export type TypedRow<C extends TypedColumns> = {
  /** Key of the row. */
  readonly row: string
} & TypedValues<C>

/** Options of single mutations of a typed table. */
export interface TypedPutOptions {
  /** Milliseconds. Default: the time of the engine's clock. */
  readonly timestamp?: number | bigint | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/** Options of a get of a typed table: those of {@link Get} without row and columns. */
export type TypedGetOptions = Omit<Get, 'row' | 'columns' | 'checkExistenceOnly'>

/** Options of a scan of a typed table: those of {@link Scan} without columns, `batch` and `raw`. */
export type TypedScanOptions = Omit<ScanOptions, 'columns' | 'batch' | 'raw'> &
  (RowSpan | RowPrefix)

interface Property {
  readonly name: string
  readonly column: string
  readonly encoding: Encoding<unknown>
}

const columnNames = new OptionNames<TypedColumn>('a typed column', { column: true, encoding: true })
const putNames = new OptionNames<TypedPutOptions>('a typed put', {
  timestamp: true,
  durability: true,
})

/** Rows as objects; made by {@link typedTable}. */
export class TypedTable<C extends TypedColumns> {
  /** The underlying table, for operations that are missing here. */
  readonly table: Table
  readonly #properties: ReadonlyMap<string, Property>
  /** @internal */
  readonly columns: readonly string[]

  /** @internal Made by {@link typedTable}. */
  constructor(table: Table, columns: C) {
    const properties = Object.entries(columns).map(([name, given]) => propertyOf(name, given))
    if (properties.length === 0) throw invalidArgument('a typed table needs a column')
    this.table = table
    this.#properties = new Map(properties.map((property) => [property.name, property]))
    this.columns = properties.map(({ column }) => column)
  }

  /**
   * Writes the given properties of a row; the others keep their values. Throws
   * `ERR_INVALID_ARGUMENT` for an unknown property or a value that does not fit its encoding; other
   * errors as `Table.put`.
   */
  async put(row: BytesLike, values: TypedValues<C>, options: TypedPutOptions = {}): Promise<void> {
    const cells = this.cellsOf(values)
    await this.table.put({ ...putNames.copy(options), row, cells })
  }

  /** The row; undefined if none of its properties has a value. Errors of `Table.get`. */
  async get(row: BytesLike, options: TypedGetOptions = {}): Promise<TypedRow<C> | undefined> {
    const result = await this.table.get({ ...options, row, columns: this.columns })
    return result.isEmpty ? undefined : this.fromResult(result)
  }

  /** The rows by index; undefined where there is none. Errors of `Table.getList`. */
  async getList(
    rows: readonly BytesLike[],
    options: TypedGetOptions = {},
  ): Promise<(TypedRow<C> | undefined)[]> {
    const gets = rows.map((row) => ({ ...options, row, columns: this.columns }))
    const results = await this.table.getList(gets)
    return results.map((result) => (result.isEmpty ? undefined : this.fromResult(result)))
  }

  /** Rows in order, with `.all()` and the other iterator helpers. Errors of `Table.scan`. */
  scan(options: TypedScanOptions = {}): AsyncRows<TypedRow<C>> {
    const scan: Scan = { ...options, columns: this.columns }
    return this.table.scan(scan).map((result) => this.fromResult(result))
  }

  /**
   * Removes the named properties of a row; without names the whole row, including other columns.
   * Errors of `Table.delete`.
   */
  async delete(row: BytesLike, ...names: readonly (keyof C & string)[]): Promise<void> {
    await this.table.delete(this.deletionOf(row, names))
  }

  /** Adds to a property with the encoding int64. Returns the new value. */
  async increment(
    row: BytesLike,
    name: keyof C & string,
    amount: number | bigint = 1,
  ): Promise<bigint> {
    return this.table.incrementColumnValue(row, this.property(name).column, amount)
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
    expected: PropertyValue<C[K]> | undefined,
    value: PropertyValue<C[K]> | undefined,
  ): Promise<boolean> {
    const { check, action } = this.checkOf(row, name, expected, value)
    return (await this.table.checkAndMutate(check, action)).success
  }

  /**
   * Turns a result of {@link TypedTable.table} into a typed row. Throws `ERR_INVALID_ARGUMENT` if a
   * stored value does not fit its encoding.
   */
  fromResult(result: Result): TypedRow<C> {
    const row: Record<string, unknown> = { row: result.row?.toString('utf8') ?? '' }
    for (const { name, column, encoding } of this.#properties.values()) {
      const stored = result.value(column)
      if (stored !== undefined) row[name] = decodeValue(encoding, stored, `column '${column}'`)
    }
    return row as TypedRow<C>
  }

  /** @internal */
  cellsOf(values: TypedValues<C>): Record<string, Uint8Array> {
    const cells: Record<string, Uint8Array> = {}
    for (const [name, value] of Object.entries(checkObject(values, 'the values of a row'))) {
      const { column, encoding } = this.property(name)
      if (value !== undefined) cells[column] = encodeValue(encoding, value, `column '${column}'`)
    }
    return cells
  }

  /** @internal */
  deletionOf(row: BytesLike, names: readonly string[]): Delete {
    const columns = names.map((name) => this.property(name).column)
    return names.length === 0 ? { row } : { row, columns }
  }

  /** @internal */
  checkOf(
    row: BytesLike,
    name: string,
    expected: unknown,
    value: unknown,
  ): { readonly check: Check; readonly action: CheckAction } {
    const { column, encoding } = this.property(name)
    const bytesOf = (given: unknown): Uint8Array =>
      encodeValue(encoding, given, `column '${column}'`)
    return {
      check:
        expected === undefined
          ? { row, column, notExists: true }
          : { row, column, equals: bytesOf(expected) },
      action:
        value === undefined
          ? { delete: { columns: [column] } }
          : { put: { cells: { [column]: bytesOf(value) } } },
    }
  }

  /** @internal */
  property(name: string): Property {
    const property = this.#properties.get(name)
    if (property !== undefined) return property
    const known = [...this.#properties.keys()].join(', ')
    throw invalidArgument(`no property ${shown(name)} in the typed table; it has: ${known}`)
  }
}

/** A typed table with the synchronous forms too; made by {@link typedTable}. */
export class SyncTypedTable<C extends TypedColumns> extends TypedTable<C> {
  declare readonly table: Table & SyncTable

  /** @internal Made by {@link typedTable}. */
  constructor(table: Table & SyncTable, columns: C) {
    super(table, columns)
  }

  /** As {@link TypedTable.put}, before it returns. */
  putSync(row: BytesLike, values: TypedValues<C>, options: TypedPutOptions = {}): void {
    const cells = this.cellsOf(values)
    this.table.putSync({ ...putNames.copy(options), row, cells })
  }

  /** As {@link TypedTable.get}, before it returns. */
  getSync(row: BytesLike, options: TypedGetOptions = {}): TypedRow<C> | undefined {
    const result = this.table.getSync({ ...options, row, columns: this.columns })
    return result.isEmpty ? undefined : this.fromResult(result)
  }

  /** As {@link TypedTable.getList}, before it returns. */
  getListSync(
    rows: readonly BytesLike[],
    options: TypedGetOptions = {},
  ): (TypedRow<C> | undefined)[] {
    const gets = rows.map((row) => ({ ...options, row, columns: this.columns }))
    const results = this.table.getListSync(gets)
    return results.map((result) => (result.isEmpty ? undefined : this.fromResult(result)))
  }

  /** As {@link TypedTable.scan}, without promises. */
  scanSync(options: TypedScanOptions = {}): SyncRows<TypedRow<C>> {
    const scan: Scan = { ...options, columns: this.columns }
    return this.table.scanSync(scan).map((result) => this.fromResult(result))
  }

  /** As {@link TypedTable.delete}, before it returns. */
  deleteSync(row: BytesLike, ...names: readonly (keyof C & string)[]): void {
    this.table.deleteSync(this.deletionOf(row, names))
  }

  /** As {@link TypedTable.compareAndSet}, before it returns. */
  compareAndSetSync<K extends keyof C & string>(
    row: BytesLike,
    name: K,
    expected: PropertyValue<C[K]> | undefined,
    value: PropertyValue<C[K]> | undefined,
  ): boolean {
    const { check, action } = this.checkOf(row, name, expected, value)
    return this.table.checkAndMutateSync(check, action).success
  }

  /** As {@link TypedTable.increment}, before it returns. */
  incrementSync(row: BytesLike, name: keyof C & string, amount: number | bigint = 1): bigint {
    return this.table.incrementColumnValueSync(row, this.property(name).column, amount)
  }
}

function propertyOf(name: string, given: string | TypedColumn): Property {
  if (name === 'row') throw invalidArgument("a property cannot be named 'row': it is the row's key")
  const { column, encoding = 'utf8' } =
    typeof given === 'string' ? { column: given } : columnNames.copy(given)
  if (typeof column !== 'string') {
    throw invalidArgument(`the column of '${name}' must be a string, got ${shown(column)}`)
  }
  parseSingleColumn(column)
  return { name, column, encoding: encodingOf(encoding) }
}

/**
 * Rows of `table` as objects: each property is a column, `'family:qualifier'` for text or with an
 * `encoding` for other values. `ERR_INVALID_ARGUMENT`.
 *
 *     const users = typedTable(db.table('users'), {
 *       name: 'f:name',
 *       visits: { column: 'f:visits', encoding: 'int64' },
 *     })
 *     await users.put('ada', { name: 'Ada', visits: 1n })
 */
export function typedTable<const C extends TypedColumns>(
  table: Table & SyncTable,
  columns: C,
): SyncTypedTable<C>
/** The same over a table without synchronous forms, as of a remote backend. */
export function typedTable<const C extends TypedColumns>(table: Table, columns: C): TypedTable<C>
export function typedTable<const C extends TypedColumns>(table: Table, columns: C): TypedTable<C> {
  checkObject(columns, 'the columns of a typed table')
  return 'getSync' in checkObject(table, 'the table of a typed table')
    ? new SyncTypedTable(table as Table & SyncTable, columns)
    : new TypedTable(table, columns)
}
