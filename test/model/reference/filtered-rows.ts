/**
 * Reads rows through a filter, by HBase's protocol (see storage/filter/filter.ts), in the simplest
 * way: the visible cells of each family of a row, one after the other.
 */
import type { Scan } from '../../../src/api/reads.js'
import type { CellView } from '../../../src/storage/cell/cell-view.js'
import { FilterCode, type Filter, type RowCells } from '../../../src/storage/filter/filter.js'
import { isIncluded } from '../../../src/storage/filter/filter-base.js'
import { keyOfHint, viewOf } from './encoded-cell.js'
import { binary, bytesOf } from './plain-cells.js'
import { qualifiersOf, type RowReadOptions } from './read-options.js'
import type { StoredCell } from './reading-rules.js'
import type { ReferenceTable, View } from './reference-table.js'

/** The key at or after which a family continues. */
interface Jump {
  readonly row: string
  readonly key: Buffer
}

/** The result of reading a row through a filter. */
export interface FilteredRow {
  readonly cells: readonly StoredCell[]
  /** Whether the filter wants no later row. */
  readonly isLast: boolean
}

/** The rows of one read. They must be read in the order of the scan. */
export class FilteredRows {
  readonly #table: ReferenceTable
  readonly #options: RowReadOptions
  readonly #view: View
  readonly #filter: Filter
  readonly #families: readonly string[]
  /** Families that are read only for rows that pass by the other families. */
  readonly #joined: readonly string[]
  readonly #reversed: boolean
  #jumps = new Map<string, Jump>()

  constructor(table: ReferenceTable, options: RowReadOptions & Scan, view: View, filter: Filter) {
    this.#table = table
    this.#options = options
    this.#view = view
    this.#filter = filter
    this.#reversed = options.reversed === true
    const asked = [...table.families.keys()].filter((family) => {
      return qualifiersOf(options, family) !== undefined
    })
    const isEssential = (family: string): boolean =>
      options.loadFamiliesOnDemand !== true || (filter.isFamilyEssential?.(family) ?? true)
    const essential = asked.filter(isEssential)
    this.#families = essential.length > 0 ? essential : asked
    this.#joined = essential.length > 0 ? asked.filter((family) => !isEssential(family)) : []
    filter.setReversed?.(this.#reversed)
  }

  /** Whether the scan visits the row: the row has stored cells that no hint has skipped. */
  has(row: string): boolean {
    if (this.#reversed) this.#jumps = new Map()
    return this.#families.some((family) => this.#cellsFrom(row, family).length > 0)
  }

  /** Reads a row. Undefined if the filter wants no more rows, including this one. */
  read(row: string): FilteredRow | undefined {
    const filter = this.#filter
    if (filter.filterAllRemaining()) return undefined
    filter.reset()
    if (filter.filterRowKey(bytesOf(row))) return { cells: [], isLast: false }
    const essential = this.#readFamilies(row, this.#families)
    const { isLast } = essential
    if (essential.cells.length === 0) return { cells: [], isLast }
    const cells = this.#judgeRow(essential.cells)
    const passes = (cells.length > 0 || this.#joined.length > 0) && !filter.filterRow()
    if (!passes) return { cells: [], isLast }
    if (isLast || this.#joined.length === 0) return { cells, isLast }
    const others = this.#readFamilies(row, this.#joined)
    const all = [...cells, ...others.cells]
    const order = [...this.#table.families.keys()]
    all.sort((a, b) => order.indexOf(a.family) - order.indexOf(b.family))
    return { cells: all, isLast: others.isLast }
  }

  #readFamilies(row: string, families: readonly string[]): FilteredRow {
    const cells: StoredCell[] = []
    for (const family of families) {
      const isLast = this.#readFamily(row, family, cells)
      if (isLast) return { cells, isLast }
    }
    return { cells, isLast: false }
  }

  /**
   * Adds the cells of a family that the filter includes. Returns true if the filter ends the scan.
   */
  #readFamily(row: string, family: string, found: StoredCell[]): boolean {
    const table = this.#table
    const options = this.#options
    const view = this.#view
    const filter = this.#filter
    const index = [...table.families.keys()].indexOf(family)
    const { cellsPerFamilyOffset: offset = 0, cellsPerFamilyMax: most = Infinity } = options
    const versions = this.#versionsWanted(family)
    const cells = table.familyCells(row, family, options, view, { isFiltered: true }) ?? []
    /** The qualifier of which the filter wants no more cells. */
    let left: string | undefined
    let column: string | undefined
    let passed = 0
    let included = 0
    for (const cell of cells) {
      if (cell.qualifier === left || this.#isJumpedOver(cell)) continue
      left = undefined
      if (filter.filterAllRemaining()) return true
      const cellView = viewOf(cell, index)
      const code = filter.filterCell(cellView)
      if (code === FilterCode.seekUsingHint) this.#jump(cell, cellView)
      if (code === FilterCode.nextColumn || code === FilterCode.includeAndNextColumn) {
        left = cell.qualifier
      }
      if (code === FilterCode.nextRow) break
      if (!isIncluded(code)) continue
      passed = cell.qualifier === column ? passed + 1 : 1
      column = cell.qualifier
      if (passed <= versions && ++included > offset) {
        found.push(transformed(cell, filter.transformCell?.(cellView)))
        if (included - offset >= most) break
      }
      if (code === FilterCode.includeAndNextRow) break
    }
    return false
  }

  #versionsWanted(family: string): number {
    const { versions = 1, raw = false } = this.#options
    const asked = versions === 'all' ? Infinity : versions
    return raw ? asked : Math.min(asked, this.#table.families.get(family)!.versions)
  }

  /** Follows the filter's hint if it leads forward. */
  #jump(cell: StoredCell, view: CellView): void {
    const hint = this.#filter.nextCellHint?.(view)
    if (hint === undefined) return
    const byTime = !this.#table.families.get(cell.family)!.newVersionBehavior
    const key = keyOfHint(hint, byTime)
    const row = binary(hint.row)
    if (Buffer.compare(key, keyBytes(view)) > 0) this.#jumps.set(cell.family, { row, key })
  }

  #isJumpedOver(cell: StoredCell): boolean {
    const jump = this.#jumps.get(cell.family)
    if (jump === undefined) return false
    if (jump.row !== cell.row) return jump.row > cell.row
    return Buffer.compare(keyBytes(viewOf(cell, 0)), jump.key) < 0
  }

  #cellsFrom(row: string, family: string): StoredCell[] {
    const stored = this.#table.storedCells(row, family, this.#view)
    return stored.filter((cell) => !this.#isJumpedOver(cell))
  }

  /** Lets the filter drop cells of the row. */
  #judgeRow(found: readonly StoredCell[]): readonly StoredCell[] {
    const order = [...this.#table.families.keys()]
    let cells = found
    const handles: RowCells = {
      get count() {
        return cells.length
      },
      cell: (index) => viewOf(cells[index], order.indexOf(cells[index].family)),
      retain: (keep) => {
        cells = cells.filter((_cell, index) => keep[index])
      },
    }
    this.#filter.filterRowCells?.(handles)
    return cells
  }
}

function keyBytes({ buffer, keyStart, keyEnd }: CellView): Buffer {
  return buffer.subarray(keyStart, keyEnd)
}

/** The cell with the value that the filter returned, which then has no TTL. */
function transformed(cell: StoredCell, value: Buffer | undefined): StoredCell {
  return value === undefined ? cell : { ...cell, value: binary(value), ttl: 0 }
}

/** The cells of one row that pass a filter. */
export function filteredRow(
  table: ReferenceTable,
  row: string,
  options: RowReadOptions,
  view: View,
  filter: Filter,
): readonly StoredCell[] {
  const rows = new FilteredRows(table, options, view, filter)
  return rows.has(row) ? (rows.read(row)?.cells ?? []) : []
}
