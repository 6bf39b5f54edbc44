/**
 * The rows of a typed table: columns with encodings, and what turns objects into operations and
 * results into objects.
 */
import { isUtf8 } from 'node:buffer'
import {
  checkText,
  readArguments,
  checkArray,
  checkBytesLike,
  checkObject,
  shown,
} from '../base/arguments.js'
import { invalidArgument, type CellarError } from '../base/errors.js'
import { choice, declareOptions, unchecked, required, type OptionsOf } from '../base/options.js'
import { parseSingleColumn } from '../storage/cell/column-name.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import { shownBytes } from '../api/results/display.js'
import { decodeValue, encodeValue, encodingOf } from '../api/results/encodings.js'
import type { Encoding, EncodingOption, ValueOf } from '../api/results/encodings.js'
import type { DurabilityOption } from '../api/durability.js'
import type { Check, CheckAction, Delete, Put } from '../api/mutations.js'
import type { Get, RowPrefix, RowSpan, Scan, ScanOptions } from '../api/reads.js'
import type { Result } from '../api/results/result.js'

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
  checkText(family, 'the family')
  const columns = readArguments(() => {
    return Object.entries(checkObject(encodings, 'the encodings of a family')).map(
      ([name, encoding]) => [name, { column: `${family}:${name}`, encoding }],
    )
  })
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

/**
 * How the keys of rows are read: `'utf8'` as text, `'bytes'` as Buffers. A row whose key is not
 * UTF-8 is refused by a typed table of text, so a key that was read always names the same row.
 */
export type RowEncoding = 'utf8' | 'bytes'

/** A row that was read: `row`, and the properties whose column has a value. */
export type TypedRow<C extends TypedColumns, R extends RowEncoding = 'utf8'> = {
  /** Key of the row. */
  readonly row: R extends 'bytes' ? Buffer : string
} & TypedValues<C>

/** Options of a typed table. */
export interface TypedTableOptions<R extends RowEncoding = RowEncoding> {
  /** Default 'utf8'. */
  readonly rowEncoding?: R | undefined
}

const putOptions = declareOptions('a typed put', {
  /** Milliseconds. Default: the time of the engine's clock. */
  timestamp: unchecked<number | bigint>(),
  /** Default: that of the table. */
  durability: unchecked<DurabilityOption>(),
})

/** Options of single mutations of a typed table. */
export interface TypedPutOptions extends OptionsOf<typeof putOptions> {}

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

const columnOptions = declareOptions('a typed column', {
  column: required(unchecked<string>()),
  encoding: unchecked<EncodingOption>(),
})

const tableOptions = declareOptions('a typed table', {
  rowEncoding: choice<RowEncoding>(['utf8', 'bytes'], 'utf8'),
})

/** The properties of a typed table. All calls throw `ERR_INVALID_ARGUMENT`. */
export class TypedRows {
  readonly #properties: ReadonlyMap<string, Property>
  readonly #columns: readonly string[]
  readonly #rowEncoding: RowEncoding

  constructor(columns: TypedColumns, options: TypedTableOptions) {
    const entries = Object.entries(checkObject(columns, 'the columns of a typed table'))
    const properties = entries.map(([name, given]) => propertyOf(name, given))
    if (properties.length === 0) throw invalidArgument('a typed table needs a column')
    this.#rowEncoding = tableOptions.read(options).rowEncoding
    this.#properties = new Map(properties.map((property) => [property.name, property]))
    this.#columns = properties.map(({ column }) => column)
  }

  /** The column of a property. */
  columnOf(name: string): string {
    return this.#property(name).column
  }

  /** The put of some properties. */
  put(row: BytesLike, values: object, options: TypedPutOptions): Put {
    const cells: Record<string, Uint8Array> = {}
    for (const [name, value] of Object.entries(checkObject(values, 'the values of a row'))) {
      const { column, encoding } = this.#property(name)
      if (value !== undefined) cells[column] = encodeValue(encoding, value, `column '${column}'`)
    }
    return { ...putOptions.check(options), row: this.key(row), cells }
  }

  /** The get of a row. */
  get(row: BytesLike, options: TypedGetOptions): Get {
    return { ...readOptions(options, 'get'), row: this.key(row), columns: this.#columns }
  }

  /** The gets of some rows. */
  getList(rows: readonly BytesLike[], options: TypedGetOptions): Get[] {
    return checkArray(rows, 'rows').map((row) => this.get(row, options))
  }

  /** The scan of some rows. */
  scan(options: TypedScanOptions): Scan {
    return { ...readOptions(options, 'scan'), columns: this.#columns }
  }

  /** The delete of some properties or, without names, of the row. */
  delete(row: BytesLike, names: readonly string[]): Delete {
    const columns = names.map((name) => this.columnOf(name))
    return names.length === 0 ? { row: this.key(row) } : { row: this.key(row), columns }
  }

  /** The check of a property, and the put or delete that follows if it holds. */
  check(
    row: BytesLike,
    name: string,
    expected: unknown,
    value: unknown,
  ): { readonly check: Check; readonly action: CheckAction } {
    const { column, encoding } = this.#property(name)
    const key = this.key(row)
    const bytesOf = (given: unknown): Uint8Array =>
      encodeValue(encoding, given, `column '${column}'`)
    return {
      check:
        expected === undefined
          ? { row: key, column, notExists: true }
          : { row: key, column, equals: bytesOf(expected) },
      action:
        value === undefined
          ? { delete: { columns: [column] } }
          : { put: { cells: { [column]: bytesOf(value) } } },
    }
  }

  /** Checks the key of a row. */
  key(row: BytesLike): BytesLike {
    checkBytesLike(row, 'row')
    if (this.#rowEncoding === 'utf8' && typeof row !== 'string' && !isUtf8(row)) {
      throw notText(row)
    }
    return row
  }

  /** The row of a result. */
  row(result: Result): { readonly row: string | Buffer } {
    const key = result.row
    if (key === undefined) throw invalidArgument('an empty result has no row; look at isEmpty')
    const row: { row: string | Buffer } & Record<string, unknown> = { row: this.#decodedKey(key) }
    for (const { name, column, encoding } of this.#properties.values()) {
      const stored = result.value(column)
      if (stored !== undefined) row[name] = decodeValue(encoding, stored, `column '${column}'`)
    }
    return row
  }

  #decodedKey(key: Buffer): string | Buffer {
    if (this.#rowEncoding === 'bytes') return key
    if (isUtf8(key)) return key.toString('utf8')
    throw notText(key)
  }

  #property(name: string): Property {
    const property = this.#properties.get(name)
    if (property !== undefined) return property
    const known = [...this.#properties.keys()].join(', ')
    throw invalidArgument(`no property ${shown(name)} in the typed table; it has: ${known}`)
  }
}

function notText(row: Uint8Array): CellarError {
  const key = shownBytes(Buffer.from(row))
  return invalidArgument(
    `the row ${key} is not UTF-8; make the typed table with { rowEncoding: 'bytes' } for such rows`,
  )
}

/** Options of a read whose row and columns the typed table gives. */
function readOptions<T extends object>(options: T, call: string): T {
  checkObject(options, `the options of a typed ${call}`)
  for (const name of ['row', 'columns', 'checkExistenceOnly', 'batch', 'raw']) {
    if (!(name in options)) continue
    throw invalidArgument(
      `a typed ${call} has no option '${name}'; use the table of the typed table`,
    )
  }
  return options
}

function propertyOf(name: string, given: string | TypedColumn): Property {
  if (name === 'row') throw invalidArgument("a property cannot be named 'row': it is the row's key")
  const { column, encoding = 'utf8' } =
    typeof given === 'string' ? { column: given } : columnOptions.check(given)
  if (typeof column !== 'string') {
    throw invalidArgument(`the column of '${name}' must be a string, got ${shown(column)}`)
  }
  parseSingleColumn(column)
  return { name, column, encoding: encodingOf(encoding) }
}
