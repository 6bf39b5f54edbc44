/**
 * Moves tables between databases: from an embedded one to HBase, and back.
 *
 * 1. The feed of the source is opened, so that no change is lost from here on.
 * 2. The stored cells of each table are copied, with their timestamps: by calls, or as HFiles.
 * 3. Rounds: take a snapshot of the source, repeat the changes up to it, and compare: all rows in
 *    the first round, the changed rows in later ones. The target has no other writer, so it
 *    shows exactly the moment of the snapshot. A table with changes that no feed shows is compared
 *    as a whole again, and one whose rows were replaced is copied again.
 * 4. When a round is small, writes are stopped, and one more round is the last. Unless the caller
 *    stops them, the tables of the source become read-only.
 *
 * Cells keep their timestamps, so each step may be repeated: a call after a failure continues
 * where the state in the target says, and repeats some writes. A row that differs is copied once
 * more, and its surplus cells are deleted by their timestamps, before the comparison counts.
 *
 * A source without feed and snapshots is copied and compared after its writes are stopped.
 */
import { join } from 'node:path'
import {
  CellarError,
  ErrorCode,
  type ChangedCell,
  type Database,
  type Snapshot,
} from '../../api/index.js'
import { checkAborted, hasCode } from '../../base/errors.js'
import { exportOnce } from '../hfile/export-hfiles.js'
import { rowWrites } from '../owned/log/apply.js'
import { patienceOf, type Patience } from '../owned/log/log-store.js'
import type { LoggedCell } from '../owned/log/logged-batch.js'
import { RowWriter } from '../owned/row-writer.js'
import { HBaseErrorCode } from '../thrift/wire/errors.js'
import { differences, differencesOfRows, nameOf, type Difference } from './compare.js'
import { checkMove, ensureTarget } from './inspect-move.js'
import { HeldState } from './move-state.js'
import {
  moveOptions,
  type BulkLoadSettings,
  type MoveOptions,
  type MoveReport,
  type MoveSettings,
  type TableHFiles,
} from './options.js'
import {
  ChangeReader,
  hasFeed,
  nextSequence,
  pieces,
  rowAfter,
  sourceCells,
  storesOf,
  unloggedStateOf,
} from './source.js'

/** Changes that are written together. */
const changesPerGroup = 500
/** A round that changed at most so many rows is the last but one. */
const smallRoundRows = 1_000
/** Rounds after which writes are stopped, however many rows the last one changed. */
const roundsMax = 10
/** Rows that differ, in the message of an error. */
const namedRowsMax = 10

/**
 * Moves tables from one database to another while the source is written to, and compares them. A
 * call that failed is repeated with the same databases and options, and continues. When the promise
 * is fulfilled, the target has all rows that were in the source when `stopWrites` was done. A later
 * call does nothing.
 *
 * Both databases stay open. The tables of the target must have no other writer.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_MOVE_REFUSED` (see {@link inspectMove}; or the
 *   move in the target has another source, or other tables); `ERR_MOVE_DIFFERS`; `ERR_LOCKED` if
 *   another call has taken over; `ERR_ABORTED`; what `stopWrites` throws; errors of either
 *   database.
 */
export async function moveDatabase(
  source: Database,
  target: Database,
  options: MoveOptions = {},
): Promise<MoveReport> {
  const settings = moveOptions.read(options)
  const { stateTable, tables: named, retryMilliseconds, signal } = settings
  const repeat = patienceOf(retryMilliseconds)
  const patience: Patience = async (error, since) => {
    checkAborted('moveDatabase', signal)
    await repeat(error, since)
  }
  const place = { source, target, stateTable, tables: named, patience }
  const state = await HeldState.take(place, async () => {
    const tables = await checkMove(source, target, options)
    const stores = storesOf(source, tables)
    return { sequence: nextSequence(source), tables: noneCopied(tables), stores }
  })
  return await new Mover(source, target, settings, state, patience).run()
}

function noneCopied(tables: readonly string[]): Record<string, string> {
  return Object.fromEntries(tables.map((name) => [name, '']))
}

class Mover {
  readonly #source: Database
  readonly #target: Database
  readonly #settings: MoveSettings
  readonly #state: HeldState
  readonly #patience: Patience
  readonly #writer: RowWriter
  /** Rows by name of the table and row, that were changed since they were compared. */
  #changed = new Map<string, { readonly table: string; readonly row: Buffer }>()
  /** By name of the table: the unlogged mutations before it was last compared as a whole. */
  readonly #unlogged = new Map<string, number>()
  #comparedRows = 0
  #comparedCells = 0
  #written = 0
  #repaired = 0

  constructor(
    source: Database,
    target: Database,
    settings: MoveSettings,
    state: HeldState,
    patience: Patience,
  ) {
    this.#source = source
    this.#target = target
    this.#settings = settings
    this.#state = state
    this.#patience = patience
    this.#writer = new RowWriter(target, 'failure')
  }

  get #tables(): string[] {
    return Object.keys(this.#state.now.tables)
  }

  async run(): Promise<MoveReport> {
    while (this.#state.now.phase !== 'done') {
      try {
        await (hasFeed(this.#source) ? this.#follow() : this.#copyAtRest())
        await this.#state.save({ phase: 'done' })
      } catch (error) {
        const isGone = hasCode(error, ErrorCode.changesGone)
        const tables = isGone ? this.#tables : this.#replaced()
        if (tables.length === 0 || this.#settings.signal?.aborted === true) throw error
        await this.#beginAnew(tables)
      }
    }
    return {
      tables: this.#tables,
      comparedRows: this.#comparedRows,
      comparedCells: this.#comparedCells,
      writtenCells: this.#written,
      repairedRows: this.#repaired,
    }
  }

  /**
   * Keeps nothing of the copy of tables: the source has dropped changes that the target lacks, or
   * their rows were replaced.
   */
  async #beginAnew(names: readonly string[]): Promise<void> {
    for (const table of names) {
      await this.#state.confirm()
      if (await this.#target.admin.tableExists(table)) await this.#target.admin.truncateTable(table)
      this.#unlogged.delete(table)
    }
    const { sequence, tables, stores } = this.#state.now
    await this.#state.save({
      phase: 'copying',
      sequence: names.length === this.#tables.length ? nextSequence(this.#source) : sequence,
      tables: { ...tables, ...noneCopied(names) },
      stores: { ...stores, ...storesOf(this.#source, names) },
    })
  }

  /** The tables whose rows were replaced since their copy began. */
  #replaced(): string[] {
    const { stores } = this.#state.now
    return this.#tables.filter(
      (name) => unloggedStateOf(this.#source, name).stores !== stores[name],
    )
  }

  #checkReplaced(): void {
    const names = this.#replaced()
    if (names.length === 0) return
    const message = `the rows of ${names.join(', ')} were replaced while they were moved`
    throw new CellarError(HBaseErrorCode.moveDiffers, message)
  }

  async #copyAtRest(): Promise<void> {
    await this.#stopWrites()
    await this.#copy()
    for (const table of this.#tables) await this.#compare(table, undefined, undefined)
  }

  async #follow(): Promise<void> {
    const tables = [...this.#tables, this.#settings.stateTable]
    const feed = new ChangeReader(this.#source, this.#state.now.sequence, tables)
    try {
      await this.#copy()
      await this.#round(feed)
      for (let rounds = 1; rounds < roundsMax; rounds++) {
        if ((await this.#round(feed)) <= smallRoundRows) break
      }
      await this.#stopWrites()
      await this.#round(feed)
    } finally {
      feed.close()
    }
  }

  async #stopWrites(): Promise<void> {
    const { stopWrites } = this.#settings
    if (stopWrites !== undefined) return stopWrites()
    const { admin } = this.#source
    for (const table of this.#tables) {
      if ((await admin.getDescriptor(table)).readOnly) continue
      await admin.modifyTable(table, { readOnly: true })
    }
  }

  async #copy(): Promise<void> {
    const { bulkLoad } = this.#settings
    if (bulkLoad !== undefined) await this.#copyByFiles(bulkLoad)
    for (const table of this.#tables) {
      // Also a table that is copied: the source may have more families than at an earlier call.
      await ensureTarget(this.#source, this.#target, table)
      const through = this.#state.now.tables[table]
      if (through === 'all') continue
      const rows = through === '' ? {} : { startRow: rowAfter(Buffer.from(through, 'hex')) }
      for await (const piece of pieces(sourceCells(this.#source, table, rows))) {
        await this.#write(piece.cells)
        if (piece.through !== undefined)
          await this.#saveCopied(table, piece.through.toString('hex'))
      }
      await this.#saveCopied(table, 'all')
    }
    if (this.#state.now.phase === 'copying') await this.#state.save({ phase: 'following' })
  }

  /** Copies the tables of which no row is copied, all of them together. */
  async #copyByFiles({ directory, load, compression }: BulkLoadSettings): Promise<void> {
    const tables = this.#tables.filter((table) => this.#state.now.tables[table] === '')
    const { id, sequence, stores } = this.#state.now
    const files: TableHFiles[] = []
    for (const table of tables) {
      await ensureTarget(this.#source, this.#target, table)
      // HDFS has no colons in paths, and names of tables no equals signs.
      const own = join(directory, table.replace(':', '='))
      // A copy that begins anew needs the state of another moment.
      const moment = `${id} ${sequence} ${stores[table]}`
      const options = { compression, signal: this.#settings.signal }
      const { cells } = await exportOnce(this.#source, table, own, moment, options)
      this.#written += cells
      if (cells > 0) files.push({ table, directory: own })
      this.#settings.onProgress?.({ phase: 'copying', cells: this.#written })
    }
    if (files.length > 0) await load(files)
    const all = Object.fromEntries(tables.map((table) => [table, 'all']))
    await this.#state.save({ tables: { ...this.#state.now.tables, ...all } })
  }

  async #saveCopied(table: string, through: string): Promise<void> {
    await this.#state.save({ tables: { ...this.#state.now.tables, [table]: through } })
  }

  /** Brings the target to the present state of the source and compares; see the file header. */
  async #round(feed: ChangeReader): Promise<number> {
    this.#checkReplaced()
    using snapshot = this.#source.snapshot()
    const unlogged = this.#tables.map((name) => unloggedStateOf(this.#source, name).mutations)
    // The feed shows no change without cells of its tables, so the end of the round is written.
    const fence = { row: 'fence', cells: { 'o:fence': this.#state.now.id } }
    await this.#source.table(this.#settings.stateTable).put(fence)
    await this.#repeatChanges(feed, snapshot.sequence)
    const changed = this.#changed
    this.#changed = new Map()
    const rows = [...changed.values()]
    for (const [i, table] of this.#tables.entries()) {
      const own = rows.filter((each) => each.table === table).map(({ row }) => row)
      const isWhole = this.#unlogged.get(table) !== unlogged[i]
      await this.#compare(table, snapshot, isWhole ? undefined : own)
      this.#unlogged.set(table, unlogged[i])
    }
    this.#checkReplaced()
    return rows.length
  }

  async #repeatChanges(feed: ChangeReader, through: number): Promise<void> {
    let group: LoggedCell[] = []
    let changes = 0
    const finish = async (sequence: number): Promise<void> => {
      await this.#write(group)
      await this.#state.save({ sequence })
      group = []
      changes = 0
    }
    for await (const { cells, sequence } of feed.through(through)) {
      for (const cell of cells) {
        if (cell.table === this.#settings.stateTable) continue
        const { table, row } = cell
        this.#changed.set(`${table}\0${row.toString('latin1')}`, { table, row })
        group.push(loggedCell(cell))
      }
      if (++changes >= changesPerGroup) await finish(sequence + 1)
    }
    await finish(through + 1)
  }

  async #write(cells: readonly LoggedCell[]): Promise<void> {
    const { signal, onProgress } = this.#settings
    checkAborted('moveDatabase', signal)
    const writes = rowWrites([{ sequence: 0, timestamp: 0, cells }])
    await this.#writer.write(writes, this.#patience)
    this.#written += cells.length
    const { phase } = this.#state.now
    onProgress?.({ phase: phase === 'copying' ? phase : 'following', cells: this.#written })
  }

  /** Compares a table, or some of its rows. `ERR_MOVE_DIFFERS`. */
  async #compare(
    table: string,
    snapshot: Snapshot | undefined,
    rows: readonly Buffer[] | undefined,
  ): Promise<void> {
    const wrong: string[] = []
    const found = this.#differences(table, snapshot, rows)
    for await (const difference of found) {
      if (await this.#isGone(table, difference)) continue
      await this.#repair(table, difference, snapshot)
      for await (const left of this.#differences(table, snapshot, [difference.row])) {
        if (!(await this.#isGone(table, left)))
          wrong.push(JSON.stringify(left.row.toString('latin1')))
      }
      if (wrong.length >= namedRowsMax) break
    }
    if (wrong.length === 0) return
    const message = `rows of table '${table}' differ after they were copied twice: `
    throw new CellarError(HBaseErrorCode.moveDiffers, message + wrong.join(', '))
  }

  #differences(
    table: string,
    snapshot: Snapshot | undefined,
    rows: readonly Buffer[] | undefined,
  ): AsyncGenerator<Difference, void> {
    const count = (cells: number): void => {
      checkAborted('moveDatabase', this.#settings.signal)
      this.#comparedRows++
      this.#comparedCells += cells
    }
    const parts = { source: this.#source, target: this.#target, table, snapshot, count }
    return rows === undefined ? differences(parts) : differencesOfRows(parts, rows)
  }

  /**
   * Whether the target only lacks cells that the source does not show any more: they have expired,
   * or a later change removed them, and its round compares the row.
   */
  async #isGone(table: string, { row, missing, surplus }: Difference): Promise<boolean> {
    if (surplus.length > 0) return false
    const now = await this.#source.table(table).get({ row, versions: 'all' })
    const shown = new Set(now.cells().map(nameOf))
    return missing.every((cell) => !shown.has(nameOf(cell)))
  }

  async #repair(
    table: string,
    { row, surplus }: Difference,
    snapshot: Snapshot | undefined,
  ): Promise<void> {
    this.#repaired++
    await this.#state.confirm()
    const surplusNames = new Set(surplus.map(nameOf))
    const rows = { startRow: row, stopRow: rowAfter(row), snapshot }
    for await (const { cells } of pieces(sourceCells(this.#source, table, rows))) {
      await this.#write(cells)
    }
    // A cell of another value has been replaced by now.
    const present = await this.#target.table(table).get({ row, versions: 'all' })
    const left = present.cells().filter((cell) => surplusNames.has(nameOf(cell)))
    if (left.length === 0) return
    // For a call that was taken over, the later changes of the source are surplus.
    await this.#state.confirm()
    const none = { table, type: 'Delete', ttlMilliseconds: 0, value: Buffer.alloc(0) } as const
    await this.#write(
      left.map(({ family, qualifier, timestampExact }) => {
        return { ...none, row, family, qualifier, timestamp: timestampExact }
      }),
    )
  }
}

function loggedCell(cell: ChangedCell): LoggedCell {
  const { table, family, row, qualifier, type, value, ttlMilliseconds, timestampExact } = cell
  const parts = { table, family, row, qualifier, type, value, ttlMilliseconds }
  return { ...parts, timestamp: timestampExact }
}
