/** The stored cells of a table in order, cut into pieces that are written one after the other. */
import type { BytesLike, Database, Snapshot } from '../../api/index.js'
import { loadCodecs } from '../../storage/codec/codec.js'
import { exportedCells } from '../../table/transfer/export-cells.js'
import type { LoggedCell } from '../owned/log/logged-batch.js'

/** Size at which a piece ends: values, and about 50 bytes for the rest of a cell. */
const pieceBytes = 256 * 1024

/** The cells to write together. */
export interface Piece {
  readonly cells: readonly LoggedCell[]
  /** All rows up to this one are complete with the piece; undefined: none is. */
  readonly through: Buffer | undefined
}

/** The rows to read. */
export interface Rows {
  /** First row, inclusive; absent = the first of the table. */
  readonly startRow?: BytesLike
  /** Row at which the cells end; absent = the end of the table. */
  readonly stopRow?: BytesLike
  /** The moment to read; absent = the time of the call. */
  readonly snapshot?: Snapshot
}

interface Exporting {
  exportTable(
    name: string,
    options: Rows & { raw: true; versions: 'all'; compression: 'NONE' },
  ): AsyncGenerator<Buffer, void>
}

/**
 * The cells of rows: with markers, masked cells and cell TTLs where the source can export, with
 * markers and masked cells where it has raw scans, else those that a scan shows.
 */
export async function* sourceCells(
  source: Database,
  table: string,
  rows: Rows,
): AsyncGenerator<LoggedCell, void> {
  if ('exportTable' in source.admin) {
    const admin = source.admin as unknown as Exporting
    const given = { ...rows, raw: true, versions: 'all', compression: 'NONE' } as const
    for await (const part of exportedCells(admin.exportTable(table, given), loadCodecs())) {
      if ('table' in part) continue
      for (const cell of part) yield { ...cell, table, ttlMilliseconds: cell.ttlMilliseconds ?? 0 }
    }
    return
  }
  const raw = source.capabilities.rawScans
  for await (const result of source.table(table).scan({ ...rows, raw, versions: 'all' })) {
    for (const { row, family, qualifier, timestampExact, type, value } of result.cells()) {
      const parts = { table, row, family, qualifier, type, value }
      yield { ...parts, timestamp: timestampExact, ttlMilliseconds: 0 }
    }
  }
}

/**
 * Pieces of cells. The markers of a row come last: if the target drops them in a compaction between
 * two pieces of the row, what they mask is already there.
 */
export async function* pieces(
  cells: AsyncIterable<LoggedCell>,
  bytesMax = pieceBytes,
): AsyncGenerator<Piece, void> {
  let piece: LoggedCell[] = []
  let markers: LoggedCell[] = []
  let bytes = 0
  let row: Buffer | undefined
  let complete: Buffer | undefined
  for await (const cell of cells) {
    if (row?.equals(cell.row) === false) {
      piece.push(...markers)
      markers = []
      complete = row
    }
    if (bytes >= bytesMax) {
      yield { cells: piece, through: complete }
      piece = []
      bytes = 0
    }
    row = cell.row
    bytes += cell.value.length + cell.row.length + 50
    ;(cell.type === 'Put' ? piece : markers).push(cell)
  }
  piece.push(...markers)
  if (row !== undefined) yield { cells: piece, through: row }
}

/** The first row behind a row. */
export function rowAfter(row: Buffer): Buffer {
  return Buffer.concat([row, Buffer.alloc(1)])
}
