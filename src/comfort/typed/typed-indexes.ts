/**
 * Indexes of a typed table: declared with the table by the names of its columns, built when the
 * table is opened, and answered with rows as objects.
 */
import { checkArray, checkObject, checkText, readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode, hasCode, invalidArgument } from '../../base/errors.js'
import {
  boolean,
  checked,
  choice,
  declareOptions,
  list,
  required,
  unchecked,
  type OptionsOf,
} from '../../base/options.js'
import { encodingOf } from '../../api/results/encodings.js'
import type { Database } from '../../api/database.js'
import type { SyncTable, Table } from '../../api/table.js'
import {
  planIndex,
  type IndexDeclaration,
  type IndexPart,
  type IndexPlan,
} from '../indexes/declaration.js'
import { storedEncodings } from '../indexes/entry-values.js'
import { openIndexes, type Indexes } from '../indexes/indexes.js'
import type {
  IndexKey,
  IndexPage,
  IndexRange,
  RowQuery,
  TableIndex,
} from '../indexes/table-index.js'
import type { KeyPartName, KeyPartTypes, KeyParts, KeyPartValue } from '../keys/row-key.js'
import type { ColumnOutput, ColumnsOption, TypedColumn } from './columns.js'
import type { RowForm, RowOutput } from './row-form.js'

/** A part of an index of a typed table; the same members as those of `IndexPart`. */
export interface TypedIndexPart<C extends ColumnsOption> extends Partial<
  Pick<IndexPart, 'path' | 'as' | 'descending'>
> {
  /** The property whose value is the part. */
  readonly column: keyof C & string
  /** Of JSON: whether each element of an array is a value of the part. Default true. */
  readonly each?: boolean | undefined
}

/** The parts of an index, the first one first: names of properties, or options. */
export type TypedIndexParts<C extends ColumnsOption> = readonly (
  | (keyof C & string)
  | TypedIndexPart<C>
)[]

/** An index of a typed table. */
export interface TypedIndexOptions<C extends ColumnsOption> {
  /** The parts, the first one first. */
  readonly key: TypedIndexParts<C>
  /** Whether no two rows may have the same key. Default false. */
  readonly unique?: boolean | undefined
  /** Properties that the entries hold too, so that `entries` need not read rows. Default none. */
  readonly stored?: readonly (keyof C & string)[] | undefined
}

/** An index: its parts, or options. */
export type TypedIndexOption<C extends ColumnsOption> = TypedIndexParts<C> | TypedIndexOptions<C>

/** The indexes of a typed table by name. */
export type TypedIndexesOption<C extends ColumnsOption> = Readonly<
  Record<string, TypedIndexOption<C>>
>

/** The indexes of a definition that has none. */
export type NoIndexes = Readonly<Record<never, never>>

/** The parts of the declaration of an index. */
export type PartsIn<O> = O extends readonly unknown[]
  ? O[number]
  : O extends Readonly<Record<'key', infer P extends readonly unknown[]>>
    ? P[number]
    : never

/** The property of a part. */
export type PartName<P> = P extends string
  ? P
  : P extends Readonly<Record<'column', infer N extends string>>
    ? N
    : never

/** The values of a part: those of its column, or of the kind that `as` names for JSON. */
export type PartValue<V, P> =
  P extends Readonly<Record<'as', infer A extends KeyPartName>>
    ? KeyPartValue<A>
    : V extends KeyPartTypes[KeyPartName]
      ? V
      : string

/** The properties that the entries of an index hold. */
export type StoredIn<O> =
  O extends Readonly<Record<'stored', infer S extends readonly string[]>> ? S[number] : never

/** Some leading parts of the key of an index; of a column of JSON arrays one element. */
export type TypedIndexKey<C extends ColumnsOption, O> = {
  readonly [P in PartsIn<O> as PartName<P>]?:
    | PartValue<ColumnOutput<C[PartName<P> & keyof C]>, P>
    | undefined
}

/** A range of an index; the members of `IndexRange`. */
export interface TypedIndexRange<C extends ColumnsOption, O> extends Pick<
  IndexRange,
  'startInclusive' | 'stopInclusive'
> {
  /** Parts that all rows of the range have. */
  readonly prefix?: TypedIndexKey<C, O> | undefined
  /** As `prefix`, but the last part is the beginning of a text or of bytes. */
  readonly startsWith?: TypedIndexKey<C, O> | undefined
  /** Where the range begins; its greatest key for a reversed query. */
  readonly startKey?: TypedIndexKey<C, O> | undefined
  /** Where the range ends; its smallest key for a reversed query. */
  readonly stopKey?: TypedIndexKey<C, O> | undefined
}

/** A query of the entries of an index: a range, a direction and a page. */
export interface TypedEntryQuery<C extends ColumnsOption, O>
  extends TypedIndexRange<C, O>, Pick<RowQuery, 'reversed' | 'limit' | 'page'> {}

/** A query of the rows of an index. */
export interface TypedIndexQuery<C extends ColumnsOption, O> extends TypedEntryQuery<C, O> {
  /** The properties to read. Default all. */
  readonly columns?: readonly (keyof C & string)[] | undefined
}

/** An entry of an index: what a query knows without a look at the row. */
export interface TypedIndexEntry<K extends KeyParts, C extends ColumnsOption, O> {
  /** The parts of its key. */
  readonly key: Required<TypedIndexKey<C, O>>
  /** The key of the row, and the stored properties that have a value. */
  readonly row: RowOutput<K, Pick<C, StoredIn<O> & keyof C>>
}

const indexOptions = declareOptions('an index of a typed table', {
  key: required(unchecked<readonly unknown[]>()),
  unique: boolean(false),
  stored: list(checked(checkText, ''), []),
})

const partOptions = declareOptions('a part of an index of a typed table', {
  column: required(checked(checkText)),
  path: list(checked(checkText, ''), []),
  each: boolean(true),
  as: choice<KeyPartName, undefined>(['utf8', 'integer', 'double', 'boolean', 'date'], undefined),
  descending: boolean(false),
})

/** The declarations of the indexes of a typed table. Throws `ERR_INVALID_ARGUMENT`. */
export function declarationsOf(
  indexes: unknown,
  rows: Pick<RowForm, 'column'>,
): IndexDeclaration[] {
  return readArguments(() => {
    const given = checkObject(indexes as object, 'the indexes of a table', "{ byCity: ['city'] }")
    return Object.entries(given).map(([name, option]) => declarationOf(name, option, rows))
  })
}

function declarationOf(
  name: string,
  option: unknown,
  rows: Pick<RowForm, 'column'>,
): IndexDeclaration {
  const what = `the index '${name}'`
  const given = Array.isArray(option)
    ? { key: option as unknown[] }
    : checkObject(option as Partial<IndexOptions>, what, "['city'], or { key: ['city'] }")
  const { key, unique, stored } = indexOptions.read(given as IndexOptions)
  const parts = checkArray(key, `the key of ${what}`).map((part) => partOf(what, part, rows))
  const declaration = {
    name,
    unique,
    key: Object.fromEntries(parts),
    stored: stored.map((property) => columnOf(what, property, rows).column),
  }
  if (Object.keys(declaration.key).length < parts.length) {
    throw invalidArgument(`${what} names a column twice`)
  }
  planIndex(declaration)
  return declaration
}

type IndexOptions = OptionsOf<typeof indexOptions>

function partOf(what: string, given: unknown, rows: Pick<RowForm, 'column'>): [string, IndexPart] {
  const option =
    typeof given === 'string'
      ? { column: given }
      : checkObject(given as OptionsOf<typeof partOptions>, `a part of ${what}`, "'city'")
  const { column: name, path, each, as, descending } = partOptions.read(option)
  const { column, encoding } = columnOf(what, name, rows)
  const stored = storedEncodings.find((known) => encodingOf(known) === encoding)
  if (stored === undefined) {
    throw invalidArgument(
      `${what} needs a column of an encoding of the package; '${name}' has its own, ${encoding.name}`,
    )
  }
  return [name, { column, encoding: stored, path, each: stored === 'json' && each, as, descending }]
}

function columnOf(what: string, name: string, rows: Pick<RowForm, 'column'>): TypedColumn {
  const column = rows.column(name)
  if (column.ttlMilliseconds === undefined) return column
  throw invalidArgument(
    `${what} has the column '${name}', whose values have a lifetime; give its family ttlMilliseconds`,
  )
}

/** The indexes of databases whose typed tables have some. */
const homes = new WeakMap<Database, Promise<Indexes>>()

function indexesOfDatabase(database: Database): Promise<Indexes> {
  let home = homes.get(database)
  if (home === undefined) {
    home = openIndexes(database as Database<Table & SyncTable>)
    homes.set(database, home)
    home.catch(() => homes.delete(database))
  }
  return home
}

/**
 * The indexes of a table by name, built and ready. `ERR_INDEX_EXISTS` if the table has an index of
 * the name with another key; errors of `Indexes.create` and `TableIndex.ready`.
 */
export async function ensureIndexes(
  database: Database,
  table: string,
  declarations: readonly IndexDeclaration[],
): Promise<Map<string, TableIndex>> {
  const found = new Map<string, TableIndex>()
  if (declarations.length === 0) return found
  const indexes = await indexesOfDatabase(database)
  for (const declaration of declarations) {
    found.set(declaration.name, await ensureIndex(indexes, table, declaration))
  }
  for (const index of found.values()) await index.ready()
  return found
}

async function ensureIndex(
  indexes: Indexes,
  table: string,
  declaration: IndexDeclaration,
): Promise<TableIndex> {
  const { name } = declaration
  const known = (await indexes.list(table)).find(({ declaration: other }) => other.name === name)
  if (known === undefined) {
    try {
      return await indexes.create(table, declaration)
    } catch (error) {
      if (!hasCode(error, ErrorCode.indexExists)) throw error
      return ensureIndex(indexes, table, declaration)
    }
  }
  if (!areEqual(planIndex(declaration), planIndex(known.declaration))) {
    throw new CellarError(
      ErrorCode.indexExists,
      `table '${table}' has an index '${name}' with another key; choose another name, ` +
        `or remove it: (await openIndexes(db)).drop('${table}', '${name}')`,
    )
  }
  if (known.state === 'failed') await indexes.rebuild(table, name)
  return indexes.index(table, name)
}

/** Whether two indexes have the same entries. */
function areEqual(some: IndexPlan, other: IndexPlan): boolean {
  const [left, right] = [some, other].map(({ unique, parts, stored }) => {
    // Functions have no JSON; all that they do depends on the members that have.
    return JSON.stringify([unique, parts, stored])
  })
  return left === right
}

/** An index of a typed table; from `TypedTable.index`. Errors of `TableIndex`. */
export class TypedIndex<K extends KeyParts, C extends ColumnsOption, O = TypedIndexOption<C>> {
  /** The underlying index, for its state and verification. */
  readonly index: TableIndex
  readonly #rows: RowForm<K, C>

  /** @internal Made by `TypedTable.index`. */
  constructor(index: TableIndex, rows: RowForm<K, C>) {
    this.index = index
    this.#rows = rows
  }

  /** Rows in the order of the index, and the token for the next page. */
  async rows(query: TypedIndexQuery<C, O> = {}): Promise<IndexPage<RowOutput<K, C>>> {
    const given = checkObject(query, 'a query by an index', '{ prefix: { city: … } }')
    const columns = this.#rows.columnsOf(given.columns)
    const { rows, next } = await this.index.rows({ ...(given as RowQuery), columns })
    // A result has the columns of the index too.
    return { rows: rows.map((result) => this.#rows.rowOf(result, columns)!), next }
  }

  /** The first row with these parts; undefined if there is none. */
  async get(prefix: TypedIndexKey<C, O>): Promise<RowOutput<K, C> | undefined> {
    const form = '{ city: … }'
    const given = checkObject(prefix, 'the key of an index', form) as IndexKey
    const { rows } = await this.index.rows({
      prefix: given,
      limit: 1,
      columns: this.#rows.columnNames,
    })
    return rows.length === 0 ? undefined : this.#rows.fromResult(rows[0])
  }

  /** Entries in the order of the index, without a look at the rows; see `TableIndex.entries`. */
  async entries(query: TypedEntryQuery<C, O> = {}): Promise<IndexPage<TypedIndexEntry<K, C, O>>> {
    const { rows, next } = await this.index.entries(query)
    const typed = rows.map(({ key, row, stored }) => {
      return { key, row: this.#rows.fromValues(row, stored) }
    })
    return { rows: typed as unknown as TypedIndexEntry<K, C, O>[], next }
  }

  /** Number of entries in a range, without a look at the rows. */
  count(range: TypedIndexRange<C, O> = {}): Promise<number> {
    return this.index.count(range)
  }
}
