/** Turns the operations of a batch into mutations of rows. */
import type { MultiRowMutations, Mutation } from '../api/index.js'
import { rowOfKey, type LevelKey } from './keys.js'

/** An operation of a batch, as abstract-level hands it over: encoded. */
export type BatchOperation =
  | { readonly type: 'put'; readonly key: LevelKey; readonly value: LevelKey }
  | { readonly type: 'del'; readonly key: LevelKey }

type Row = MultiRowMutations['rows'][number]

/**
 * The rows of a batch. Of operations on the same key only the last counts: all cells of an atomic
 * mutation may share one timestamp, and a delete marker then hides a put whatever their order.
 */
export function rowsOfBatch(
  operations: readonly BatchOperation[],
  column: string,
  deletions: readonly Mutation[],
): readonly Row[] {
  const rows: Row[] = []
  let hasPut = false
  let hasDeletion = false
  for (const operation of operations) {
    const row = rowOfKey(operation.key)
    if (operation.type === 'put') {
      hasPut = true
      rows.push({ row, mutations: [{ put: { cells: { [column]: operation.value } } }] })
    } else {
      hasDeletion = true
      rows.push({ row, mutations: deletions })
    }
  }
  return hasPut && hasDeletion ? lastOfEach(rows) : rows
}

function lastOfEach(rows: readonly Row[]): readonly Row[] {
  const last = new Map<string, Row>()
  for (const row of rows) last.set(nameOf(row.row), row)
  return last.size === rows.length ? rows : [...last.values()]
}

/** Equal for equal rows, whether they are text or bytes. */
function nameOf(row: LevelKey): string {
  const bytes = typeof row === 'string' ? Buffer.from(row) : row
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}
