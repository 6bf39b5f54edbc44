/**
 * A database by HBase's rules: tables, one sequence and one clock. The in-memory backend is this
 * model behind the interfaces of tables. Tests compare the embedded engine with it.
 */
import type {
  Append,
  Check,
  CheckAction,
  Delete,
  Increment,
  MultiRowMutations,
  Mutation,
  Put,
  RowMutations,
} from '../../../src/api/mutations.js'
import type { FamilyOptions } from '../../../src/api/schema.js'
import type { BytesLike } from '../../../src/storage/cell/column-name.js'
import type { Clock } from '../../../src/base/clock.js'
import { readMutatedRow } from '../../../src/checks/operations.js'
import { cellsOf, type NewCell, type RowState } from './mutation-cells.js'
import { binary, type PlainCell } from './plain-cells.js'
import type { StoredCell } from './reading-rules.js'
import { ReferenceTable, type View } from './reference-table.js'
import { ServerTimes } from './server-times.js'

/** The view of a snapshot, which never changes. */
export interface ModelSnapshot {
  /** The snapshot sees mutations up to and including this sequence. */
  readonly sequence: number
  /** Milliseconds since the Unix epoch; cells expire as of this time. */
  readonly now: bigint
  readonly views: ReadonlyMap<ReferenceTable, View>
}

/** A mutation that was written. */
export interface ModelWrite {
  readonly sequence: number
  /** Highest timestamp that the clock gave to the mutation; 0 = none. */
  readonly serverTime: bigint
  readonly cells: readonly { readonly table: ReferenceTable; readonly cell: StoredCell }[]
}

/** Mutations of one row of a table, as part of one write. */
export interface ModelPart {
  readonly table: ReferenceTable
  readonly row: BytesLike
  readonly mutations: readonly Mutation[]
}

/** A check of a row of a table. */
export type ModelCheck = Check & { readonly table: ReferenceTable }

/** The outcome of a check and its mutations. */
export interface ModelOutcome {
  readonly success: boolean
  /** Cells of increments and appends; undefined if the mutations have neither. */
  readonly result: readonly StoredCell[] | undefined
}

/** The outcome of an atomic batch; see `AtomicResult`. */
export interface ModelAtomic {
  readonly failedCheck: number | undefined
  readonly sequence: number | undefined
}

/** Evaluates a check with a filter, which the model cannot do; see `filtered-rows.ts`. */
export type JudgeFilter = (
  table: ReferenceTable,
  check: Check,
  view: View,
) => StoredCell | undefined

/** Tables with their rows. */
export class ReferenceModel {
  readonly times: ServerTimes
  /** Sequence of the newest mutation. */
  sequence = 0
  /** Called for each cell before anything is written; throws to refuse it. */
  checkCell: ((table: ReferenceTable, cell: PlainCell) => void) | undefined = undefined
  /** Whether puts replace older versions in memtables, as in the embedded engine. */
  replacesVersions = false
  /** Called for each mutation at the moment when it is written. */
  onWrite: ((write: ModelWrite) => void) | undefined = undefined
  /** Highest timestamp that the clock gave to the newest mutation; 0 = none. */
  serverTime = 0n
  readonly #openSnapshots = new Set<ModelSnapshot>()
  readonly #tables = new Set<ReferenceTable>()
  readonly #judge: JudgeFilter

  constructor(clock: Clock, judge: JudgeFilter = refuseFilter) {
    this.times = new ServerTimes(clock)
    this.#judge = judge
  }

  createTable(name: string, families: Readonly<Record<string, FamilyOptions>>): ReferenceTable {
    const table = new ReferenceTable(name, families)
    this.#tables.add(table)
    return table
  }

  dropTable(table: ReferenceTable): void {
    this.#tables.delete(table)
  }

  // Writing

  put(table: ReferenceTable, put: Put): void {
    this.#mutate(table, put.row, [{ put }])
  }

  delete(table: ReferenceTable, deletion: Delete): void {
    this.#mutate(table, deletion.row, [{ delete: deletion }])
  }

  increment(table: ReferenceTable, increment: Increment): readonly StoredCell[] {
    return this.#mutate(table, increment.row, [{ increment }])
  }

  append(table: ReferenceTable, append: Append): readonly StoredCell[] {
    return this.#mutate(table, append.row, [{ append }])
  }

  mutateRow(table: ReferenceTable, { row, mutations }: RowMutations): readonly StoredCell[] {
    return this.#mutate(table, row, mutations)
  }

  /** Returns false if a check does not hold. */
  mutateRows(table: ReferenceTable, { rows, checks = [] }: MultiRowMutations): boolean {
    const parts = rows.map((each) => ({ ...readMutatedRow(each), table }))
    const outcome = this.atomic(
      checks.map((check) => ({ ...check, table })),
      parts,
    )
    return outcome.failedCheck === undefined
  }

  checkAndMutate(table: ReferenceTable, check: Check, action: CheckAction): ModelOutcome {
    const mutations = 'mutations' in action ? action.mutations : [action]
    const checked = this.#evaluate(table, check)
    if (!checked.holds) return { success: false, result: undefined }
    const putTimeMin = checked.cell?.timestamp ?? 0n
    const cells = this.#mutate(table, check.row, mutations, putTimeMin)
    const hasResult = mutations.some((each) => 'increment' in each || 'append' in each)
    return { success: true, result: hasResult ? cells : undefined }
  }

  /**
   * Applies all mutations or none, under one sequence. Rows are written table by table, in the
   * order in which the batch first names the tables, checks before mutations.
   */
  atomic(checks: readonly ModelCheck[], parts: readonly ModelPart[]): ModelAtomic {
    for (const [position, check] of checks.entries()) {
      if (this.#evaluate(check.table, check).holds) continue
      return { failedCheck: position, sequence: undefined }
    }
    const order = [...new Set([...checks, ...parts].map(({ table }) => table))]
    const byTable = order.flatMap((table) => parts.filter((part) => part.table === table))
    this.times.begin()
    const written = byTable.map(({ table, row, mutations }) => {
      const name = binary(row)
      const { cells } = cellsOf(this.#stateOf(table, name), mutations, this.times.of(name))
      return { table, row: name, cells }
    })
    this.#write(written)
    return { failedCheck: undefined, sequence: this.sequence }
  }

  /** Whether a check holds, and the cell that it has read. */
  #evaluate(
    table: ReferenceTable,
    check: Check,
  ): { readonly holds: boolean; readonly cell: StoredCell | undefined } {
    if (check.filter !== undefined) {
      const cell = this.#judge(table, check, this.present(table))
      return { holds: cell !== undefined, cell }
    }
    const cell = table.checkedCell(check, this.#stateOf(table, binary(check.row)))
    return { holds: ReferenceTable.holds(check, cell), cell }
  }

  #mutate(
    table: ReferenceTable,
    row: BytesLike,
    mutations: readonly Mutation[],
    putTimeMin = 0n,
  ): readonly StoredCell[] {
    const name = binary(row)
    this.times.begin()
    const time = this.times.of(name)
    const { cells, results } = cellsOf(this.#stateOf(table, name), mutations, time, putTimeMin)
    const written = this.#write([{ table, row: name, cells }])
    return results.map((cell) => written[cells.indexOf(cell)])
  }

  /** Writes all cells under one sequence. Returns them in the given order. */
  #write(
    parts: readonly {
      readonly table: ReferenceTable
      readonly row: string
      readonly cells: readonly NewCell[]
    }[],
  ): StoredCell[] {
    for (const { table, row, cells } of parts) {
      for (const cell of cells) this.checkCell?.(table, { ...cell, row })
    }
    const sequence = ++this.sequence
    const serverTime = this.times.accept()
    const types = parts.flatMap(({ cells }) => cells.map(({ type }) => type))
    // Such a marker may bring the version back that a put of the same mutation would replace.
    const replaces = !types.includes('Delete') && !types.includes('DeleteFamilyVersion')
    const time = replaces ? serverTime : 0n
    const stored = parts.flatMap(({ table, row, cells }) => {
      const seen = this.replacesVersions ? this.#sequenceSeen : Infinity
      return table.write(row, cells, sequence, time, seen).map((cell) => ({ table, cell }))
    })
    this.serverTime = serverTime
    this.onWrite?.({ sequence, serverTime, cells: stored })
    return stored.map(({ cell }) => cell)
  }

  #stateOf(table: ReferenceTable, row: string): RowState {
    return table.stateOf(row, this.sequence, this.times.now())
  }

  // Reading

  /** The present view of a table. */
  present(table: ReferenceTable): View {
    return table.view(this.sequence, this.times.now())
  }

  /** The view of a table in a snapshot; empty if the table is younger than the snapshot. */
  viewOf(table: ReferenceTable, snapshot: ModelSnapshot | undefined): View {
    if (snapshot === undefined) return this.present(table)
    const { sequence, now } = snapshot
    return snapshot.views.get(table) ?? { sequence, now, rows: new Map() }
  }

  // Snapshots and flushes

  /** Opens a snapshot of all tables. */
  openSnapshot(): ModelSnapshot {
    const views = new Map([...this.#tables].map((table) => [table, this.present(table)]))
    const snapshot = { sequence: this.sequence, now: this.times.now(), views }
    this.#openSnapshots.add(snapshot)
    return snapshot
  }

  closeSnapshot(snapshot: ModelSnapshot): void {
    this.#openSnapshots.delete(snapshot)
  }

  /** Drops the cells that a flush of a table, or of one family, drops. */
  flush(table: ReferenceTable, family?: string): void {
    table.flush(this.times.now(), this.#sequenceSeen, family)
  }

  /** Newest sequence that an open snapshot sees. */
  get #sequenceSeen(): number {
    const sequences = [...this.#openSnapshots].map(({ sequence }) => sequence)
    return Math.max(0, ...sequences)
  }

  /**
   * Drops the cells that a compaction of some runs of a family drops, and merges these runs into
   * one.
   */
  merge(table: ReferenceTable, family: string, runs: readonly number[], major: boolean): void {
    table.merge(family, runs, major, this.times.now())
  }

  /** Has the effects of a close and a reopen: cells and memtables stay, snapshots end. */
  reopen(): void {
    this.#openSnapshots.clear()
    this.times.reopen()
    if (this.replacesVersions) for (const table of this.#tables) table.replay()
  }
}

function refuseFilter(): never {
  throw new Error('this model has no filters')
}
