/** The source of a move: its stored cells in pieces, its feed, and changes that no feed shows. */
import type { BytesLike, Change, Database, Snapshot, UnloggedState } from '../../api/index.js'
import { loadCodecs } from '../../storage/codec/codec.js'
import type { Admin } from '../../table/admin.js'
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
  readonly startRow?: BytesLike | undefined
  /** Row at which the cells end; absent = the end of the table. */
  readonly stopRow?: BytesLike | undefined
  /** The moment to read; absent = the time of the call. */
  readonly snapshot?: Snapshot | undefined
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
    const admin = source.admin as unknown as Admin
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

/** A feed that is open from the beginning, so that the source keeps its log. */
export class ChangeReader {
  readonly #abort = new AbortController()
  readonly #feed: AsyncGenerator<Change, void>
  #next: Promise<IteratorResult<Change, void>>

  constructor(source: Database, fromSequence: number, tables: readonly string[]) {
    const { signal } = this.#abort
    this.#feed = source.changes({ fromSequence, table: tables, signal })
    this.#next = this.#ask()
  }

  /**
   * The changes up to a sequence, which ends when a later change arrives: the caller has written
   * one. `ERR_CHANGES_GONE`.
   */
  async *through(sequence: number): AsyncGenerator<Change, void> {
    for (;;) {
      const { done, value } = await this.#next
      if (done === true || value.sequence > sequence) return
      this.#next = this.#ask()
      yield value
    }
  }

  /** Ends the feed, and with it the hold on the log of the source. */
  close(): void {
    // A feed that waits ends by the signal, one that has yielded only by its return.
    this.#abort.abort()
    this.#feed.return().catch(() => undefined)
  }

  #ask(): Promise<IteratorResult<Change, void>> {
    const next = this.#feed.next()
    // A failure is that of the call that waits for it.
    next.catch(() => undefined)
    return next
  }
}

/** See {@link UnloggedState}; of other sources always the same. */
export function unloggedStateOf({ admin }: Database, table: string): UnloggedState {
  if (!('unloggedState' in admin)) return { stores: '', mutations: 0 }
  return (admin as unknown as Admin).unloggedState(table)
}

/** The stores of tables, by name of the table. */
export function storesOf(source: Database, tables: readonly string[]): Record<string, string> {
  return Object.fromEntries(tables.map((name) => [name, unloggedStateOf(source, name).stores]))
}

/** The sequence of the next change; 0 of a source without feed. */
export function nextSequence(source: Database): number {
  if (!hasFeed(source)) return 0
  const snapshot = source.snapshot()
  snapshot.close()
  return snapshot.sequence + 1
}

/** Whether a move follows the changes of the source. */
export function hasFeed({ capabilities }: Database): boolean {
  return capabilities.changes && capabilities.snapshots
}
