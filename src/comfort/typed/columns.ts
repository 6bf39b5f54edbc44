/** The columns of a typed table: where values lie, their encodings, lifetimes and validators. */
import { argumentError, checkText, readArguments, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { declareOptions, integer, unchecked } from '../../base/options.js'
import { parseSingleColumn } from '../../storage/cell/column-name.js'
import type { Result } from '../../api/results/result.js'
import { decodeValue, encodeForPut, encodeValue, encodingOf } from '../../api/results/encodings.js'
import type { Encoding, EncodingOption, ValueOf } from '../../api/results/encodings.js'
import {
  checkSchema,
  validated,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from './standard-schema.js'

const columnOptions = declareOptions('a column of a typed table', {
  encoding: unchecked<EncodingOption>(),
  column: unchecked<string>(),
  ttlMilliseconds: integer({ min: 1, default: undefined }),
  schema: unchecked<StandardSchema>(),
})

/** A column of a typed table in the long form. */
export interface ColumnOptions<E extends EncodingOption = EncodingOption, S = unknown> {
  /** Default 'utf8'. */
  readonly encoding?: E | undefined
  /** `'family:qualifier'`. Default: the name of the property, in the first family. */
  readonly column?: string | undefined
  /** Age at which values end, from 1. Default: that of the put, else of the family. */
  readonly ttlMilliseconds?: number | undefined
  /** A validator of zod, valibot or another library with Standard Schema; runs before a write. */
  readonly schema?: S | undefined
}

/** A column: its encoding, or its options. */
export type ColumnOption = EncodingOption | ColumnOptions

/** The columns of a typed table by property. */
export type ColumnsOption = Readonly<Record<string, ColumnOption>>

/** The encoding in the options of a column. */
export type EncodingIn<C> =
  C extends Readonly<Record<'encoding', infer E extends EncodingOption>> ? E : 'utf8'
/** The validator in the options of a column. */
export type SchemaIn<C> =
  C extends Readonly<Record<'schema', infer S extends StandardSchema<never>>> ? S : never
/** The values of the encoding of a column. */
export type ValueIn<C> = C extends EncodingOption ? ValueOf<C> : ValueOf<EncodingIn<C>>

/** The type of the values that callers give for a column. */
export type ColumnInput<C> = [SchemaIn<C>] extends [never] ? ValueIn<C> : SchemaInput<SchemaIn<C>>

/** The type of the values that reads return for a column. */
export type ColumnOutput<C> = [SchemaIn<C>] extends [never] ? ValueIn<C> : SchemaOutput<SchemaIn<C>>

/** A column as calls use it. */
export class TypedColumn {
  /** The property. */
  readonly name: string
  /** `'family:qualifier'`. */
  readonly column: string
  /** Name of the family. */
  readonly family: string
  /** The column's name within its family. */
  readonly qualifier: Buffer
  /** Turns values into bytes. */
  readonly encoding: Encoding<unknown>
  /** Of its own; undefined = of the put or the family. */
  readonly ttlMilliseconds: number | undefined
  readonly #schema: StandardSchema | undefined
  readonly #what: string

  /** `family` is that of columns that name none. Throws `ERR_INVALID_ARGUMENT`. */
  constructor(name: string, given: ColumnOption, family: string) {
    const options = readArguments(() => columnOptions.read(optionsOf(name, given) as never))
    this.name = name
    const column = checkText(options.column ?? `${family}:${name}`, `the column of '${name}'`)
    // The name of a property: V8 finds such a text faster when it becomes one again, in each put.
    this.column = Object.keys({ [column]: 0 })[0]
    const { family: own, escapedQualifier } = parseSingleColumn(this.column)
    this.family = own
    this.qualifier = escapedQualifier
    try {
      this.encoding = encodingOf(options.encoding ?? 'utf8')
    } catch (error) {
      throw invalidArgument(`the column '${name}': ${(argumentError(error) as Error).message}`)
    }
    this.ttlMilliseconds = options.ttlMilliseconds
    this.#what = `'${name}' (column '${this.column}')`
    if (options.schema !== undefined) {
      this.#schema = checkSchema(options.schema, `the schema of '${name}'`)
    }
  }

  /** The stored form of a value. Throws `ERR_INVALID_ARGUMENT`. */
  encode(value: unknown): Uint8Array {
    return encodeValue(this.encoding, this.#validated(value), this.#what)
  }

  /** The stored form of a value for a put, which takes text as it is. As {@link encode}. */
  encodeForPut(value: unknown): string | Uint8Array {
    return encodeForPut(this.encoding, this.#validated(value), this.#what)
  }

  #validated(value: unknown): unknown {
    const schema = this.#schema
    return schema === undefined ? value : validated(schema, value, this.#what)
  }

  /** The value of a stored form. Throws `ERR_INVALID_ARGUMENT`. */
  decode(stored: Buffer): unknown {
    return decodeValue(this.encoding, stored, this.#what)
  }

  /** The value that a result has; undefined if it has none. Throws `ERR_INVALID_ARGUMENT`. */
  valueIn(result: Result): unknown {
    return result.decoded(this.column, this.encoding, this.#what)
  }
}

function optionsOf(name: string, given: unknown): ColumnOptions {
  if (typeof given === 'string') {
    if (!given.includes(':')) return { encoding: given as EncodingOption }
    throw invalidArgument(
      `the column '${name}' needs an encoding; for another place write { column: '${given}' }`,
    )
  }
  if (typeof given !== 'object' || given === null) {
    const form = "an encoding such as 'utf8' or encodings.json(), or { encoding, column }"
    throw invalidArgument(`the column '${name}' must be ${form}, got ${shown(given)}`)
  }
  if ('encode' in given) return { encoding: given as EncodingOption }
  return given
}
