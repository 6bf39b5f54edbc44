/** Changes of one row: the cells of a mutation by row, and their meaning in a typed table. */
import type { Change, ChangedCell } from '../../api/changes.js'
import type { Result } from '../../api/results/result.js'
import type { KeyParts, KeyValues } from '../keys/row-key.js'
import type { ColumnsOption } from '../typed/columns.js'
import type { ColumnOutputs, RowForm } from '../typed/row-form.js'

/** What one mutation did to one row; or a row as it was when a projection began. */
export interface RowChange {
  /** Of the mutation; the rows of one mutation have the same. */
  readonly sequence: number
  /** That the clock gave to the mutation, in milliseconds; undefined if cells had their own. */
  readonly timestamp: number | undefined
  /** Key of the row. */
  readonly row: Buffer
  /** In the order of the mutation; of a first row its newest values. */
  readonly cells: readonly ChangedCell[]
  /** Whether this is a row that was there before the first mutation of the projection. */
  readonly isFirst: boolean
}

/** A change of a row of a typed table. */
export interface TypedRowChange<
  K extends KeyParts = KeyParts,
  C extends ColumnsOption = ColumnsOption,
> extends RowChange {
  /** The key of the row. */
  readonly key: KeyValues<K>
  /** The values that the mutation put. */
  readonly written: ColumnOutputs<C>
  /** The properties whose values the mutation removed: some may have had none. */
  readonly removed: readonly (keyof C & string)[]
  /**
   * Whether the row now has the written values and lacks the removed ones. False for mutations with
   * timestamps of their own and for deletes of single versions; read the row then.
   */
  readonly isExact: boolean
}

/** The changes of the rows of one mutation, in the order in which it names them. */
export function rowChanges({ sequence, timestamp, cells }: Change): RowChange[] {
  const byRow = new Map<string, { row: Buffer; cells: ChangedCell[] }>()
  for (const cell of cells) {
    const name = cell.row.toString('latin1')
    let found = byRow.get(name)
    if (found === undefined) byRow.set(name, (found = { row: cell.row, cells: [] }))
    found.cells.push(cell)
  }
  return Array.from(byRow.values(), (each) => ({ sequence, timestamp, ...each, isFirst: false }))
}

/** A row that was there before the first mutation of a projection. */
export function firstRow(table: string, sequence: number, result: Result): RowChange {
  const cells = result.cells().map((cell) => {
    const { row, family, qualifier, timestamp, timestampExact, type, value } = cell
    const place = { table, row, family, qualifier, timestamp, timestampExact, type }
    return { ...place, value, ttlMilliseconds: 0, sequence: cell.sequence }
  })
  return { sequence, timestamp: undefined, row: Buffer.from(result.row!), cells, isFirst: true }
}

/** The meaning of a change in a typed table. `ERR_INVALID_ARGUMENT` for values that do not fit. */
export function typedChange<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  change: RowChange,
): TypedRowChange<K, C> {
  const written: Record<string, unknown> = {}
  const removed = new Set<string>()
  let isExact = true
  for (const { type, family, qualifier, value, timestamp } of change.cells) {
    if (!change.isFirst && timestamp !== change.timestamp) isExact = false
    if (type === 'Delete' || type === 'DeleteFamilyVersion') isExact = false
    for (const column of rows.columns) {
      const isOfFamily = column.family === family
      const isMeant = isOfFamily && (type === 'DeleteFamily' || column.qualifier.equals(qualifier))
      if (!isMeant) continue
      if (type === 'Put') written[column.name] = column.decode(value)
      else if (type !== 'Delete') removed.add(column.name)
    }
  }
  // A marker hides the puts of its mutation too: they have the same timestamp.
  for (const name of removed) delete written[name]
  return {
    ...change,
    key: rows.key.decode(change.row),
    written: written as ColumnOutputs<C>,
    removed: [...removed],
    isExact,
  }
}
