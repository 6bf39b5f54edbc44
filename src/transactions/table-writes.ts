/** What a transactional write touches: columns to undo, and keys for the detection of conflicts. */
import type { BytesLike, ColumnTarget, Delete } from '../api/index.js'
import { invalidArgument } from './errors.js'

/** A column that a transaction wrote. */
export interface WrittenColumn {
  readonly row: BytesLike
  /** `family:qualifier`. */
  readonly column: string
  readonly timestamp: bigint
}

/**
 * The columns in which a deletion puts empty values: those that it names, and the empty column of
 * each family that goes; without both, of every family.
 */
export function targetsOf(
  deletion: Pick<Delete, 'columns' | 'families'>,
  families: readonly string[],
): string[] {
  const { columns = [], families: deleted = [] } = deletion
  if (columns.length === 0 && deleted.length === 0) return families.map((name) => `${name}:`)
  return [...columns.map(columnName), ...deleted.map((family) => `${familyName(family)}:`)]
}

/** A key of a change set: table and row, and the column if conflicts are looked for there. */
export function conflictKey(table: string, row: BytesLike, column = ''): string {
  const rowText = typeof row === 'string' ? Buffer.from(row, 'utf8') : Buffer.from(row)
  const tableText = Buffer.from(table, 'utf8').toString('latin1')
  const text = `${tableText}\0${rowText.length}\0${rowText.toString('latin1')}`
  return column === '' ? text : text + Buffer.from(column, 'utf8').toString('latin1')
}

function columnName(target: ColumnTarget): string {
  if (typeof target === 'string') {
    if (target.includes(':')) return target
    throw invalidArgument(`a deleted column is named 'family:qualifier', got '${target}'`)
  }
  if (target instanceof Uint8Array || target.timestamp !== undefined) {
    throw invalidArgument('a transaction deletes columns by their names, and no single versions')
  }
  const { family, qualifier = '' } = target
  return `${textOf(family)}:${textOf(qualifier)}`
}

function familyName(target: NonNullable<Delete['families']>[number]): string {
  if (typeof target === 'string' || target instanceof Uint8Array) return textOf(target)
  if (target.timestamp !== undefined) throw invalidArgument('a transaction gives the timestamps')
  return textOf(target.family)
}

function textOf(bytes: BytesLike): string {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')
}
