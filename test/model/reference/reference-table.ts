/**
 * A table by HBase's rules: every cell that was ever written, by row, and each operation in the
 * simplest form. Slow but complete; tests compare the embedded engine with it.
 */
import { noSuchFamily } from '../../../src/api/names.js'
import type { Check } from '../../../src/api/mutations.js'
import type { FamilyOptions } from '../../../src/api/schema.js'
import type { Get, Scan, TimeRangeOption } from '../../../src/api/reads.js'
import { columnOf, type Column } from './column-parts.js'
import type { NewCell, RowState } from './mutation-cells.js'
import { binary, compareStrings, type PlainResult } from './plain-cells.js'
import { inBounds, qualifiersOf, rangeOf, type RowReadOptions } from './read-options.js'
import {
  compactedCells,
  flushedCells,
  isMarker,
  readFamily,
  replacedBy,
  type FamilyRead,
  type FamilyRules,
  type StoredCell,
} from './reading-rules.js'

/** The cells of a table by row. Arrays only grow until a flush or compaction makes new ones. */
type Rows = Map<string, StoredCell[]>

/** Number of cells of a row from which invisible ones are dropped. */
const cellsBeforeTidying = 1024

/** The state that a read sees. */
export interface View {
  /** The view sees mutations up to and including this sequence. */
  readonly sequence: number
  /** Milliseconds since the Unix epoch; cells expire as of this time. */
  readonly now: bigint
  readonly rows: ReadonlyMap<string, readonly StoredCell[]>
}

/** The rules in the options of a family. */
export function rulesOf(options: FamilyOptions): FamilyRules {
  const ttl = options.ttlMilliseconds ?? Infinity
  return {
    versions: options.versions ?? 1,
    minVersions: options.minVersions ?? 0,
    ttl: ttl === Infinity ? undefined : BigInt(ttl),
    keepDeletedCells: options.keepDeletedCells ?? false,
    newVersionBehavior: options.newVersionBehavior ?? false,
    timeToPurgeDeletes: BigInt(options.timeToPurgeDeletesMilliseconds ?? 0),
  }
}

/** The rows and families of one table. */
export class ReferenceTable {
  readonly name: string
  families = new Map<string, FamilyRules>()
  /** The sequence at which each family was added. */
  readonly #since = new Map<string, number>()
  #rows: Rows = new Map()
  /** The sorted names of all rows; undefined after a row was added. */
  #rowNames: readonly string[] | undefined = undefined
  #lastRun = 0
  #lastOrder = 0
  /** By family: the newest timestamp that a marker of a single version may have, if known. */
  readonly #markerTimes = new Map<string, bigint>()
  /** The number of cells at which a row is tidied next, if different from the default. */
  readonly #tidyAt = new Map<string, number>()

  constructor(name: string, families: Readonly<Record<string, FamilyOptions>>) {
    this.name = name
    this.alter(families)
  }

  /** Gives the table other families. Cells of families that are missing are dropped. */
  alter(families: Readonly<Record<string, FamilyOptions>>, sequence = 0): void {
    for (const name of Object.keys(families)) {
      if (!this.families.has(name)) this.#since.set(name, sequence)
    }
    const entries = Object.entries(families).map(([name, options]) => {
      return [name, rulesOf(options)] as const
    })
    this.families = new Map(entries.sort(([a], [b]) => compareStrings(a, b)))
    this.#keep(({ family }) => this.families.has(family))
  }

  // Writing

  /**
   * Adds the cells of one mutation of a row. Of completely equal cells the later one stays. Returns
   * the stored cells in the given order. `serverTime` is the timestamp that the clock assigned to
   * the mutation. Puts replace older versions that are newer than `sequenceSeen`.
   */
  write(
    row: string,
    cells: readonly NewCell[],
    sequence: number,
    serverTime = 0n,
    sequenceSeen = Infinity,
  ): StoredCell[] {
    let stored = this.#rows.get(row)
    if (stored === undefined) {
      stored = []
      this.#rows.set(row, stored)
      this.#rowNames = undefined
    }
    let start = stored.length
    while (start > 0 && stored[start - 1].sequence === sequence) start--
    // By the parts in which cells of one mutation differ. A cell that is written again goes to the
    // end.
    const ofMutation = new Map(stored.slice(start).map((cell) => [cellName(cell), cell]))
    const added = cells.map((cell): StoredCell => {
      const isServerTimed =
        serverTime > 0n && cell.timestamp <= serverTime && cell.timestamp > serverTime - 8n
      const order = ++this.#lastOrder
      const state = { isServerTimed, order, inMemtable: true, isReplaced: false, run: 0 }
      return { ...cell, row, sequence, ...state }
    })
    for (const cell of added) {
      const name = cellName(cell)
      if (sequenceSeen < Infinity && !ofMutation.has(name)) {
        this.#replace([...stored.slice(0, start), ...ofMutation.values()], cell, sequenceSeen)
      }
      this.#noteMarker(cell)
      ofMutation.delete(name)
      ofMutation.set(name, cell)
    }
    stored.length = start
    for (const cell of ofMutation.values()) stored.push(cell)
    return added
  }

  #replace(stored: readonly StoredCell[], put: StoredCell, sequenceSeen: number): void {
    const rules = this.families.get(put.family)!
    const memtable = stored.filter(({ inMemtable }) => inMemtable)
    const markerTime = this.#markerTime(put.family)
    const replaced = replacedBy(put, memtable, rules, sequenceSeen, markerTime)
    if (replaced !== undefined) replaced.isReplaced = true
  }

  /** The timestamps of markers in a file are not known, but that of its newest cell is. */
  #markerTime(family: string): bigint {
    const known = this.#markerTimes.get(family)
    if (known !== undefined) return known
    const newest = new Map<number, bigint>()
    const withMarkers = new Set<number>()
    for (const cell of [...this.#rows.values()].flat()) {
      if (cell.family !== family || cell.inMemtable) continue
      if (isMarker(cell)) withMarkers.add(cell.run)
      if (cell.timestamp > (newest.get(cell.run) ?? -1n)) newest.set(cell.run, cell.timestamp)
    }
    this.#markerTimes.set(family, -1n)
    for (const run of withMarkers) this.#raiseMarkerTime(family, newest.get(run)!)
    for (const cells of this.#rows.values()) for (const cell of cells) this.#noteMarker(cell)
    return this.#markerTimes.get(family)!
  }

  #noteMarker({ family, type, timestamp, inMemtable, isReplaced }: StoredCell): void {
    if (type !== 'Delete' && type !== 'DeleteFamilyVersion') return
    if (inMemtable && !isReplaced) this.#raiseMarkerTime(family, timestamp)
  }

  #raiseMarkerTime(family: string, time: bigint): void {
    const known = this.#markerTimes.get(family)
    if (known !== undefined && time > known) this.#markerTimes.set(family, time)
  }

  /** Writes the cells of memtables again, in the order of writing. No read sees the old ones. */
  replay(): void {
    const memtable = [...this.#rows.values()].flat().filter(({ inMemtable }) => inMemtable)
    for (const cell of memtable) cell.isReplaced = true
    this.#markerTimes.clear()
    for (const family of this.families.keys()) this.#markerTime(family)
    for (const cell of memtable.sort((a, b) => a.order - b.order)) {
      cell.isReplaced = false
      this.#replace(this.#rows.get(cell.row)!, cell, 0)
      this.#noteMarker(cell)
    }
  }

  /** The newest state of a row, for mutations and checks. */
  stateOf(row: string, sequence: number, now: bigint): RowState {
    const view = this.view(sequence, now)
    return {
      table: this.name,
      families: this.families,
      newest: (column, versions, timeRange) => this.#newest(row, column, versions, view, timeRange),
    }
  }

  #newest(
    row: string,
    { family, qualifier }: Column,
    versions: number,
    view: View,
    timeRange?: TimeRangeOption,
  ): readonly StoredCell[] {
    if (!this.families.has(family)) throw noSuchFamily(family, this.name, this.families.keys())
    const name = { family, qualifier: Buffer.from(qualifier ?? '', 'latin1') }
    return this.rowCells(row, { columns: [name], versions, timeRange }, view)
  }

  // Reading

  /** A view of everything up to a sequence. */
  view(sequence: number, now: bigint): View {
    return { sequence, now, rows: this.#rows }
  }

  get(get: Get, view: View, keeps?: FamilyRead['keeps']): PlainResult {
    return { cells: this.rowCells(binary(get.row), get, view, keeps), partial: false }
  }

  scan(scan: Scan, view: View, keeps?: FamilyRead['keeps']): PlainResult[] {
    const results: PlainResult[] = []
    let rowCount = 0
    for (const row of this.rowsOf(scan, view)) {
      if (rowCount === (scan.limit ?? Infinity)) break
      const cells = this.rowCells(row, scan, view, keeps)
      if (cells.length === 0) continue
      rowCount++
      const batch = scan.batch ?? cells.length
      for (let start = 0; start < cells.length; start += batch) {
        const partial = start + batch < cells.length
        results.push({ cells: cells.slice(start, start + batch), partial })
      }
    }
    return results
  }

  /** The rows that a scan visits, in its order. */
  rowsOf(scan: Scan, view: View): string[] {
    const rows = this.#namesOf(view).filter((row) => inBounds(row, scan))
    return scan.reversed === true ? rows.reverse() : rows
  }

  #namesOf({ rows }: View): readonly string[] {
    if (rows !== this.#rows) return [...rows.keys()].sort(compareStrings)
    this.#rowNames ??= [...rows.keys()].sort(compareStrings)
    return this.#rowNames
  }

  /** The cells of a row that a read returns. */
  rowCells(
    row: string,
    options: RowReadOptions,
    view: View,
    keeps?: FamilyRead['keeps'],
  ): readonly StoredCell[] {
    const found: StoredCell[] = []
    for (const family of this.families.keys()) {
      const cells = this.familyCells(row, family, options, view, { keeps })
      if (cells !== undefined) found.push(...cells)
    }
    return found
  }

  /**
   * The cells of a family of a row that a read returns; undefined if the read does not select the
   * family.
   */
  familyCells(
    row: string,
    family: string,
    options: RowReadOptions,
    view: View,
    filtering: Pick<FamilyRead, 'keeps' | 'isFiltered'>,
  ): readonly StoredCell[] | undefined {
    const qualifiers = qualifiersOf(options, family)
    if (qualifiers === undefined) return undefined
    const [min, max] = rangeOf(options, family)
    const versions = options.versions ?? 1
    const read: FamilyRead = {
      versions: versions === 'all' ? Infinity : versions,
      min,
      max,
      raw: options.raw ?? false,
      qualifiers: qualifiers === 'all' ? undefined : qualifiers,
      offset: options.cellsPerFamilyOffset ?? 0,
      limit: options.cellsPerFamilyMax ?? Infinity,
      ...filtering,
    }
    return readFamily(
      this.storedCells(row, family, view),
      this.families.get(family)!,
      read,
      view.now,
    )
  }

  /** The cells of a family of a row that a view sees, in the order of writing. */
  storedCells(row: string, family: string, { rows, sequence }: View): StoredCell[] {
    const since = this.#since.get(family) ?? 0
    return (rows.get(row) ?? []).filter((cell) => {
      if (cell.isReplaced) return false
      return cell.family === family && cell.sequence <= sequence && cell.sequence > since
    })
  }

  /** Whether a read visits a row, even if it returns none of its cells. */
  hasRow(row: string, options: RowReadOptions, view: View): boolean {
    return [...this.families.keys()].some((family) => {
      const isAsked = qualifiersOf(options, family) !== undefined
      return isAsked && this.storedCells(row, family, view).length > 0
    })
  }

  /** Whether the family of a cell still exists. */
  hasFamily({ family, sequence }: StoredCell): boolean {
    return this.families.has(family) && sequence > (this.#since.get(family) ?? 0)
  }

  /** Whether the condition of a check holds for the newest cell; undefined = no cell. */
  static holds(check: Check, stored: StoredCell | undefined): boolean {
    const operator = check.operator ?? 'EQUAL'
    const given = check.operator === undefined ? check.equals : check.value
    const expected = binary(given ?? '')
    if (expected === '') {
      if (stored === undefined) return operator !== 'NOT_EQUAL'
      return operator === 'NOT_EQUAL' ? stored.value !== '' : stored.value === ''
    }
    return stored !== undefined && compares(operator, expected, stored.value)
  }

  /** The cell that a check of a column reads. */
  checkedCell(check: Check, state: RowState): StoredCell | undefined {
    return state.newest(columnOf(check.column!), 1, check.timeRange)[0]
  }

  // Flushes and compactions

  /**
   * Drops the cells that a flush drops. Cells up to `sequenceKept`, which a snapshot sees, are
   * kept.
   */
  flush(now: bigint, sequenceKept: number, only?: string): void {
    const run = ++this.#lastRun
    this.#rewrite((cells, rules, family) => {
      if (only !== undefined && family !== only) return cells
      const kept = cells.filter((cell) => !cell.inMemtable)
      const memtable = cells.filter((cell) => cell.inMemtable && !cell.isReplaced)
      for (const cell of flushedCells(memtable, rules, sequenceKept, now)) {
        cell.inMemtable = false
        cell.run = run
        kept.push(cell)
      }
      return kept
    })
  }

  /** Drops a run, as the engine removes an expired file without reading it. */
  dropRun(family: string, run: number): void {
    this.#keep((cell) => cell.family !== family || cell.run !== run)
  }

  /** Numbers of the runs of a family with cells, ascending. */
  runsOf(family: string): number[] {
    const runs = new Set<number>()
    for (const cells of this.#rows.values()) {
      for (const cell of cells) if (cell.family === family && !cell.inMemtable) runs.add(cell.run)
    }
    return [...runs].sort((a, b) => a - b)
  }

  /**
   * Drops the cells that a compaction of some runs of a family drops, and merges these runs into
   * one.
   */
  merge(family: string, runs: readonly number[], major: boolean, now: bigint): void {
    const isInput = (cell: StoredCell): boolean => !cell.inMemtable && runs.includes(cell.run)
    const run = ++this.#lastRun
    const earliestPut = this.#earliestPut((cell) => cell.family === family && isInput(cell))
    this.#rewrite((cells, rules, name) => {
      if (name !== family) return cells
      const inputs = cells.filter(isInput)
      const others = cells.filter((cell) => !isInput(cell))
      const left = major
        ? compactedCells(inputs, rules, now, earliestPut)
        : flushedCells(inputs, rules, 0, now)
      for (const cell of left) cell.run = run
      return [...others, ...left]
    })
  }

  /**
   * Drops invisible cells of a row with many cells, as a compaction at this moment would, so that
   * rows that change often stay small.
   */
  tidyRow(row: string, now: bigint): void {
    const cells = this.#rows.get(row)!
    if (cells.length < (this.#tidyAt.get(row) ?? cellsBeforeTidying)) return
    const left: StoredCell[] = []
    for (const [family, rules] of this.families) {
      const own = cells.filter((cell) => cell.family === family)
      left.push(...compactedCells(own, rules, now, 0n))
    }
    // Views keep the map that they have.
    this.#rows = new Map(this.#rows)
    this.#rows.set(row, left)
    this.#tidyAt.set(row, Math.max(cellsBeforeTidying, 2 * left.length))
  }

  #earliestPut(isInput: (cell: StoredCell) => boolean): bigint {
    let earliest = 2n ** 63n - 1n
    for (const cells of this.#rows.values()) {
      for (const cell of cells) {
        if (cell.type === 'Put' && cell.timestamp < earliest && isInput(cell)) {
          earliest = cell.timestamp
        }
      }
    }
    return earliest
  }

  /** Replaces the cells of each family of each row. Existing views do not change. */
  #rewrite(
    change: (cells: StoredCell[], rules: FamilyRules, family: string) => StoredCell[],
  ): void {
    const rows: Rows = new Map()
    for (const [row, cells] of this.#rows) {
      const left: StoredCell[] = []
      for (const [family, rules] of this.families) {
        const own = cells.filter((cell) => cell.family === family)
        if (own.length > 0) for (const cell of change(own, rules, family)) left.push(cell)
      }
      if (left.length > 0) rows.set(row, left)
    }
    this.#rows = rows
    this.#rowNames = undefined
    this.#markerTimes.clear()
  }

  #keep(isKept: (cell: StoredCell) => boolean): void {
    this.#rewrite((cells) => cells.filter(isKept))
  }
}

/** The parts in which a cell differs from other cells of its row and sequence. */
function cellName({ family, qualifier, timestamp, type }: StoredCell): string {
  return `${timestamp}/${type}/${family}:${qualifier}`
}

/** Compares `expected operator stored`, bytes unsigned. */
function compares(operator: string, expected: string, stored: string): boolean {
  switch (operator) {
    case 'LESS':
      return expected < stored
    case 'LESS_OR_EQUAL':
      return expected <= stored
    case 'EQUAL':
      return expected === stored
    case 'NOT_EQUAL':
      return expected !== stored
    case 'GREATER_OR_EQUAL':
      return expected >= stored
    default:
      return expected > stored
  }
}
