/**
 * Which rows a mutation names, and which of them the owner must read before it can carry the
 * mutation out. Arguments that the engine will refuse may be anything here, and load nothing.
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
