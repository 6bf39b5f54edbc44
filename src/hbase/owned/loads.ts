/**
 * Which rows a mutation names, which of them the owner must read before it can carry the mutation
 * out, and the order of the calls on a row. Arguments that the engine will refuse may be anything
 * here, and load nothing.
 */
import type { BytesLike, ColumnName } from '../../api/index.js'
import { toBytes } from '../../base/bytes.js'

/** A row that a mutation names. */
export interface NamedRow {
  readonly table: string
  readonly row: BytesLike
  /** The columns to read; 'all' for the whole row, undefined for nothing. */
  readonly load: readonly ColumnName[] | 'all' | undefined
}

interface Loose {
  readonly row?: BytesLike
  readonly column?: ColumnName
  readonly columns?: Record<string, unknown> | readonly { readonly column: ColumnName }[]
  readonly columnVersions?: readonly unknown[]
  readonly filter?: unknown
  readonly mutations?: readonly Record<string, Loose>[]
  readonly put?: Loose
  readonly delete?: Loose
  readonly increment?: Loose
  readonly append?: Loose
}

/** The rows of a condition. */
export function rowOfCheck(table: string, check: object): NamedRow {
  const { row, column } = check as Loose
  return { table, row: row!, load: column === undefined ? 'all' : [column] }
}

/** The rows of a mutation of one row: an action, or one of its kinds. */
export function rowsOfMutation(table: string, row: BytesLike, mutation: object): NamedRow[] {
  const { mutations, increment, append, delete: deletion } = mutation as Loose
  if (mutations !== undefined) return mutations.flatMap((each) => rowsOfMutation(table, row, each))
  const update = increment ?? append
  if (update !== undefined) return [{ table, row, load: columnsOf(update) }]
  const isRead = deletion?.columnVersions !== undefined
  return [{ table, row, load: isRead ? 'all' : undefined }]
}

function columnsOf({ columns }: Loose): readonly ColumnName[] {
  if (columns === undefined) return []
  if (Array.isArray(columns)) return columns.map(({ column }: { column: ColumnName }) => column)
  return Object.keys(columns)
}

/** Finds rows with a function; none if the arguments cannot be read. */
export function namedRows(find: () => readonly NamedRow[]): readonly NamedRow[] {
  try {
    return find().map(({ table, row, load }) => ({ table, row: toBytes(row), load }))
  } catch {
    return []
  }
}

/** Calls of a database, of which those on one row run one after the other. */
export class RowOrder {
  /** By row, the end of the last call on it that is not carried out. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs a call when the earlier calls on its rows have been carried out. */
  async run<T>(rows: readonly NamedRow[], call: () => Promise<T>): Promise<T> {
    const names = rows.map(({ table, row }) => `${table}\0${toBytes(row).toString('latin1')}`)
    const earlier = names.map((name) => this.#ends.get(name) ?? Promise.resolve())
    const running = Promise.all(earlier).then(call)
    const ended = running.then(
      () => undefined,
      () => undefined,
    )
    for (const name of names) this.#ends.set(name, ended)
    try {
      return await running
    } finally {
      for (const name of names) if (this.#ends.get(name) === ended) this.#ends.delete(name)
    }
  }
}
