/** From batches of the log to rounds of writes of single rows. */
import type { LoggedBatch, LoggedCell } from './logged-batch.js'

/** The cells of one row, which are written in one step. */
export interface RowWrite {
  readonly table: string
  readonly row: Buffer
  /** No two are equal in column, timestamp and type. */
  readonly cells: readonly LoggedCell[]
}

/**
 * The writes of the batches of one round, one for each row. Of cells that are equal in row, column,
 * timestamp and type, the one named last stays. So the writes may be applied in any order, and
 * repeated.
 */
export function rowWrites(batches: readonly LoggedBatch[]): RowWrite[] {
  const writes = new Map<string, RowWrite & { readonly byName: Map<string, LoggedCell> }>()
  for (const { cells } of batches) {
    for (const cell of cells) {
      const { table, row } = cell
      const name = rowName(cell)
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

/** What decides whether a delete marker masks a cell. */
export interface Maskable extends Pick<LoggedCell, 'family' | 'qualifier' | 'timestamp' | 'type'> {}

/** Whether a cell is a marker that masks another cell, if it counts as the later of the two. */
export function masks(marker: Maskable, cell: Maskable): boolean {
  const { family, qualifier, timestamp, type } = marker
  if (type === 'Put' || family !== cell.family) return false
  const ofColumn = type === 'Delete' || type === 'DeleteColumn'
  if (ofColumn && !qualifier.equals(cell.qualifier)) return false
  const ofVersion = type === 'Delete' || type === 'DeleteFamilyVersion'
  return ofVersion ? timestamp === cell.timestamp : timestamp >= cell.timestamp
}

/**
 * Cuts batches into rounds that are applied one after the other. Cells of one write of a row are
 * equally old for HBase, so a marker masks the puts of its round. A put that comes after such a
 * marker, in a family with `newVersionBehavior`, is seen: it begins another round.
 */
export function roundsOf(batches: readonly LoggedBatch[]): LoggedBatch[][] {
  const rounds: LoggedBatch[][] = []
  const markers = new Map<string, LoggedCell[]>()
  for (const batch of batches) {
    // Most batches meet no marker; then no row is named.
    const isBehind =
      markers.size > 0 &&
      batch.cells.some((cell) => {
        return cell.type === 'Put' && markers.get(rowName(cell))?.some((each) => masks(each, cell))
      })
    if (isBehind || rounds.length === 0) {
      rounds.push([])
      markers.clear()
    }
    rounds.at(-1)!.push(batch)
    for (const cell of batch.cells) {
      if (cell.type === 'Put') continue
      const name = rowName(cell)
      const list = markers.get(name)
      if (list === undefined) markers.set(name, [cell])
      else list.push(cell)
    }
  }
  return rounds
}

function rowName({ table, row }: LoggedCell): string {
  return `${table}\0${row.toString('latin1')}`
}

function cellName({ family, qualifier, timestamp, type }: LoggedCell): string {
  return `${family}\0${timestamp}\0${type}\0${qualifier.toString('latin1')}`
}
