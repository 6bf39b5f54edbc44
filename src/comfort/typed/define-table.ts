/** The definition of a typed table: its key, columns and families, written once. */
import { checkText, readArguments, checkObject, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { declareOptions, required, unchecked } from '../../base/options.js'
import { checkDatabase } from '../../api/capabilities.js'
import type { Database } from '../../api/database.js'
import type { FamilyOptions, TableOptions } from '../../api/schema.js'
import type { SyncTable, Table } from '../../api/table.js'
import type { IndexDeclaration } from '../indexes/declaration.js'
import { defineKey, type KeyParts } from '../keys/row-key.js'
import { TypedColumn, type ColumnsOption } from './columns.js'
import { RowForm, type RowOutput } from './row-form.js'
import { checkSchema, type StandardSchema } from './standard-schema.js'
import {
  declarationsOf,
  ensureIndexes,
  type NoIndexes,
  type TypedIndexesOption,
} from './typed-indexes.js'
import { SyncTypedTable } from './sync-typed-table.js'
import { TypedTable } from './typed-table.js'

const definitionOptions = declareOptions('a definition of a table', {
  name: required(unchecked<string>()),
  key: unchecked<KeyParts>(),
  columns: required(unchecked<ColumnsOption>()),
  families: unchecked<TableOptions['families']>(),
  indexes: unchecked<unknown>(),
  schema: unchecked<StandardSchema>(),
})

/** The key of tables that name none. */
export type DefaultKey = Readonly<Record<'id', 'utf8'>>

/** What {@link defineTable} takes. */
export interface TableDefinitionOptions<
  K extends KeyParts,
  C extends ColumnsOption,
  I = NoIndexes,
> {
  /** Name of the table. */
  readonly name: string
  /**
   * The parts of the row key, the first one first: `{ user: 'utf8', at: 'date' }`. Default `{ id:
   * 'utf8' }`.
   */
  readonly key?: K | undefined
  /** The columns by property: encodings such as `'utf8'`, or options. */
  readonly columns: C
  /**
   * Options of the families: lifetime, versions, compression. Families that only columns name have
   * the defaults. Columns without a place lie in the first family. Default: the family `f`.
   */
  readonly families?: Readonly<Record<string, FamilyOptions>> | undefined
  /**
   * Indexes by name: `{ byCity: ['city', 'born'], byMail: { key: ['mail'], unique: true } }`. A row
   * is found by each element of a column of JSON arrays. Needs the embedded engine.
   */
  readonly indexes?: I | undefined
  /** A validator of whole rows as they are given to `put` and `update`. */
  readonly schema?: StandardSchema<never, unknown> | undefined
}

/** The typed table of a database: with synchronous forms if the tables of the backend have them. */
export type TypedTableOf<
  T extends Table,
  K extends KeyParts,
  C extends ColumnsOption,
  I = NoIndexes,
> = T extends SyncTable ? SyncTypedTable<K, C, I> : TypedTable<K, C, I>

/** The type of the rows that a typed table or a definition reads. */
export type RowOf<D> = D extends {
  /** Turns objects into operations, and results into objects. */
  readonly rows: RowForm<infer K, infer C>
}
  ? RowOutput<K, C>
  : never

/** A definition that any number of databases can open; made by {@link defineTable}. */
export class TableDefinition<
  K extends KeyParts = KeyParts,
  C extends ColumnsOption = ColumnsOption,
  I = NoIndexes,
> {
  /** Name of the table. */
  readonly name: string
  /** Turns objects into operations, and results into objects. */
  readonly rows: RowForm<K, C>
  readonly #families: Record<string, FamilyOptions>
  readonly #indexes: readonly IndexDeclaration[]

  /** As {@link defineTable}. */
  constructor(options: TableDefinitionOptions<K, C, I>) {
    const { name, key, columns, families, indexes, schema } = readArguments(() => {
      const form = "{ name: 'users', columns: { name: 'utf8' } }"
      return definitionOptions.read(checkObject(options, 'a definition of a table', form))
    })
    this.name = checkText(name, 'the name of a table')
    const given = families === undefined ? {} : checkObject(families, 'families', '{ f: {} }')
    this.#families = { ...(given as Record<string, FamilyOptions>) }
    const first = Object.keys(this.#families)[0] ?? 'f'
    const parts = defineKey((key ?? { id: 'utf8' }) as K)
    const listed = readArguments(() => {
      const form = "{ name: 'utf8', visits: 'integer' }"
      return Object.entries(checkObject(columns, 'the columns of a table', form)).map(
        ([property, option]) => new TypedColumn(property, option, first),
      )
    })
    checkColumns(parts.names, listed)
    for (const { family } of listed) this.#families[family] ??= {}
    const validator =
      schema === undefined ? undefined : checkSchema(schema, 'the schema of a table')
    this.rows = new RowForm(parts, listed, validator)
    this.#indexes = indexes === undefined ? [] : declarationsOf(indexes, this.rows)
  }

  /**
   * The table of a database. Makes it if it does not exist, adds families and indexes that it
   * lacks, and waits until the indexes are built. Errors of `Admin.ensureTable`; those of
   * `Indexes.create`, and `ERR_INDEX_EXISTS` for an index that has another key in the database.
   */
  async open<T extends Table>(database: Database<T>): Promise<TypedTableOf<T, K, C, I>> {
    checkDatabase(database, `the table '${this.name}'`)
    const table = await database.admin.ensureTable(this.name, { families: this.#families })
    const indexes = await ensureIndexes(database, this.name, this.#indexes)
    const made = database.capabilities.sync
      ? new SyncTypedTable(database, table, this.rows, indexes)
      : new TypedTable(database, table, this.rows, indexes)
    return made as TypedTableOf<T, K, C, I>
  }
}

function checkColumns(parts: readonly string[], columns: readonly TypedColumn[]): void {
  if (columns.length === 0) throw invalidArgument("a table needs a column, such as { v: 'json' }")
  const places = new Map<string, string>()
  for (const { name, column } of columns) {
    if (parts.includes(name)) {
      throw invalidArgument(`${shown(name)} is a part of the key and a column; rename one of them`)
    }
    const other = places.get(column)
    if (other !== undefined) {
      throw invalidArgument(`'${name}' and '${other}' have one column, '${column}'`)
    }
    places.set(column, name)
  }
}

/**
 * Defines a typed table once: key, columns and families. Types of rows are inferred.
 * `ERR_INVALID_ARGUMENT`.
 *
 *     const users = await defineTable({
 *       name: 'users',
 *       columns: { name: 'utf8', visits: 'integer', tags: encodings.json<string[]>() },
 *     }).open(db)
 *     await users.put({ id: 'ada', name: 'Ada', visits: 1 })
 */
export function defineTable<
  const C extends ColumnsOption,
  const K extends KeyParts = DefaultKey,
  const I extends TypedIndexesOption<C> = NoIndexes,
>(options: TableDefinitionOptions<K, C, I>): TableDefinition<K, C, I> {
  return new TableDefinition(options)
}
