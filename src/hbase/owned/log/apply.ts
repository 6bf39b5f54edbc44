/** From batches of the log to writes of single rows. */
import type { LoggedBatch, LoggedCell } from './logged-batch.js'

/** The cells of one row, which are written in one step. */
export interface RowWrite {
  readonly table: string
  readonly row: Buffer
  /** No two are equal in column, timestamp and type. */
  readonly cells: readonly LoggedCell[]
}

/**
 * The writes of batches, one for each row. Of cells that are equal in row, column, timestamp and
 * type, the one named last stays. So the writes may be applied in any order, and repeated.
 */
export function rowWrites(batches: readonly LoggedBatch[]): RowWrite[] {
  const writes = new Map<string, RowWrite & { readonly byName: Map<string, LoggedCell> }>()
  for (const { cells } of batches) {
    for (const cell of cells) {
      const { table, row } = cell
      const name = `${table}\0${row.toString('latin1')}`
      let write = writes.get(name)
      if (write === undefined) {
        write = { table, row, cells: [], byName: new Map() }
        writes.set(name, write)
      }
      write.byName.set(cellName(cell), cell)
    }
  }
  return Array.from(writes.values(), ({ table, row, byName }) => {
    return { table, row, cells: [...byName.values()] }
  })
}

function cellName({ family, qualifier, timestamp, type }: LoggedCell): string {
  return `${family}\0${timestamp}\0${type}\0${qualifier.toString('latin1')}`
}
