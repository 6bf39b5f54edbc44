/** The rows of a typed table: turns objects into operations, and results into objects. */
import { types } from 'node:util'
import {
  argumentError,
  checkMethods,
  checkObject,
  isBytes,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import { meantName } from '../../base/near-names.js'
import { declareOptions, integer, unchecked, type OptionsOf } from '../../base/options.js'
import type { DurabilityOption } from '../../api/durability.js'
import type {
  Check,
  CheckedAction,
  Delete,
  Put,
  PutValue,
  RowOperation,
} from '../../api/mutations.js'
import type { Result } from '../../api/results/result.js'
import type { Table } from '../../api/table.js'
import { SingleColumnValueFilter } from '../../storage/filter/single-column-filters.js'
import type { KeyPartValue, KeyParts, KeyValues, RowKey } from '../keys/row-key.js'
import type { ColumnInput, ColumnOutput, ColumnsOption, TypedColumn } from './columns.js'
import { validated, type StandardSchema } from './standard-schema.js'

/** The only name of a type with one; else never. */
export type OnlyName<N, All = N> = N extends unknown ? ([All] extends [N] ? N : never) : never

/** The value of the part, for a key that has no other part. */
export type OnlyValue<K extends KeyParts> = KeyPartValue<K[OnlyName<keyof K> & keyof K]>

/** The key of a row: `{ id: 'ada' }`, or `'ada'` alone if the key has one part. */
export type KeyOf<K extends KeyParts> = KeyValues<K> | OnlyValue<K>

/** Values of columns; absent ones stay unchanged. */
export type ColumnInputs<C extends ColumnsOption> = {
  readonly [N in keyof C]?: ColumnInput<C[N]> | undefined
}

/** Values of columns that a read returned; absent if there is none. */
export type ColumnOutputs<C extends ColumnsOption> = {
  readonly [N in keyof C]?: ColumnOutput<C[N]>
}

/** A row to write: its key and some columns. */
export type RowInput<K extends KeyParts, C extends ColumnsOption> = KeyValues<K> & ColumnInputs<C>

/** A row that was read: its key, and the columns that have a value. */
export type RowOutput<K extends KeyParts, C extends ColumnsOption> = KeyValues<K> & ColumnOutputs<C>

const writeMembers = {
  /** Milliseconds. Default: the time of the engine's clock. */
  timestamp: unchecked<number | bigint>(),
  /** Age at which the values end, from 1. Default: that of the column, else of the family. */
  ttlMilliseconds: integer({ min: 1, default: undefined }),
}

/** The options of a put that is part of a transaction. */
export const writeOptions = declareOptions('a put of a transaction', writeMembers)

const putOptions = declareOptions('a typed put', {
  ...writeMembers,
  /** Default: that of the table. */
  durability: unchecked<DurabilityOption>(),
})

const noOptions: TypedPutOptions = {}

/** Options of a put of a typed table. */
export interface TypedPutOptions extends OptionsOf<typeof putOptions> {}

/** A typed table for transactions: the table, and the form of its rows. */
export interface TypedHandle<K extends KeyParts, C extends ColumnsOption> {
  /** The underlying table. */
  readonly table: Table
  /** Turns objects into operations, and results into objects. */
  readonly rows: RowForm<K, C>
}

/** A stored value of a column, or its removal. */
export interface ColumnWrite {
  /** The column. */
  readonly column: TypedColumn
  /** The bytes; undefined removes the value. */
  readonly stored: Uint8Array | undefined
}

/** A row and the stored forms of its values. */
export interface RowWrites {
  /** Key of the row. */
  readonly row: Buffer
  /** One for each given column. */
  readonly writes: readonly ColumnWrite[]
}

/** Rows as objects; the member `rows` of a typed table. All calls throw `ERR_INVALID_ARGUMENT`. */
export class RowForm<K extends KeyParts = KeyParts, C extends ColumnsOption = ColumnsOption> {
  /** The parts of the key. */
  readonly key: RowKey<K>
  /** All columns as `'family:qualifier'`, for reads. */
  readonly columnNames: readonly string[]
  readonly #columns: ReadonlyMap<string, TypedColumn>
  readonly #listed: readonly TypedColumn[]
  readonly #schema: StandardSchema | undefined
  /** A row for messages. */
  readonly #form: string
  /** Whether JSON cannot show all values as they are. */
  readonly #needsJson: boolean

  /** Made by `defineTable`. */
  constructor(key: RowKey<K>, columns: readonly TypedColumn[], schema: StandardSchema | undefined) {
    this.key = key
    this.#listed = columns
    this.#columns = new Map(columns.map((column) => [column.name, column]))
    this.columnNames = Object.freeze(columns.map(({ column }) => column))
    this.#schema = schema
    this.#form = `{ ${[...key.names, ...this.#columns.keys()].join(', ')} }`
    const kinds = [
      ...Object.values(key.parts).map((part) =>
        typeof part === 'string' ? part : part.descending,
      ),
      ...columns.map(({ encoding }) => encoding.name),
    ]
    this.#needsJson = kinds.includes('int64') || kinds.includes('bytes')
  }

  /** The bytes of a key. */
  row(key: KeyOf<K>): Buffer {
    const isValue = typeof key !== 'object' || types.isDate(key) || isBytes(key)
    if (!isValue || this.key.names.length > 1) return this.key.encode(key as KeyValues<K>)
    return this.key.encode({ [this.key.names[0]]: key } as KeyValues<K>)
  }

  /** As {@link row}, for calls that take text as it is. */
  rowToRead(key: KeyOf<K>): string | Buffer {
    return this.key.rowOfText(key) ?? this.row(key)
  }

  /** The column of a property. */
  column(name: string): TypedColumn {
    return this.#columns.get(name) ?? this.#unknown(name)
  }

  /** The columns of some properties as reads name them; all without names. */
  columnsOf(names: readonly string[] | undefined): readonly string[] {
    if (names === undefined) return this.columnNames
    if (!Array.isArray(names) || names.length === 0) {
      throw invalidArgument(
        `columns must be names such as ['${this.#listed[0].name}'], got ${shown(names)}`,
      )
    }
    return names.map((name: string) => this.column(name).column)
  }

  /** The put of a row and its values. */
  put(given: RowInput<K, C>, options?: TypedPutOptions): Put {
    try {
      const members = options === undefined ? noOptions : putOptions.check(options)
      const lifetime = members.ttlMilliseconds
      const cells: Record<string, PutValue> = {}
      let isEmpty = true
      const values = this.#validated(given)
      for (const name in values) {
        const value: unknown = values[name]
        const column = this.#columnOf(name, value)
        if (column === undefined) continue
        const stored = column.encodeForPut(value)
        const ttlMilliseconds = lifetime === undefined ? column.ttlMilliseconds : undefined
        cells[column.column] =
          ttlMilliseconds === undefined ? stored : { value: stored, ttlMilliseconds }
        isEmpty = false
      }
      const row = this.key.rowOfText(values[this.key.names[0]]) ?? this.key.rowOf(values)
      if (isEmpty) throw this.#withoutValue()
      return members === noOptions ? { row, cells } : { row, cells, ...members }
    } catch (error) {
      throw argumentError(error)
    }
  }

  /** The row of an object, and the stored forms of its values, as they are at the call. */
  writesOf(given: RowInput<K, C>): RowWrites {
    return readArguments(() => {
      const writes: ColumnWrite[] = []
      const values = this.#validated(given)
      for (const name in values) {
        const value: unknown = values[name]
        const column = this.#columnOf(name, value)
        if (column !== undefined) writes.push({ column, stored: Buffer.from(column.encode(value)) })
      }
      return { row: this.key.encodeFrom(values), writes }
    })
  }

  /** The values of a row, as the validator of the table makes them. */
  #validated(given: RowInput<K, C>): RowInput<K, C> {
    checkObject(given, 'a row', this.#form)
    if (this.#schema === undefined) return given
    return validated(this.#schema, given, 'the row') as RowInput<K, C>
  }

  /** The column of a value that is given; undefined for a part of the key, and without a value. */
  #columnOf(name: string, value: unknown): TypedColumn | undefined {
    const column = this.#columns.get(name)
    if (column === undefined) {
      if (Object.hasOwn(this.key.parts, name)) return undefined
      this.#unknown(name)
    }
    if (value === null && column.encoding.name !== 'json') throw nullValue(name)
    return value === undefined ? undefined : column
  }

  #withoutValue(): CellarError {
    return invalidArgument(`a put needs a value of a column: ${this.#names()}`)
  }

  /** The delete of some properties or, without names, of the whole row. */
  delete(key: KeyOf<K>, names: readonly string[]): Delete {
    const row = this.row(key)
    return names.length === 0 ? { row } : { row, columns: this.columnsOf(names) }
  }

  /** The check that a column has this stored value, or none. */
  check(row: Buffer, column: TypedColumn, stored: Uint8Array | undefined): Check {
    if (stored === undefined) return { row, column: column.column, notExists: true }
    if (stored.length > 0) return { row, column: column.column, equals: stored }
    // For `equals` an empty value is the same as none.
    const filter = new SingleColumnValueFilter({
      column: column.column,
      operator: 'EQUAL',
      value: '',
      filterIfMissing: true,
    })
    return { row, filter }
  }

  /** The check of a column, and the put or delete that follows if it holds. */
  compareAndSet(key: KeyOf<K>, name: string, expected: unknown, value: unknown): CheckedAction {
    const row = this.row(key)
    const column = this.column(name)
    const before = expected === undefined ? undefined : column.encode(expected)
    const check = this.check(row, column, before)
    if (value === undefined) return { check, action: { delete: { columns: [column.column] } } }
    return { check, action: { put: putOf(column, column.encode(value)) } }
  }

  /** The checks that all columns are as a read returned them. */
  checks(row: Buffer, result: Result): Check[] {
    return this.#listed.map((column) => {
      return this.check(row, column, result.isEmpty ? undefined : result.value(column.column))
    })
  }

  /** All columns. */
  get columns(): readonly TypedColumn[] {
    return this.#listed
  }

  /**
   * Turns a result of the underlying table into a row. Refused are an empty result, and stored
   * values or rows that do not fit.
   */
  fromResult(result: Result): RowOutput<K, C> {
    checkMethods(result, 'the result of a typed table', ['value', 'cells', 'decoded'])
    const row = this.rowOf(result)
    if (row === undefined) throw invalidArgument('an empty result has no row; look at isEmpty')
    return row
  }

  /** The row of a result, of some of the columns if they are given; undefined if it is empty. */
  rowOf(result: Result, columns?: readonly string[]): RowOutput<K, C> | undefined {
    const bytes = result.row
    if (bytes === undefined) return undefined
    const row = this.key.decode(bytes) as Record<string, unknown>
    for (const column of this.#listed) {
      if (columns?.includes(column.column) === false) continue
      const value = column.valueIn(result)
      if (value !== undefined) row[column.name] = value
    }
    return this.shown(row as RowOutput<K, C>)
  }

  /** A row of its key and the stored values of its columns by their names. */
  fromValues(bytes: Buffer, values: Readonly<Record<string, Buffer | undefined>>): RowOutput<K, C> {
    const row = this.key.decode(bytes) as Record<string, unknown>
    for (const column of this.#listed) {
      const stored = values[column.column]
      if (stored !== undefined) row[column.name] = column.decode(stored)
    }
    return this.shown(row as RowOutput<K, C>)
  }

  /** Gives a row its form for JSON, if it needs one. */
  shown(row: RowOutput<K, C>): RowOutput<K, C> {
    return this.#needsJson ? Object.defineProperty(row, 'toJSON', jsonForm) : row
  }

  #names(): string {
    return [...this.#columns.keys()].join(', ')
  }

  #unknown(name: unknown): never {
    if (typeof name !== 'string') {
      throw invalidArgument(
        `a column is named by a text, such as '${this.#listed[0].name}', got ${shown(name)}`,
      )
    }
    if (Object.hasOwn(this.key.parts, name)) {
      throw invalidArgument(
        `'${name}' is a part of the key, and no column; columns: ${this.#names()}`,
      )
    }
    const known = [...this.key.names, ...this.#columns.keys()]
    const near = meantName(name, known)
    const hint = near === undefined ? `it has: ${known.join(', ')}` : `did you mean '${near}'?`
    throw invalidArgument(`no column ${shown(name)} in the typed table; ${hint}`)
  }
}

function nullValue(name: string): CellarError {
  return invalidArgument(
    `'${name}' is null; leave it out to keep its value, or remove it: delete(key, '${name}')`,
  )
}

/** Not enumerable: printing, spreading and comparing a row do not see the form. */
const jsonForm: PropertyDescriptor = {
  value(this: object): object {
    return Object.fromEntries(
      Object.entries(this).map(([name, value]) => [name, jsonValue(value)] as const),
    )
  },
}

/** Bigints as decimal text and bytes as base64. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return isBytes(value) ? Buffer.from(value).toString('base64') : value
}

/** The put of one column. */
export function putOf(
  column: TypedColumn,
  stored: Uint8Array,
  options: Pick<TypedPutOptions, 'timestamp' | 'ttlMilliseconds'> = {},
): RowOperation<Put> {
  const { timestamp, ttlMilliseconds = column.ttlMilliseconds } = options
  return { cells: { [column.column]: stored }, timestamp, ttlMilliseconds }
}
